// Functions that others call take their arguments packed, as TVM's runtime passes them: values and type codes by
// number. The body begins by taking them out, and asserts that they are what the parameters say.
//   main(A: T.Buffer(...), n: T.int32) --> main(args, arg_type_ids, num_args, out_ret_value, out_ret_tcode,
//                                               resource_handle) -> T.int32
#pragma once

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Functions without a global symbol, of another calling convention, or whose target has no host any more stay as they
// are. Calls of changed functions are packed. InvalidArgument: a function has no target, uses variables that no
// parameter introduces, or returns from inside a parallel loop.
StatusOr<IRModule> MakePackedAPI(IRModule module);

}  // namespace lathe
