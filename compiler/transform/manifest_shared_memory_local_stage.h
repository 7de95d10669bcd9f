#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Copies into shared memory, in blocks annotated "tir.manifest_shared_memory_local_stage", go through memory of each
// thread, so that a pipeline can load while others compute. As TVM's, of opaque blocks:
//   for i in 0..8 { with block("S"): S[t, i] = A[t, i] }
//   -->  for i in 0..8 { S_local[i] = A[t, i] }  for i in 0..8 { with block("S"): S[t, i] = S_local[i] }
// InvalidArgument: the loops up to the block that has the shared memory are not serial or vectorized, or hold more than
// the copy.
StatusOr<PrimFunc> ManifestSharedMemoryLocalStage(PrimFunc func);

}  // namespace lathe
