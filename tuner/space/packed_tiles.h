// Rule: tiles of a reduction that vectors can compute once what it reads is laid out for them.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// One for each of the anchor's PackableIters.
std::vector<Schedule> PackedTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
