#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Programs that make nodes by hand may use buffers over memory that is there without a declaration: each gets one,
// right where its memory is introduced.
//   p = T.allocate([4], "int32"); X[0] = 1      -->      p = T.allocate([4], "int32"); X = decl_buffer((4,), data=p)
//                                                        X[0] = 1
PrimFunc DeclareBuffers(PrimFunc func);

}  // namespace lathe
