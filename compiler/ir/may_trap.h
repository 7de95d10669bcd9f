// What may end a kernel when it is computed where it was not before.
#pragma once

#include "compiler/ir/expr.h"

namespace lathe {

inline bool IsDivision(BinaryOp op) {
  return op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod || op == BinaryOp::kTruncMod;
}

// What the operation itself divides integers by; nullptr: it is no division of integers.
inline const Expr* IntegerDivisor(const Expr& e) {
  const Binary* op = e.As<Binary>();
  return op != nullptr && !e.dtype().is_float() && IsDivision(op->op) ? &op->b : nullptr;
}

// Whether the operation itself divides integers by what may be 0.
inline bool MayTrap(const Expr& e) {
  const Expr* divisor = IntegerDivisor(e);
  return divisor != nullptr && (AsIntConst(*divisor) == nullptr || IsConstInt(*divisor, 0));
}

}  // namespace lathe
