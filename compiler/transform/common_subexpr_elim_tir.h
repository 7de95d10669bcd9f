// What is computed several times is computed once.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Arithmetic on variables and constants that is the same in two places becomes a variable, right before the first of
// them, in the innermost statement around all; the largest such expressions first. Loads, calls, comparisons and what
// holds a load or a call stay, and so do blocks.
//   B[i * 4 + 2] = A[i * 4 + 2]  -->  cse_v1 = i * 4 + 2; B[cse_v1] = A[cse_v1]
// After the loops have their final form. `identify_equivalent`: of integers, what simplifies to the same is the same,
// and computed as it is written first (x * y + x * z as x * (y + z)).
PrimFunc CommonSubexprElimTIR(PrimFunc func, bool identify_equivalent = false);

}  // namespace lathe
