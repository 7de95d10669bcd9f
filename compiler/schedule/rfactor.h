#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Splits a reduction: each iteration of `loop` makes a partial result of its own, in a new buffer with that loop as
// dimension `factor_axis`; the block then reduces the partial results.
//   for i, k0, k1 { block C: vk = k0*8+k1; init C[vi] = 0; C[vi] += A[vi, vk] }                            (loop = k0)
//     -->  for i, k0, k1 { block C_rf: C_rf[vk0, vi] += A[vi, vk0*8+vk1] }   for i, k0 { block C: C[vi] += C_rf[vk0,
//     vi] }
// `loop` is serial and feeds reduction iter vars only; the block is the first below its loops and reduces by a known
// commutative reducer (reducer.h), several outputs at once included. Every partial result gets an init. `factor_axis`
// counts from -rank-1 to rank. Handles of loops and of the block follow the last reduction. Returns the new block.
StatusOr<BlockRV> RFactor(Schedule& schedule, LoopRV loop, int factor_axis);

}  // namespace lathe
