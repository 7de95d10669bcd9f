// A reduction whose steps are threads of a group becomes what each thread reduces for itself, a reduction across the
// threads, and a store of the result by one of them.
//   for tx in T.thread_binding(32, "threadIdx.x"): with T.block("B"): ... B[vi] = B[vi] + A[vi, vk]   (vk of tx)
//   --> B_cross_thread: T.tvm_thread_allreduce(1, A[vi, vk], True, cross_thread_B[0], tx) under "reduce_scope";
//       B_write_back, where tx == 0: B[vi] = cross_thread_B[0]
// The thread's own part, B_in_thread, is there where loops of the reduction are no threads, or where it has a
// condition. A later block that reads the result and is not bound to those threads runs on the first of them.
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Before LowerInitBlock. Blocks that are no reduction with affine bindings, or whose results others write, stay.
// InvalidArgument: loops of the reduction have something else between or below them, are bound to what is no
// threadIdx, have a block behind the reduction; no known reducer; results in local memory and elsewhere.
StatusOr<PrimFunc> LowerCrossThreadReduction(PrimFunc func);

}  // namespace lathe
