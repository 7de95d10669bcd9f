// What an operator or a named operation of TVM gives for its operands before a node is made of it: constants are
// folded, also of floats and bits, and x + 0, x * 1, max(x, x) are x. Programs that build nodes get these; the parser
// keeps what a text says, since a stored text stands for the tree that it was printed from.
#pragma once

#include <vector>

#include "compiler/ir/expr.h"
#include "support/status.h"

namespace lathe {

// a op b. InvalidArgument for operands that cannot be combined, messages as of CombineExprs.
StatusOr<Expr> FoldOperator(BinaryOp op, const Expr& a, const Expr& b);
// T.op(args) of an operation whose type follows from its arguments.
StatusOr<Expr> FoldCall(const Op& op, const std::vector<Expr>& args);
// `value` as an element of `type`; constants are cut as a cast of C cuts them.
StatusOr<Expr> FoldCast(DataType type, const Expr& value);
// T.min_value(type), T.max_value(type), T.infinity(type): the number. InvalidArgument where the type has none.
StatusOr<Expr> LimitOf(const Op& op, DataType type);

}  // namespace lathe
