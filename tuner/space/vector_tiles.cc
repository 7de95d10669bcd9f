#include "tuner/space/vector_tiles.h"

#include <algorithm>

#include "compiler/schedule/analysis.h"
#include "tuner/space/anchor.h"
#include "tuner/space/tile_anchor.h"

namespace lathe {
namespace {

// Whole vectors; and as long as a register is, the last one with lanes left out, where no whole one is as long (28
// elements: 4 lanes divide them, two vectors of 16 hold them).
std::vector<int64_t> LanesOfTile(int64_t extent, const Vectors& vectors) {
  const int64_t lanes = ChooseLanes(extent, vectors);
  if (lanes >= vectors.lanes || extent <= vectors.masked_lanes) return {lanes};
  return {lanes, vectors.lanes};
}

// Which lanes are left out is not always known when code is generated; those that are apart would be gathered then.
bool IsGathered(const BlockNode& block, size_t iter, int64_t lanes) {
  return ExtentOf(block.iter_vars[iter]) % lanes != 0 &&
         std::any_of(block.reads.begin(), block.reads.end(),
                     [&](const BufferRegion& read) { return StrideOf(block, read, iter, lanes) == Stride::kShort; });
}

}  // namespace

std::vector<Schedule> VectorTiles(const Schedule& inlined, const Target& target) {
  const std::optional<int> anchor = FindAnchor(inlined, target);
  if (!anchor) return {};
  const BlockNode& block = inlined.BlockOf(*anchor);
  const Vectors vectors = VectorsFor(block, target);
  std::vector<TilingOptions> tilings;
  for (size_t iter : VectorizableIters(block, vectors)) {
    for (const int64_t lanes : LanesOfTile(ExtentOf(block.iter_vars[iter]), vectors)) {
      const auto packed = LayoutsFor(inlined, *anchor, iter, lanes, target);
      if (packed) tilings.push_back(TilingOfLayouts(block, iter, lanes, *packed));
      if (packed && IsGathered(block, iter, lanes)) continue;
      tilings.push_back({iter, lanes});
      if (ProducersOf(inlined, *anchor).empty()) continue;
      for (const Inputs inputs : {Inputs::kAtOuter, Inputs::kInlined}) tilings.push_back({iter, lanes, inputs});
    }
  }
  return TileAnchor(inlined, *anchor, tilings, target);
}

}  // namespace lathe
