#include "tuner/space/packed_tiles.h"

#include "tuner/space/anchor.h"
#include "tuner/space/tile_anchor.h"

namespace lathe {

std::vector<Schedule> PackedTiles(const Schedule& inlined, const Target& target) {
  const std::optional<int> anchor = FindAnchor(inlined, target);
  if (!anchor) return {};
  const BlockNode& block = inlined.BlockOf(*anchor);
  const Vectors vectors = VectorsFor(block, target);
  std::vector<TilingOptions> tilings;
  for (size_t iter : PackableIters(inlined, *anchor, target)) {
    const int64_t lanes = ChooseLanes(ExtentOf(block.iter_vars[iter]), vectors);
    tilings.push_back(TilingOfLayouts(block, iter, lanes, *LayoutsFor(inlined, *anchor, iter, lanes, target)));
  }
  return TileAnchor(inlined, *anchor, tilings, target);
}

}  // namespace lathe
