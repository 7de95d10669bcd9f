// Drops bindings whose value nobody uses, Relax functions and PrimFuncs that "main" does not reach.
#pragma once

#include "compiler/relax/module.h"

namespace lathe::relax {

IRModule DeadCodeElimination(IRModule module);

}  // namespace lathe::relax
