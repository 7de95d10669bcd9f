#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Memory of scope "global.vtcm" comes from the runtime, and lives as long as its variable:
//   p = T.allocate([4, 8], "float32", "global.vtcm")
//   -->  with T.LetStmt(T.nd_mem_alloc_with_scope("global.vtcm", T.int64(2), T.tvm_stack_make_shape(4, 8))) as p
PrimFunc LowerVtcmAlloc(PrimFunc func);

}  // namespace lathe
