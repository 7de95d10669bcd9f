// Calls that name their function: of the C library, of LLVM; and operations that others make up.
#pragma once

#include <optional>

#include "compiler/ir/expr.h"

namespace lathe {

// What the call computes, in operations that the interpreter and code generators know:
//   T.call_pure_extern("float32", "sqrtf", x)                        -->  T.sqrt(x)
//   T.call_llvm_pure_intrin("float32", "llvm.fabs", T.uint32(1), x)  -->  T.fabs(x)
//   T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", c, a, b)  -->  see dot_call.h
//   T.q_multiply_shift(x, y, q, s)                                   -->  arithmetic of int64
// nullopt: another call, an unknown name, or arguments of types that the named function does not take. The arguments
// may stand there more than once.
std::optional<Expr> PlainCall(const Expr& call);

}  // namespace lathe
