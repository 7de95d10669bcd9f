// Replaces calls whose arguments are constants by their values. Kernels of constants run in the interpreter, so the
// result is the one that the operator's own PrimFunc gives.
#pragma once

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

StatusOr<IRModule> FoldConstant(IRModule module);

}  // namespace lathe::relax
