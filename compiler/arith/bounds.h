// Constant bounds and remainders of integer values, and their arithmetic.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "compiler/ir/expr.h"

namespace lathe {

// Every value lies in [min, max]. kNegInf and kPosInf stand for "unbounded"; arithmetic saturates there.
struct IntBound {
  static constexpr int64_t kNegInf = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();
  int64_t min = kNegInf, max = kPosInf;

  bool is_const() const { return min == max; }
  bool Contains(int64_t value) const { return min <= value && value <= max; }
  bool Within(int64_t low, int64_t high) const { return low <= min && max <= high; }  // Both ends included.
  bool operator==(const IntBound&) const = default;
};

// Every value is coeff * k + base for some integer k, with 0 <= base < coeff; or coeff == 0 and the value is base.
struct ModularSet {
  int64_t coeff = 1, base = 0;
  bool operator==(const ModularSet&) const = default;
};

// What either may be, and what the product is.
ModularSet UnionModular(ModularSet a, ModularSet b);
ModularSet MulModular(ModularSet a, ModularSet b);

// Ends saturate at the infinities.
IntBound AddBounds(IntBound a, IntBound b);
IntBound ScaleBound(IntBound a, int64_t factor);
IntBound MulBounds(IntBound a, IntBound b);
IntBound FloorDivBound(IntBound a, int64_t divisor);  // divisor > 0
IntBound FloorModBound(IntBound a, int64_t divisor);  // divisor > 0
// By anything but 0, as are those that truncate.
IntBound FloorDivBounds(IntBound a, IntBound divisor);
IntBound FloorModBounds(IntBound a, IntBound divisor);
IntBound TruncDivBound(IntBound a, IntBound divisor);
IntBound TruncModBound(IntBound a, IntBound divisor);
IntBound UnionBound(IntBound a, IntBound b);
IntBound IntersectBound(IntBound a, IntBound b);
IntBound TypeBound(DataType type);     // What the type can hold; everything for types that are no integers.
IntBound BoundOfVar(const Expr& var);  // The same, of a SizeVar from 0 on.
// The k with k*divisor <= every value < (k+1)*divisor, if there is one.
std::optional<int64_t> CommonQuotient(IntBound a, int64_t divisor);

}  // namespace lathe
