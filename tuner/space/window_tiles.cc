#include "tuner/space/window_tiles.h"

#include <optional>

#include "compiler/schedule/analysis.h"
#include "tuner/space/anchor.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/tile_anchor.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

// It reads a padded image, and nothing of it again.
bool IsWindow(const Schedule& schedule, int row, const Target& target) {
  const std::vector<int> producers = ProducersOf(schedule, row);
  return !IsAnchor(schedule, row, target) && producers.size() == 1 && HasBranch(schedule.BlockOf(producers[0]));
}

}  // namespace

std::vector<Schedule> WindowTiles(const Schedule& inlined, const Target& target) {
  const std::optional<int> row = SoleReduction(inlined);
  if (!row || !IsWindow(inlined, *row, target)) return {};
  const BlockNode& block = inlined.BlockOf(*row);
  const Vectors vectors = VectorsFor(block, target);
  std::vector<TilingOptions> tilings;
  for (size_t iter : VectorizableIters(block, vectors))
    tilings.push_back({iter, ChooseLanes(ExtentOf(block.iter_vars[iter]), vectors), Inputs::kInlined});
  return TileAnchor(inlined, *row, tilings, target);
}

}  // namespace lathe
