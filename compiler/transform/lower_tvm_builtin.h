#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// What host code asks TVM's runtime for, spelled out as TVM 0.18's pass does, of functions for a CPU target:
// - memory that is no small constant comes from T.TVMBackendAllocWorkspace, of the device that T.attr(...,
// "device_type")
//   and "device_id" around say, which go;
// - the arguments of T.call_packed and T.call_cpacked are put on stacks: one per function and per parallel loop.
// InvalidArgument: memory, or an array for a call, of an unknown device. Nothing here runs the result.
StatusOr<PrimFunc> LowerTVMBuiltin(PrimFunc func);

}  // namespace lathe
