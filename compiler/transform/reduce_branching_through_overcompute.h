#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Does without a condition where nobody can see it:
//   if c { S } else { R }  -->  S, where S does what R does when c does not hold (or R, the other way round)
//   if c { S }             -->  S, where S does nothing when c does not hold
// With `uses_dataflow`, by what T.assume and earlier stores say of memory; and S may write what later statements write
// again before anybody reads it:
//   assume(i < 14 or A[i] == 0)  ...  if i < 14 { B[0] = B[0] + A[i] }   -->   B[0] = B[0] + A[i]
// What S reads and writes has to be there when c does not hold; loops that run at once keep conditions of what only
// some of their iterations write.
StatusOr<PrimFunc> ReduceBranchingThroughOvercompute(PrimFunc func, bool uses_dataflow);

}  // namespace lathe
