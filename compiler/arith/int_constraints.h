// Systems of conditions over integer variables, and what solving them gives.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"
#include "support/status.h"

namespace lathe {

using VarRanges = std::vector<std::pair<Var, Range>>;
using VarValues = std::vector<std::pair<Var, Expr>>;
const Range* FindRange(const VarRanges& ranges, const Var& var);  // nullptr: it has none.
VarMap ToVarMap(const VarValues& values);
// Knows the ranges.
Simplifier SimplifierOf(const VarRanges& ranges);

// What bounds coef * var: all of lower, equal and upper hold.
struct IntGroupBounds {
  Expr coef;
  std::vector<Expr> lower, equal, upper;

  static IntGroupBounds FromRange(const Range& range);
  // The narrowest range between a lower and an upper bound, of var; `ranges` are other variables'. nullopt: an end is
  // missing.
  std::optional<Range> FindBestRange(const VarRanges& ranges) const;
};

// Variables, ranges of some (and of others that the conditions name), and conditions that hold between them.
struct IntConstraints {
  std::vector<Var> variables;
  VarRanges ranges;
  std::vector<Expr> relations;

  static IntConstraints Unsolvable();  // No variables, and the condition "false".
};

// The same constraints in other variables, and how either are made from the others. An unsolvable `dst` is made from
// nothing.
struct IntConstraintsTransform {
  IntConstraints src, dst;
  VarValues src_to_dst, dst_to_src;
};

// To as few variables as the equations among the relations leave free: none where they have one solution. Other
// relations, what the ranges say of the free variables and what else has to hold become conditions. InvalidArgument:
// coefficients leave int64.
StatusOr<IntConstraintsTransform> SolveLinearEquations(const IntConstraints& problem);

// Ranges of the variables, each in terms of those after it, and the conditions that no range says. InvalidArgument:
// coefficients leave int64.
StatusOr<IntConstraints> SolveInequalitiesToRange(const IntConstraints& problem);
// The same by variables whose ranges begin at 0.
StatusOr<IntConstraintsTransform> SolveInequalitiesDeskewRange(const IntConstraints& problem);

}  // namespace lathe
