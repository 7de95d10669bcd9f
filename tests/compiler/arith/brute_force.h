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

// What int32 and int64 arithmetic does at the ends of its type. A simplifier may assume that it stays inside; what it
// makes of that may wrap on the way.
enum class Overflow : uint8_t { kHasNoValue, kWraps };
// The value of an int or bool expression, in `lane` of a vector; nullopt where it has none, as in a division by zero.
// Narrower and unsigned integers wrap; uint64 is given by its bits.
std::optional<int64_t> ValueAt(const Expr& e, const IterDomain& domain, const Point& point, int lane = 0,
                               Overflow overflow = Overflow::kHasNoValue);
// Calls f at every point; all ranges are constant.
void ForEachPoint(const IterDomain& domain, const std::function<void(const Point&)>& f);
// Any int expression over the variables: + - * // % min max select, conditions with and, or, not.
Expr RandomExpr(Random& random, const IterDomain& vars, int depth);
Expr RandomCondition(Random& random, const IterDomain& vars, int depth);
// Any expression of any integer or bool type, with casts, choices, shifts, bitwise operations and, where `type` has
// lanes, ramps and broadcasts. Variables are those of `vars` with the type of the part.
Expr RandomTypedExpr(Random& random, const IterDomain& vars, DataType type, int depth);
// Equal for equal trees over variables of the same names.
uint64_t Fingerprint(const Expr& e);
// Infix text, for messages.
std::string ToText(const Expr& e);

}  // namespace lathe
