#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Leaves out the terms of a sum that are zero because a factor is a guarded value, as at the border of an image: what
// the guard says outside of a tile of registers becomes a condition around the tile, so that the tile is not computed
// at all. A zero times any number counts as zero, as `simplify` and TVM have it (the interpreter has NaN for 0 * inf).
// Of a maximum or minimum likewise, where the guard's other value is its identity. Conjuncts move to the deepest serial
// or parallel loop that they name, through loops that hold nothing else; those of unrolled loops, which
// `loop_partition` and unrolling settle, and of lanes stay where they are. Runs before `loop_partition`.
//   for k in 0..3 { for x in unroll(0..7) { R[x] = R[x] + T.if_then_else(1 <= y + k and 1 <= x, A[y + k, x], 0.0) *
//   W[k] } }
//   -->  for k in 0..3 { if 1 <= y + k { for x in unroll(0..7) { R[x] = R[x] + T.if_then_else(1 <= x, A[y + k, x], 0.0)
//   * W[k] } } }
PrimFunc SkipZeroTerms(PrimFunc func);

}  // namespace lathe
