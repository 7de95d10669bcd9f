// From the tilings of an anchor to schedules of its function.
#pragma once

#include <span>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "tuner/space/multi_level_tiling.h"

namespace lathe {

// For each of `tilings` that block `row` takes: TileReduction, and fixed sizes for all other blocks.
std::vector<Schedule> TileAnchor(const Schedule& schedule, int row, std::span<const TilingOptions> tilings,
                                 const Target& target);

}  // namespace lathe
