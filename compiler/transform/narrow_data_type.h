// Index arithmetic in fewer bits.
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Loop variables, block variables and numbers of indices become integers of `target_bits` (8, 16, 32 or 64) where they
// have more and bounds show that nothing computed with them needs more. Parameters and what is stored keep their types.
//   for i in T.serial(T.int64(16)): A[i * T.int64(4)] = 0  -->  for i in range(16): A[i * 4] = 0
StatusOr<PrimFunc> NarrowDataType(PrimFunc func, int target_bits = 32);
// Every int64, parameters and shapes included, becomes int32. InvalidArgument for a function with int64 data, or with a
// constant that int32 does not hold.
StatusOr<PrimFunc> ForceNarrowIndexToInt32(PrimFunc func);

}  // namespace lathe
