#pragma once

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Constants of all functions in one list of the module, each once; T.allocate_const keeps its data and says where in
// the list they are, as an annotation:
//   K = T.allocate_const([1, 2], "int32", [2])
//   -->  I.module_attrs({"constants": [{"data": [1, 2], "dtype": "int32", "shape": [2]}]})
//        K = T.allocate_const([1, 2], "int32", [2], annotations={"irmod_storage_idx": 0})
// What the list holds already stays where it is. InvalidArgument: an extent or a value is no constant.
StatusOr<IRModule> ExtractPrimFuncConstants(IRModule module);

}  // namespace lathe
