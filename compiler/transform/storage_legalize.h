// Memory of floats that a device does not know becomes memory of unsigned integers of as many bits.
//   A: T.handle("bfloat16") ... T.reinterpret("uint16", A[i])  -->  A: T.handle("uint16") ... A[i]
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// After BF16ComputeLegalize or FP8ComputeLegalize, and after MakePackedAPI: parameters are handles or numbers. Where
// the target computes with them, nothing changes. InvalidArgument: parameters stand for buffers; the floats are still
// computed with; a view of memory of another type.
StatusOr<PrimFunc> BF16StorageLegalize(PrimFunc func);
StatusOr<PrimFunc> FP8StorageLegalize(PrimFunc func);

}  // namespace lathe
