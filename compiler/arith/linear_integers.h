// Integers of linear systems: none leaves int64 unnoticed.
#pragma once

#include <cstdint>

#include "compiler/ir/integer.h"

namespace lathe {

// Sums and products, and whether one has left int64 or is its least number, which has no negative: then what they gave
// means nothing.
class CheckedIntegers {
 public:
  bool has_overflowed() const { return has_overflowed_; }
  int64_t Mul(int64_t a, int64_t b) {
    int64_t result = 0;
    const bool overflows = __builtin_mul_overflow(a, b, &result);
    return Checked(overflows, result);
  }
  int64_t Sum(int64_t a, int64_t b) {
    int64_t result = 0;
    const bool overflows = __builtin_add_overflow(a, b, &result);
    return Checked(overflows, result);
  }
  // a * x + b * y
  int64_t Combine(int64_t a, int64_t x, int64_t b, int64_t y) { return Sum(Mul(a, x), Mul(b, y)); }
  int64_t Negative(int64_t a) { return Mul(a, -1); }
  int64_t LeastCommonMultiple(int64_t a, int64_t b) { return Mul(a / GreatestCommonDivisor(a, b), b); }

 private:
  int64_t Checked(bool has_overflowed, int64_t result) {
    has_overflowed_ |= has_overflowed || result == INT64_MIN;
    return result;
  }
  bool has_overflowed_ = false;
};

}  // namespace lathe
