// Barriers where a thread would read what another one writes, or write what another one still reads.
//   B[tx] = x; y = B[127 - tx] --> B[tx] = x; T.tvm_storage_sync("shared"); y = B[127 - tx]
#pragma once

#include <string>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// For memory of `scope`, "shared", "shared.dyn" or "warp": accesses of one buffer conflict unless both are at the same
// index, of the innermost thread. As in TVM, a write marked "double_buffer_write" does not touch what is read in the
// same turn. After every wait for asynchronous copies of "shared" there is one. InvalidArgument: a barrier would be
// where not all threads come; another scope.
StatusOr<PrimFunc> ThreadSync(PrimFunc func, const std::string& scope);

}  // namespace lathe
