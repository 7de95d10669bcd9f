#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// T.tvm_thread_context(x), a value that is the same all through a thread, is computed once: in a variable that begins
// with the function, or in the parallel loop or launch of threads around the call.
//   for i in T.parallel(n) { f(T.tvm_thread_context(x)); g(T.tvm_thread_context(x)) }
//   -->  for i in T.parallel(n) { with T.LetStmt(x) as cache: f(cache); g(cache) }
// Where x needs what is not there yet at that point, or reads memory, the call becomes x in its place.
PrimFunc CombineContextCall(PrimFunc func);

}  // namespace lathe
