#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Replaces each kUnrolled loop of constant extent by copies of its body; others of that kind become serial. Below a
// loop annotated with pragma_auto_unroll_max_step = N, serial loops are unrolled from the inside while the copies
// together make at most N stores; with pragma_unroll_explicit = 0 they are annotated "pragma_unroll" instead, for the
// code generator. The two annotations are used up. A loop of up to 64 iterations whose variable indexes a buffer of
// scope "register" is always unrolled: registers have no addresses.
//   for u in unroll(2) { B[u] = A[u] }  -->  B[0] = A[0]; B[1] = A[1]
PrimFunc UnrollLoop(PrimFunc func);

}  // namespace lathe
