// Copies from global to shared memory under "async_scope" become the GPU's own, which do not wait.
//   S[tx] = A[tx] --> T.ptx_cp_async("float32", S.data, tx, A.data, tx, 4)
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Of 4, 8 or 16 bytes that lie side by side; where a condition chooses between them and zero, with it as the last
// argument. Others stay as they are. After FlattenBuffer and VectorizeLoop. InvalidArgument: scopes inside of scopes,
// buffers of several dimensions.
StatusOr<PrimFunc> InjectPTXAsyncCopy(PrimFunc func);

}  // namespace lathe
