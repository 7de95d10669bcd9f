// The order of the graph passes.
#pragma once

#include <cstdint>

#include "compiler/relax/module.h"
#include "compiler/relax/transform/alter_op_layout.h"
#include "support/status.h"

namespace lathe::relax {

// From operators to fused PrimFuncs and calls of them, ready for task extraction and for executor_plan.h.
//   opt_level 0: each operator on its own; 1: and constants folded, batch norms simplified; 2: and fused; 3: and
//   weights laid out for the vectors and dot products of `target`.
// Batch norms and dropouts go at every level. The module is well-formed after every pass, or the error names the pass.
StatusOr<IRModule> OptimizeForTuning(IRModule module, const LayoutTarget& target, int opt_level = 3);

}  // namespace lathe::relax
