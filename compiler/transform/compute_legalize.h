// Arithmetic on floats that a device cannot compute with becomes arithmetic on wider ones; memory keeps them, unless it
// is allocated in the function and nobody else looks at it.
//   B[i] = A[i] + A[i]   (of bfloat16)  -->  B[i] = to_bfloat16(to_float32(A[i]) + to_float32(A[i]))
// by operations on bits (float_conversion.h).
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Whether the target of a function computes with them: cuda from sm_80, with floats of 8 bits from sm_89.
bool ComputesWithBF16(const PrimFunc& func);
bool ComputesWithFP8(const PrimFunc& func);

// Where it does, nothing changes.
StatusOr<PrimFunc> BF16ComputeLegalize(PrimFunc func);
// `wider`: float16 or float32. InvalidArgument: another type; floats of 8 bits other than e4m3fn and e5m2.
StatusOr<PrimFunc> FP8ComputeLegalize(PrimFunc func, DataType wider);

}  // namespace lathe
