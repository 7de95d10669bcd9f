// Rule: products of narrow types by the tile registers of AMX.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// One for each pair of iter vars of the anchor that can be the columns and the depth of tiles; none where the target
// has no AMX, or where no number of rows from 4 to 16 divides the result's.
std::vector<Schedule> AmxTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
