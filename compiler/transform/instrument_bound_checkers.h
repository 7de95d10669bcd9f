#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Each store that may leave its buffer, or whose value reads outside of one, ends the kernel instead:
//   B[i] = A[i + 1]  -->  if (i + 1 < 16) { B[i] = A[i + 1] } else { assert False, "OUT OF THE BOUNDS" }
// What the loops and conditions around show to be inside is not checked again. Reads below T.if_then_else count where
// its condition holds. First of all passes: indices are those that were written.
PrimFunc InstrumentBoundCheckers(PrimFunc func);

}  // namespace lathe
