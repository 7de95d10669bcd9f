#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Splits a block that pads into one that fills everything with the constant, right before `loop`, and one that copies
// what is inside.
//   for i in 0..10 { block P: P[i] = if_then_else(1 <= i and i < 9, A[i - 1], 0) }                            (loop =
//   i)
//     -->  for i in 0..10 { block P_pad_const: P[i] = 0 }   for i in 0..8 { block P: P[i + 1] = A[i] }
// The block is complete, and stores if_then_else of bounds on its iter vars. Other blocks below `loop` read of its
// buffer what it has made in the same iteration. An iter var that is bound to a loop of the block alone, at or below
// `loop`, makes that loop shorter, any other a predicate. Handles follow the copy.
// Returns the block that fills.
StatusOr<BlockRV> DecomposePadding(Schedule& schedule, BlockRV block, LoopRV loop);

}  // namespace lathe
