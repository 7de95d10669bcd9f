// What an operator or a named operation of TVM gives for its operands before a node is made of it: constants are
// folded, also of floats and bits, and x + 0, x * 1, max(x, x) are x. Programs that build nodes get these, and so does
// a text that is read; the printer writes what would fold as T.Add(...) or T.call_intrin(...), which do not.
#pragma once

#include <vector>

#include "compiler/ir/expr.h"
#include "support/status.h"

namespace lathe {

// Brings both to one type by TVM's rule: the wider one, of equal width the unsigned one, floats before integers.
// Nothing happens where there is none.
void MatchAsTvm(Expr& a, Expr& b);
// a op b after MatchAsTvm. InvalidArgument for operands that cannot be combined, messages as of CombineExprs.
StatusOr<Expr> FoldOperator(BinaryOp op, const Expr& a, const Expr& b);
StatusOr<Expr> FoldCeilDiv(const Expr& a, const Expr& b);  // (a + b - 1) // b
// T.op(args) of an operation whose type follows from its arguments.
StatusOr<Expr> FoldCall(const Op& op, const std::vector<Expr>& args);
// Whether FoldOperator or FoldCall of the node's operands gives the node back.
bool StaysAsItIs(DataType type, const Binary& e);
bool StaysAsItIs(DataType type, const Call& e);
// T.op(type, args) of an operation whose type must be said (TakesTypeFirst), but limits, which stored texts keep.
StatusOr<Expr> FoldTypedCall(const Op& op, DataType type, const std::vector<Expr>& args);
// `value` as an element of `type`; constants are cut as a cast of C cuts them.
StatusOr<Expr> FoldCast(DataType type, const Expr& value);
bool IsLimit(const Op& op);
// T.min_value(type), T.max_value(type), T.infinity(type): the number. InvalidArgument where the type has none.
StatusOr<Expr> LimitOf(const Op& op, DataType type);

}  // namespace lathe
