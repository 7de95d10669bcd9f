#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Takes the init of a reduction block out of it, into a nest of its own that runs right before `loop`.
//   for i { for k { block C: init C[i] = 0; C[i] += A[i, k] } }
//     -->  for i { block C_init: C[i] = 0;  for k { block C_update: C[i] += A[i, k] } }       (loop = k)
// `loop` is around the block, and no loop outside it feeds a reduction iter var. Each element is computed once; the
// init comes first and under no condition; nobody below `loop` uses what was in C before. A loop that counts elements
// and steps at once (a fused one) is whole in the new nest. Scratch buffers and views of the init go with it.
// Vectorised and unrolled loops stay so in the new nest. Handles of the block follow the update. Returns the init
// block.
StatusOr<BlockRV> DecomposeReduction(Schedule& schedule, BlockRV block, LoopRV loop);

}  // namespace lathe
