#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Moves the dimension that vector lanes run along to the end of each "register" buffer. Such a buffer has no place in
// memory, so its order of dimensions is free; with the lanes innermost every access is one whole vector, which code
// generation can keep in a register.
//   acc[16, 1, 14] with acc[lane, 0, w]  -->  acc[1, 14, 16] with acc[0, w, lane]
// A buffer whose accesses disagree on the dimension stays as it is. After LowerOpaqueBlock (buffers have their final
// shape), before FlattenBuffer.
PrimFunc ArrangeRegisterTiles(PrimFunc func);

}  // namespace lathe
