// What a < b + 2 and b <= c + 1 say of a and c.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/expr.h"

namespace lathe {

// rest + offset.
struct OffsetPart {
  Expr rest;
  int64_t offset;
};
OffsetPart SplitOffset(const Expr& e);

// The most that a - b can be by one of the comparisons in `known` (<, <=, == of integers, other expressions are passed
// over); by a chain of them: shortest paths over what they compare. nullopt: nothing is known.
std::optional<int64_t> LargestDifference(const std::vector<Expr>& known, const Expr& a, const Expr& b, bool is_chain);

}  // namespace lathe
