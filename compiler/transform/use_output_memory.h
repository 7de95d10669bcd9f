#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Memory whose elements are written to an output in the end, each to one of its own, is that part of the output from
// the beginning: a row of exponentials that are divided by their sum goes through the caches once instead of twice.
//   for i in parallel(4) { E = T.alloc_buffer([8192]); E[k] = exp(A[i*8192 + k]); s = ...; B[i*8192 + k] = E[k] / s }
//   -->  for i in parallel(4) { B[i*8192 + k] = exp(A[i*8192 + k]); s = ...; B[i*8192 + k] = B[i*8192 + k] / s }
// That is if the last statement that uses the memory is a nest of loops around that store, which goes through all of
// it, nothing else uses the output, and tasks of parallel loops have parts that do not overlap. Memory below 16 KB
// stays as it is: it may become registers, and lies in the first cache. After FlattenBuffer, before VectorizeLoop.
PrimFunc UseOutputMemory(PrimFunc func);

}  // namespace lathe
