#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Loops, iter vars, shapes and the other variables of int32 become int64; what is stored keeps its type. As TVM's
// create_prim_func(index_dtype_override="int64"), of functions that compute tensors.
PrimFunc WidenIndexToInt64(PrimFunc func);

}  // namespace lathe
