// Values that a condition guards, as at the border of an image: T.if_then_else(condition, value, otherwise).
#pragma once

#include "compiler/ir/expr.h"

namespace lathe {

// With one condition for all lanes; nullptr: it is something else.
inline const Call* AsGuardedValue(const Expr& e) {
  const Call* call = AsCall(e, "if_then_else");
  return call != nullptr && call->args[0].dtype().is_scalar() ? call : nullptr;
}

// A guarded value under `rest` instead of its condition: the plain value where that is true.
inline Expr UnderGuard(const Expr& guarded, const Expr& rest) {
  const std::vector<Expr>& args = AsGuardedValue(guarded)->args;
  if (IsConstInt(rest, 1)) return args[1];
  if (rest.same_as(args[0])) return guarded;
  return MakeCall(guarded.dtype(), "if_then_else", {rest, args[1], args[2]});
}

}  // namespace lathe
