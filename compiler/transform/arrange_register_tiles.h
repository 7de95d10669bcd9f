#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Gives each "register" buffer a shape of whole vectors. Such a buffer has no place in memory, so the order of its
// dimensions is free and so is its size; with the lanes innermost, and all of them there, every access is one whole
// vector, which code generation can keep in a register.
//   acc[16, 1, 14] with acc[lane, 0, w]  -->  acc[1, 14, 16] with acc[0, w, lane]
//   acc[4, 14] with                           acc[4, 16] with
//   if lane < 14:                        -->  acc[h, lane] = acc[h, lane] + T.if_then_else(lane < 14, A[h, lane],
//   undef)
//     acc[h, lane] = acc[h, lane] + A[h, lane]
// What stands behind the rows, in lanes that the program leaves out, is anything, and nobody else reads it.
// A buffer whose accesses disagree on the dimension stays as it is; so does a row whose store computes what must not be
// computed of anything, as a division of integers. After LowerOpaqueBlock (buffers have their final shape), before
// FlattenBuffer.
PrimFunc ArrangeRegisterTiles(PrimFunc func);

}  // namespace lathe
