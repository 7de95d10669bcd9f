// Sums of scaled splits of indices: what the simplification of sums works on.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <variant>

#include "compiler/ir/expr.h"

namespace lathe {

inline constexpr int64_t kNoEnd = INT64_MAX;

// (index % upper) // lower * scale, rounding down or truncating.
struct Split {
  Expr index;
  int64_t lower = 1;       // Not 0.
  int64_t upper = kNoEnd;  // A multiple of lower; kNoEnd: no remainder is taken.
  int64_t scale = 1;
  bool truncates = true;

  bool is_whole() const { return lower == 1 && upper == kNoEnd; }
  bool RoundsAs(bool truncating) const { return truncates == truncating || is_whole(); }
};

struct SplitSum {
  DataType type;
  // Splits of one index stand together, the largest `lower` first.
  boost::container::small_vector<Split, 4> parts;
  int64_t base = 0;
  bool has_overflowed = false;  // Means nothing.

  bool IsZero() const { return base == 0 && parts.empty() && !has_overflowed; }
  void AddConstant(int64_t value);
  void Add(Split split, int64_t factor);
  void Add(const SplitSum& other, int64_t factor);
  void Scale(int64_t factor);
  void DivideBy(int64_t divisor);  // Which divides every scale and the base.
};

using SplitForm = std::variant<Expr, Split, SplitSum>;

SplitSum ToSum(const SplitForm& form);
// The splits that `divisor` divides, and the others; the base goes with those that it belongs to.
std::pair<SplitSum, SplitSum> SeparateDivisible(const SplitSum& sum, int64_t divisor);
Expr ToExpr(const Split& split);
// Pieces of one index joined; the largest scale first, then the base if it is positive, then what is subtracted.
// nullopt: a constant does not fit its type.
std::optional<Expr> ToExpr(const SplitSum& sum);

}  // namespace lathe
