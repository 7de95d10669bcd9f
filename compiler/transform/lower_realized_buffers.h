#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Each BufferRealize as memory for its bounds alone, of the scope that it says, or that is as wide as the threads
// around; accesses begin where the bounds do. Each Prefetch as loops that name one address per cache line of
// `cache_line_bytes`. Before FlattenBuffer.
//   with T.realize(A[i*4:i*4 + 4], "local") { A[i*4 + j] = ... }  -->  A' = T.decl_buffer((4,), scope="local"); A'[j] =
//   ...
PrimFunc LowerRealizedBuffers(PrimFunc func, int64_t cache_line_bytes);

}  // namespace lathe
