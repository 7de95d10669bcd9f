// A kernel has one allocation of shared memory: several become places of one of bytes, at the begin of the launch.
// Those that are not needed at the same time share a place; where TVM puts several small places together for a large
// one, it may lay memory over what is needed at the same time, and here each keeps its own.
//   B, C of "shared.dyn" --> buf_dyn_shmem = T.allocate([640], "uint8", "shared.dyn"); B = T.decl_buffer(..., data=...)
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Of "shared.dyn", with `merges_static` of "shared", too; one allocation alone stays. As in TVM, what a statement reads
// last may be where it writes. After FlattenBuffer. InvalidArgument: no launch is around, or several are.
StatusOr<PrimFunc> MergeSharedMemoryAllocations(PrimFunc func, bool merges_static);

}  // namespace lathe
