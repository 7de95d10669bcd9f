#pragma once

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Statements that call a private function of the module become its body; functions that nobody calls any longer go.
//   Module.g(A.data, n)  with  g(p, k): G = decl_buffer(data=p); G[k] = 1   -->   G = decl_buffer(data=A.data); G[n] =
//   1
// Calls stay whose function has buffers as parameters, calls itself, gives a result or is for another target, and
// calls in expressions.
StatusOr<IRModule> InlinePrivateFunctions(IRModule module);

// For code that may call nothing: calls of public functions, too, and those in expressions of functions whose body is
// one T.ret(e). Private functions go whose callers have become free of them.
IRModule InlineCalls(IRModule module);

}  // namespace lathe
