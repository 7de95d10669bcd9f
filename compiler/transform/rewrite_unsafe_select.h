#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// A Select evaluates both values. Where one of them loads from memory or calls what has an effect, and the condition is
// one boolean, it becomes an if_then_else, which evaluates one.
//   T.Select(i < 16, A[i], 0.0)  -->  T.if_then_else(i < 16, A[i], 0.0)
PrimFunc RewriteUnsafeSelect(PrimFunc func);

}  // namespace lathe
