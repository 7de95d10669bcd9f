#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Splits a serial or parallel loop at the iteration from which a guard below it can fail, so that the main part runs without the guard.
// Done where the guard is e < c with an `e` that grows with the loop and constant ranges, and the body stands at most twice.
//   for i in 0..7 { for j in 0..16 { if i*16 + j < 100 { S } } }
//   -->  for i in 0..6 { for j in 0..16 { S } }  for i in 0..1 { for j in 0..16 { if (i + 6)*16 + j < 100 { S } } }
PrimFunc LoopPartition(PrimFunc func);

}  // namespace lathe
