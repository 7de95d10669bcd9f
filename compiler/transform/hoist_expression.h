// Conditions and bindings out of loops that they do not depend on.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Which to move, as TVM's flags number them.
namespace hoisted_conditional {
inline constexpr int kIfElseStmt = 1, kIfElseExpr = 2, kBooleanExpression = 4, kUsingBlockVar = 8, kAll = 15;
}
namespace hoisted_let {
inline constexpr int kRequiredByConditional = 1, kLetStmt = 2, kLetExpr = 4, kAll = 7;
}
struct HoistOptions {
  int conditionals = hoisted_conditional::kAll, let_bindings = hoisted_let::kAll;
};

// Tests whole conditions of if statements (kIfElseStmt), of T.if_then_else (kIfElseExpr) and operands of and and or
// (kBooleanExpression) before the outermost loop in which no sequence has come before and whose variables they do not
// name, and so binds variables of let statements. Conditions that name a launched thread, and ways across launches,
// need kUsingBlockVar. What loads from memory stays. What is below a condition is simple only after Simplify.
//   for j { if i < 3 { S } else { R } }  -->  if i < 3 { for j { if i < 3 { S } ... } } else { for j { ... } }
PrimFunc HoistExpression(PrimFunc func, const HoistOptions& options);

}  // namespace lathe
