#include "compiler/arith/bounds.h"

#include <algorithm>

#include "compiler/ir/integer.h"

namespace lathe {
namespace {

constexpr int64_t kNegInf = IntBound::kNegInf, kPosInf = IntBound::kPosInf;

int64_t AddSaturated(int64_t a, int64_t b, int64_t unbounded) {
  if (a == unbounded || b == unbounded) return unbounded;
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? kNegInf : kPosInf;
}

bool IsInfinite(int64_t end) { return end == kNegInf || end == kPosInf; }
// The infinity that a product or a quotient of the two is.
int64_t Towards(int64_t a, int64_t b) { return (a < 0) != (b < 0) ? kNegInf : kPosInf; }

int64_t MulSaturated(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  const bool is_known = !IsInfinite(a) && !IsInfinite(b) && !__builtin_mul_overflow(a, b, &product);
  return is_known ? product : Towards(a, b);
}

int64_t FloorDivSaturated(int64_t a, int64_t divisor) { return IsInfinite(a) ? a : FloorDivide(a, divisor); }

// An end that saturated on the wrong side may stand for the last value of int64 as well as for more: one step back.
IntBound Loosened(IntBound a) { return {std::min(a.min, kPosInf - 1), std::max(a.max, kNegInf + 1)}; }

}  // namespace

IntBound AddBounds(IntBound a, IntBound b) {
  return {AddSaturated(a.min, b.min, kNegInf), AddSaturated(a.max, b.max, kPosInf)};
}

IntBound ScaleBound(IntBound a, int64_t factor) {
  if (factor == 1) return a;
  const int64_t low = MulSaturated(a.min, factor), high = MulSaturated(a.max, factor);
  return Loosened(factor >= 0 ? IntBound{low, high} : IntBound{high, low});
}

IntBound MulBounds(IntBound a, IntBound b) {
  const int64_t ends[] = {MulSaturated(a.min, b.min), MulSaturated(a.min, b.max), MulSaturated(a.max, b.min),
                          MulSaturated(a.max, b.max)};
  return Loosened({*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)});
}

IntBound FloorDivBound(IntBound a, int64_t divisor) {
  return {FloorDivSaturated(a.min, divisor), FloorDivSaturated(a.max, divisor)};
}

std::optional<int64_t> CommonQuotient(IntBound a, int64_t divisor) {
  if (a.min == kNegInf || a.max == kPosInf || a.min > a.max) return std::nullopt;
  const int64_t quotient = FloorDivide(a.min, divisor);
  return quotient == FloorDivide(a.max, divisor) ? std::optional(quotient) : std::nullopt;
}

IntBound FloorModBound(IntBound a, int64_t divisor) {
  if (CommonQuotient(a, divisor)) return {FloorModulo(a.min, divisor), FloorModulo(a.max, divisor)};
  return {0, divisor - 1};
}

namespace {

// What `divide` makes of the ends, for each sign of the divisor.
template <typename F>
IntBound QuotientBound(IntBound a, IntBound divisor, const F& divide) {
  if (divisor.min > divisor.max) return {};  // No divisor: nobody divides.
  std::optional<IntBound> bound;
  for (const IntBound part : {IntBound{divisor.min, std::min<int64_t>(divisor.max, -1)},
                              IntBound{std::max<int64_t>(divisor.min, 1), divisor.max}}) {
    if (part.min > part.max) continue;
    const int64_t ends[] = {divide(a.min, part.min), divide(a.min, part.max), divide(a.max, part.min),
                            divide(a.max, part.max)};
    const IntBound range{*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
    bound = bound ? UnionBound(*bound, range) : range;
  }
  return bound.value_or(IntBound());
}

}  // namespace

IntBound TruncDivBound(IntBound a, IntBound divisor) {
  return QuotientBound(a, divisor, [](int64_t x, int64_t y) {
    if (IsInfinite(y)) return int64_t{0};
    return IsInfinite(x) ? Towards(x, y) : x / y;
  });
}

IntBound FloorDivBounds(IntBound a, IntBound divisor) {
  return QuotientBound(a, divisor, [](int64_t x, int64_t y) {
    if (IsInfinite(y)) return x == 0 || (x < 0) == (y < 0) ? int64_t{0} : int64_t{-1};
    return IsInfinite(x) ? Towards(x, y) : FloorDivide(x, y);
  });
}

// Nearer to 0 than the divisor, with its sign; no more than a dividend that is not negative.
IntBound FloorModBounds(IntBound a, IntBound divisor) {
  if (divisor.min > 0 && a.min >= 0 && a.max < divisor.min) return a;
  const int64_t least = divisor.min == kNegInf ? kNegInf : std::min<int64_t>(divisor.min + 1, 0);
  const int64_t most = divisor.max == kPosInf ? kPosInf : std::max<int64_t>(divisor.max - 1, 0);
  return {least, divisor.min >= 0 && a.min >= 0 ? std::min(most, a.max) : most};
}

// As far from 0 as the dividend at most, nearer than the divisor, with the dividend's sign.
IntBound TruncModBound(IntBound a, IntBound divisor) {
  if (divisor.min > 0 && a.min > -divisor.min && a.max < divisor.min) return a;
  int64_t most = kPosInf;
  if (divisor.min != kNegInf && divisor.max != kPosInf)
    most = std::max<int64_t>({std::abs(divisor.min) - 1, std::abs(divisor.max) - 1, 0});
  const int64_t least = most == kPosInf ? kNegInf : -most;
  return {a.min >= 0 ? 0 : std::max(a.min, least), a.max <= 0 ? 0 : std::min(a.max, most)};
}

IntBound UnionBound(IntBound a, IntBound b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

IntBound IntersectBound(IntBound a, IntBound b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

namespace {

ModularSet Normalized(__int128 coeff, __int128 base) {
  constexpr __int128 kMost = kPosInf;
  if (coeff > kMost || base > kMost || base < -kMost) return {};
  if (coeff == 0) return {0, static_cast<int64_t>(base)};
  return {static_cast<int64_t>(coeff), FloorModulo(static_cast<int64_t>(base), static_cast<int64_t>(coeff))};
}

__int128 CommonDivisor(__int128 a, __int128 b) {
  while (b != 0) std::swap(a %= b, b);
  return a < 0 ? -a : a;
}

}  // namespace

ModularSet UnionModular(ModularSet a, ModularSet b) {
  const __int128 apart = static_cast<__int128>(a.base) - b.base;
  return Normalized(CommonDivisor(CommonDivisor(a.coeff, b.coeff), apart), a.base);
}

// (p k + a) (q n + b) = p q k n + p b k + q a n + a b
ModularSet MulModular(ModularSet a, ModularSet b) {
  const __int128 p = a.coeff, q = b.coeff;
  return Normalized(CommonDivisor(CommonDivisor(p * q, p * b.base), q * a.base),
                    static_cast<__int128>(a.base) * b.base);
}

IntBound TypeBound(DataType type) {
  if (type.is_bool()) return {0, 1};
  if (!type.is_int() || type.bits >= 64) return {};
  if (type.is_signed_int()) return {-(int64_t{1} << (type.bits - 1)), (int64_t{1} << (type.bits - 1)) - 1};
  return {0, (int64_t{1} << type.bits) - 1};
}

IntBound BoundOfVar(const Expr& var) {
  IntBound bound = TypeBound(var.dtype());
  if (var.As<VarName>()->is_size) bound.min = std::max<int64_t>(bound.min, 0);
  return bound;
}

}  // namespace lathe
