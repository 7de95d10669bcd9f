// What runs on another device becomes a function of its own, which the host calls.
//   with T.attr(T.target("cuda"), "target", 0): ... --> Module.main_kernel(A.data, n)
#pragma once

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Parameters of a kernel are what it does not define, pointers first, each kind by name. A kernel of a CPU returns
// whether it succeeded, which the caller asserts.
StatusOr<IRModule> SplitHostDevice(IRModule module);

}  // namespace lathe
