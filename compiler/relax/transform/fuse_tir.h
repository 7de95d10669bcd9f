// Makes one PrimFunc of each Primitive function that FuseOps made: the blocks of its PrimFuncs in order, what passes
// between them allocated inside. Then marks, in every PrimFunc that main calls, which parameters are weights: attribute
// "constant_params". Weights are parameters, so layers of one form share one PrimFunc and one workload.
#pragma once

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

// Positions of the parameters that are the same in every call of the network, ascending.
inline constexpr const char* kConstantParamsAttr = "constant_params";

StatusOr<IRModule> FuseTIR(IRModule module);

}  // namespace lathe::relax
