// Expressions from operands of any kind: what may not be combined is an error, not a CHECK. Messages are "expected ...,
// got ..."; the caller, who knows where the operands stand, says where.
#pragma once

#include <vector>

#include "compiler/ir/expr.h"
#include "support/status.h"

namespace lathe {

inline bool IsNumber(DataType type) { return type.is_int() || type.is_float() || type.is_bool(); }
// a op b after MatchTypes; constants are folded if `fold`.
StatusOr<Expr> CombineExprs(BinaryOp op, Expr a, Expr b, bool fold = true);
// `value` as an element of `type`: literals take the type, other values are cast, scalars spread over lanes.
StatusOr<Expr> ConvertExpr(DataType type, const Expr& value);
// What an integer says as a condition: that it is not 0. Other values as they are.
Expr TruthOf(const Expr& e);
// T.op(args): arguments are brought to one type, from which the result's follows. InvalidArgument for an operation
// whose type must be said (TakesTypeFirst).
StatusOr<Expr> CallExpr(const Op& op, std::vector<Expr> args);

}  // namespace lathe
