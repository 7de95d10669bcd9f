#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Parallel loops as serial ones, for devices without threads.
//   for i in T.parallel(16): S(i)  -->  for i in range(16): S(i)
PrimFunc ConvertForLoopsToSerial(PrimFunc func);

}  // namespace lathe
