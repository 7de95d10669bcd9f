// Calls of functions of another target become launches: a packed call with the kernel's name, its arguments and the
// extents of its threads; of another target of the same devices, a call of an external function.
//   Module.kernel(A.data) --> T.call_packed("kernel", A.data, 16)
#pragma once

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Kernels say in "tir.kernel_launch_params" what their launches give after the arguments. InvalidArgument: a function
// without target, several dynamic allocations of shared memory, a kernel that returns another value than 0.
StatusOr<IRModule> LowerDeviceKernelLaunch(IRModule module);

}  // namespace lathe
