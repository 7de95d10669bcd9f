// Evaluates and makes up integer expressions, so that claims can be checked at every point of small domains.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/arith/iter_map.h"
#include "compiler/ir/expr.h"
#include "support/random.h"

namespace lathe {

// Values of variables, in the order of `domain`.
using Point = std::vector<int64_t>;

// The value of an int or bool expression; nullopt where it divides by zero.
std::optional<int64_t> ValueAt(const Expr& e, const IterDomain& domain, const Point& point);
// Calls f at every point; all ranges are constant.
void ForEachPoint(const IterDomain& domain, const std::function<void(const Point&)>& f);
// Any int expression over the variables: + - * // % min max select, conditions with and, or, not.
Expr RandomExpr(Random& random, const IterDomain& vars, int depth);
Expr RandomCondition(Random& random, const IterDomain& vars, int depth);
// Infix text, for messages.
std::string ToText(const Expr& e);

}  // namespace lathe
