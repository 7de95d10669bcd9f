// One variable per thread axis.
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// The outermost loop (or launch) bound to a thread axis launches all axes that are bound anywhere inside, in order of
// appearance; loops inside give way to the launched variable.
//   for bx in blockIdx.x: { for x in threadIdx.x: S(x) }; { for y in threadIdx.x: R(y) }
//     -->  for bx in blockIdx.x: for tx in threadIdx.x: S(tx); R(tx)
// Annotations of a loop that gives way go to the loop it held, else to a loop of one iteration. InvalidArgument: one
// axis with several domains. After LowerCrossThreadReduction, before CompactBufferAllocation.
StatusOr<PrimFunc> UnifyThreadBinding(PrimFunc func);

}  // namespace lathe
