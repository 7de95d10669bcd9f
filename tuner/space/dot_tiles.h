// Rule: tiles of a reduction whose steps a dot-product instruction takes several at a time.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// One for each of the anchor's DotTilingsOf.
std::vector<Schedule> DotTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
