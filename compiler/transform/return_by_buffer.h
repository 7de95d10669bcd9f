#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// What no parameter of a program can be called.
inline constexpr char kReturnParam[] = "return";
const Expr* ReturnedBy(const Stmt& stmt);  // What the statement returns; nullptr: it is no T.ret.

// A function that returns a number gets one more parameter, memory for it, called kReturnParam; T.ret(0) then ends it.
//   def f(a: T.int32):               def f(a: T.int32, return: T.Buffer((1,), "int32")):
//       T.ret(a + 1)          -->        return[0] = a + 1
//                                        T.ret(0)
// InvalidArgument: numbers of several types, a return from a loop whose iterations run side by side.
StatusOr<PrimFunc> ReturnByBuffer(PrimFunc func);

}  // namespace lathe
