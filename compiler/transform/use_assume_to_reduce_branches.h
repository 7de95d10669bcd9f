#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Computes padding like everything else where T.assume shows that the result is what the branch for it says:
//   assume(i < 14 or A[i] == 0)  ...  B[i] = T.if_then_else(14 <= i, 0, A[i] * 2)   -->   B[i] = A[i] * 2
// As TVM's, of functions whose "op_pattern" says that they are elementwise (0) or broadcast (1). An assumption ends
// with a write to its buffer. Before RemoveAssume.
StatusOr<PrimFunc> UseAssumeToReduceBranches(PrimFunc func);

}  // namespace lathe
