// Bindings to atoms (y = x) and fields of known tuples vanish; views of views become one view, and views that change
// nothing vanish.
#pragma once

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

StatusOr<IRModule> CanonicalizeBindings(IRModule module);

}  // namespace lathe::relax
