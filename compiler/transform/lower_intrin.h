// Divisions that round down become what machines have: shifts and masks where they divide by a power of two, else
// divisions that round toward zero, corrected where a negative number may be divided.
//   x // 8 --> x >> 3     i // 7 --> T.Div(i, 7), i >= 0     x // 7 --> T.Div(x, 7) + (T.truncmod(x, 7) >> 31)
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// As TVM's LowerIntrin does it. InvalidArgument: no target; operations for which TVM has a rule of the target, such as
// exp or a sum of floats with a product: code generation here takes them as they are.
StatusOr<PrimFunc> LowerIntrin(PrimFunc func);

}  // namespace lathe
