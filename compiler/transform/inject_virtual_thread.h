// Virtual threads become statements of one thread.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Each statement under a launch of "vthread" (or "vthread.x" ...) that depends on it runs once for each virtual thread,
// next to each other; memory that they write differently is there once for each. Up to 16 copies, else a loop.
//   launch v in vthread(2): alloc B[4]; B[i] = A[v]  -->  alloc B[8]; B[i] = A[0]; B[4 + i] = A[1]
// After FlattenBuffer (memory of one dimension), before StorageRewrite.
PrimFunc InjectVirtualThread(PrimFunc func);

}  // namespace lathe
