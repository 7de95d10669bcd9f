// A reduction across the threads of a group as what devices have: shuffles within a warp where the target has them and
// its warps fit, else a tree of sums in shared memory.
//   T.tvm_thread_allreduce(1, A[tx], True, B[0], tx)   (under "reduce_scope", 32 threads of a "cuda")
//   --> red_buf0[0] = A[tx]; t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 16, 32, 32);
//       red_buf0[0] = red_buf0[0] + t0[0]; ... and red_buf0 is allocated and loaded in the place of B
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// After FlattenBuffer. As TVM 0.18's. InvalidArgument: no target; threads of symbolic extent, that are virtual or not
// launched around the reduction; results that are not one element, that several reductions share, or that are used
// before the reduction.
StatusOr<PrimFunc> LowerThreadAllreduce(PrimFunc func);

}  // namespace lathe
