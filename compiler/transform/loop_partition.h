#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Splits a serial or parallel loop at the iteration from which a guard below it can fail, so that the main part runs
// without the guard. Done where ranges are constant and the guard holds for at least half of the loop. A parallel loop
// is not split, for balance, but chooses inside: if i < 6 { S unguarded } else { S guarded }.
//   for i in 0..7 { for j in 0..16 { if i*16 + j < 100 { S } } }
//   -->  for i in 0..6 { for j in 0..16 { S } }  for i in 0..1 { for j in 0..16 { if (i + 6)*16 + j < 100 { S } } }
// Likewise at both ends of a serial loop whose values T.if_then_else guards, as at the borders of an image:
//   for y in 0..56 { B[y] = T.if_then_else(1 <= y and y < 55, A[y - 1], 0.0) }
//   -->  the iteration of y = 0, for y in 0..54 { B[y + 1] = A[y] }, that of y = 55; the parts are split further.
PrimFunc LoopPartition(PrimFunc func);
// Only drops T.likely: what TVM's pass of this name leaves of loops of constant extent unless it is asked for more.
PrimFunc RemoveLikely(PrimFunc func);

}  // namespace lathe
