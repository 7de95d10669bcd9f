#pragma once

#include <map>
#include <string>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Launches of the axes with these tags launch the given axes instead, whose variables take the place of theirs.
//   {"threadIdx.x": y, of "threadIdx.y"}:  tx = launch_thread("threadIdx.x", 32)  -->  y = launch_thread("threadIdx.y",
//   32)
// The attribute tir.kernel_launch_params names the new tags, too. InvalidArgument: a variable has another type, or
// would be launched inside of its own launch.
StatusOr<PrimFunc> RemapThreadAxis(PrimFunc func, const std::map<std::string, IterVar>& axes);

}  // namespace lathe
