#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Loops over one thread axis become one, around all that the innermost loop holds which they share; inside of a kernel
// only, that is below a loop over another axis. As TVM's:
//   for bx { for i { for tx { S } } for j { for tx { U } } }  -->  for bx { for tx { for i { S } for j { U } } }
// InvalidArgument: they run over different ranges.
StatusOr<PrimFunc> LiftThreadBinding(PrimFunc func);

}  // namespace lathe
