// Transposes, alone or fused with what is computed element by element.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// A data-parallel block whose neighbours in memory follow one axis of what it writes and another one of
// what it reads, both of whole vectors:
//   parallel [fused other axes, outer tiles] { tiles { read axis (unrolled) { write axis by vector lanes } } }
// The two innermost loops are a square, which transpose_tiles turns in registers; each line of either side is touched
// once. FailedPrecondition where the block is no such.
enum class SquaresOfTask : uint8_t {
  kSampled,
  kAlongRead,  // One square wide where it is written, all along the other axis: a panel.
};
Status TileSquares(Schedule& schedule, const std::string& name, const Target& target, SquaresOfTask squares);

// Rule: TileSquares of a function that is such a block.
std::vector<Schedule> TransposedTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
