// Divisions that round down become what machines have: shifts and masks where they divide by a power of two, else
// divisions that round toward zero, corrected where a negative number may be divided.
//   x // 8 --> x >> 3     i // 7 --> T.Div(i, 7), i >= 0     x // 7 --> T.Div(x, 7) + (T.truncmod(x, 7) >> 31)
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// What a call becomes for a kind of target ("llvm"), which is lowered in turn; nullopt: there is no rule.
using IntrinRule = std::function<std::optional<Expr>(const std::string& kind, const Expr& call)>;

// As TVM's LowerIntrin does it. InvalidArgument: no target; operations for which TVM has a rule of the target, such as
// exp or a sum of floats with a product, and `rule` has none: code generation here takes them as they are.
StatusOr<PrimFunc> LowerIntrin(PrimFunc func);
StatusOr<PrimFunc> LowerIntrin(PrimFunc func, const IntrinRule& rule);

}  // namespace lathe
