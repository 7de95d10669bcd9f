#include "tuner/space/window_tiles.h"

#include <optional>

#include "compiler/schedule/analysis.h"
#include "tuner/space/anchor.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/tile_anchor.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

// Nullopt: none, several, one with reuse, or one that reads no padded image.
std::optional<int> SoleWindow(const Schedule& schedule, const Target& target) {
  std::optional<int> found;
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
    if (!schedule.BlockOf(row).init) continue;
    if (found || !IsPlainStage(schedule, row) || IsAnchor(schedule, row, target)) return std::nullopt;
    found = row;
  }
  const std::vector<int> producers = found ? ProducersOf(schedule, *found) : std::vector<int>();
  return producers.size() == 1 && HasBranch(schedule.BlockOf(producers[0])) ? found : std::nullopt;
}

}  // namespace

std::vector<Schedule> WindowTiles(const Schedule& inlined, const Target& target) {
  const std::optional<int> row = SoleWindow(inlined, target);
  if (!row) return {};
  const BlockNode& block = inlined.BlockOf(*row);
  const Vectors vectors = VectorsFor(block, target);
  std::vector<TilingOptions> tilings;
  for (size_t iter : VectorizableIters(block, vectors))
    tilings.push_back({iter, ChooseLanes(ExtentOf(block.iter_vars[iter]), vectors), Inputs::kInlined});
  return TileAnchor(inlined, *row, tilings, target);
}

}  // namespace lathe
