#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Replaces each kUnrolled loop of constant extent by copies of its body; others of that kind become serial. Below a
// loop annotated with pragma_auto_unroll_max_step = N, serial loops are unrolled from the inside while the copies
// together make at most N stores; with pragma_unroll_explicit = 0 they are annotated "pragma_unroll" instead, for the
// code generator. The two annotations are used up. A loop of up to 64 iterations whose variable indexes a buffer of
// scope "register" is always unrolled: registers have no addresses.
//   for u in unroll(2) { B[u] = A[u] }  -->  B[0] = A[0]; B[1] = A[1]
PrimFunc UnrollLoop(PrimFunc func);

// TVM's pass of this name with its options. Attributes "pragma_auto_unroll_max_step" and "pragma_unroll_explicit" of
// statements set them for what is below, and are used up. Not explicit: loops become kUnrolled instead of copies.
struct UnrollOptions {
  int64_t auto_max_step = 0;    // Stores and evaluations that the copies of a serial loop may make together.
  int64_t auto_max_depth = 8;   // Of loops that are unrolled so.
  int64_t auto_max_extent = 0;  // A serial loop of so few iterations is unrolled, whatever it holds.
  bool explicit_unroll = true;
  bool for_codegen = false;  // As the pipeline's: annotations of loops count, and what must be in registers.
};
// InvalidArgument: an unrolled loop whose extent is no constant.
StatusOr<PrimFunc> UnrollLoopWith(PrimFunc func, const UnrollOptions& options);

}  // namespace lathe
