// Expressions and conditions that are linear in some variables, taken apart.
#pragma once

#include <optional>
#include <vector>

#include "compiler/arith/analyzer.h"

namespace lathe {

// The coefficients of `vars` in `e`, then the rest, none of which uses `vars`: 4, b*6 + 7 for a*4 + b*6 + 7 in {a}.
// Simplified; empty where `e` is not linear in them, or uses them and is no index. Quotients, remainders, choices are
// not looked into.
std::vector<Expr> DetectLinearEquation(const Expr& e, const std::vector<Var>& vars);

// What a conjunction of comparisons says of one variable: min <= var <= max.
struct ClipBound {
  std::optional<Expr> min, max;
};
// One per variable. Empty where a part is no comparison, not linear with coefficients that are constants, or bounds two
// of the variables at once.
std::vector<ClipBound> DetectClipBound(const Expr& condition, const std::vector<Var>& vars);

}  // namespace lathe
