#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Calls of functions by name, and of rare operations, become what they compute (compiler/ir/plain_call.h).
//   B[i] = T.call_pure_extern("float32", "sqrtf", A[i])   -->   B[i] = T.sqrt(A[i])
// Calls of unknown names stay.
PrimFunc SpellOutCalls(PrimFunc func);

}  // namespace lathe
