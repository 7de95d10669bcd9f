#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Replaces each match_buffer by its source: accesses are moved by the region's corner, variables in the view's shape,
// strides and offset are replaced by what they stand for. A view may lack leading dimensions of extent 1.
// InvalidArgument where ranks do not fit.
//   V = match_buffer(A[i*4 : i*4+4, 0:16]);  V[r, c]  -->  A[i*4 + r, c]
StatusOr<PrimFunc> LowerMatchBuffer(PrimFunc func);
// As TVM's: InvalidArgument, too, where a view says an offset (0 where it says nothing) that its part does not have.
StatusOr<PrimFunc> LowerMatchBufferStrictly(PrimFunc func);

}  // namespace lathe
