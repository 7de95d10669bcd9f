// Rule: transposes, alone or fused with what is computed element by element.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// A function of one data-parallel block whose neighbours in memory follow one axis of what it writes and another one of
// what it reads, both of whole vectors:
//   parallel [fused other axes, outer tiles] { tiles { read axis (unrolled) { write axis by vector lanes } } }
// The two innermost loops are a square, which transpose_tiles turns in registers; each line of either side is touched
// once. Sizes of the tiles are sampled.
std::vector<Schedule> TransposedTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
