// Well-formedness: what every pass may rely on and owes to the next. Errors name the function and the statement's
// surroundings.
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Variables and buffers are defined before use, in scope, and once; accesses have one index per dimension or a single
// flat one, of integer type, only the last a vector; stored values have the element's type; operands agree; conditions
// are bool; blocks bind every iter var.
Status VerifyWellFormed(const PrimFunc& func);

// Well-formed, and in the form that code generators take (docs/formats/lowered_tir.md): no blocks, no vectorized or
// unrolled loops, one-dimensional allocations, flat indices.
Status VerifyLowered(const PrimFunc& func);

}  // namespace lathe
