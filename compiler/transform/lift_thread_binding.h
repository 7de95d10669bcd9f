#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Loops over one thread axis become one, inside of the innermost loop that they share; where that is one of them, in
// its place. Each kernel, a loop over threads with all below it, for itself. As TVM's:
//   for bx { for i { for tx { S } } for j { for tx { U } } }  -->  for bx { for tx { for i { S } for j { U } } }
// InvalidArgument: they run over different ranges.
StatusOr<PrimFunc> LiftThreadBinding(PrimFunc func);

}  // namespace lathe
