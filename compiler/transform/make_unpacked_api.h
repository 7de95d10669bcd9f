// Functions that others call take memory as plain pointers, and say on which device it is.
//   main(A: T.Buffer(...)) --> main(A: T.handle("float32")) -> T.int32, under T.attr("default", "device_type", ...)
#pragma once

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Functions without a global symbol, of another calling convention, or whose target has no host any more stay as they
// are. Calls of changed functions are external. InvalidArgument: a function has no target.
StatusOr<IRModule> MakeUnpackedAPI(IRModule module);

}  // namespace lathe
