#pragma once

#include "compiler/schedule/cache_stage.h"
#include "compiler/schedule/schedule.h"

namespace lathe {

// Puts a copy of a buffer whose axes are the iter vars that its index uses between the block and the buffer.
//   for i, j { block B: B[vi, vj] = A[vj, vi] }                                                            (read, 0)
//     -->  for ax0, ax1 { block A_reindex_reindex: A_reindex[v0, v1] = A[v1, v0] }
//          for i, j { block B: B[vi, vj] = A_reindex[vi, vj] }
// Of what the block writes, the copy back is block B_reindex, after the block's nest. All accesses of the buffer in the
// block have the same indices, and those stay inside the buffer over the whole domain of the iter vars. What is written
// is written once, and nobody else in the nest uses it. Handles of the block follow it. Returns the copying block.
StatusOr<BlockRV> ReIndex(Schedule& schedule, BlockRV block, int buffer_index, BufferSide side);

}  // namespace lathe
