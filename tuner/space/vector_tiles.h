// Rule: tiles of a reduction that can be computed by vectors.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// For each of the anchor's VectorizableIters and each length of vectors that fits it: with what it reads laid out anew,
// if that helps; as it is; and with its producers computed in its tiles or where they are read.
std::vector<Schedule> VectorTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
