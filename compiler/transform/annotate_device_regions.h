// Marks what of a function runs on the device of its target, where that is not the host: launches of threads, and
// beside calls that only the host can do all the rest.
//   T.launch_thread(...) --> with T.attr(T.target("cuda"), "target", 0): T.launch_thread(...)
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// InvalidArgument: the function has no target.
StatusOr<PrimFunc> AnnotateDeviceRegions(PrimFunc func);

}  // namespace lathe
