// What may end a kernel when it is computed where it was not before.
#pragma once

#include "compiler/ir/expr.h"

namespace lathe {

// Whether the operation itself divides integers by what may be 0.
inline bool MayTrap(const Expr& e) {
  const Binary* op = e.As<Binary>();
  if (op == nullptr || e.dtype().is_float()) return false;
  const bool divides = op->op == BinaryOp::kDiv || op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod ||
                       op->op == BinaryOp::kTruncMod;
  return divides && (AsIntConst(op->b) == nullptr || IsConstInt(op->b, 0));
}

}  // namespace lathe
