// Rule: windows of a padded image that are reduced without weights, as pools are: the border without a copy.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// The one reduction of a function, if it reuses nothing along a data-parallel axis and reads a padded image: tiles of
// results in registers as TileReduction makes them, the padding guarded where it is read. Sizes are sampled. Empty
// where those guards would ask the lanes one by one, as of images whose lanes are pixels.
std::vector<Schedule> WindowTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
