#include "compiler/arith/split_sum.h"

#include <algorithm>
#include <tuple>

#include "compiler/arith/linear.h"

namespace lathe {
namespace {

// a / (c * s) * (c * s) and a % (c * s) / c * c are a / c * c.
bool JoinInto(const Split& high, Split& low) {
  if (high.lower != low.upper || low.scale == 0 || high.scale % low.scale != 0) return false;
  if (low.lower != 1 && (low.lower < 0 || high.lower < 0)) return false;  // Rounding goes the other way.
  if (!high.RoundsAs(low.truncates) || __int128(high.scale / low.scale) * low.lower != high.lower) return false;
  low.upper = high.upper;
  return true;
}

void JoinPieces(boost::container::small_vector<Split, 4>& parts, bool& has_overflowed) {
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t k = i + 1; k < parts.size() && parts[i].scale != 0; ++k) {
      Split &high = parts[i], &low = parts[k];
      if (!SameExpr(high.index, low.index) || high.upper < low.lower) break;
      if (high.upper == low.upper && high.lower == low.lower && high.RoundsAs(low.truncates)) {
        has_overflowed |= __builtin_add_overflow(low.scale, high.scale, &low.scale);
        high.scale = 0;
      } else if (JoinInto(high, low)) {
        high.scale = 0;
      }
    }
  }
}

}  // namespace

void SplitSum::AddConstant(int64_t value) { has_overflowed |= __builtin_add_overflow(base, value, &base); }

void SplitSum::Add(Split split, int64_t factor) {
  if (split.scale == 0) return;
  has_overflowed |= __builtin_mul_overflow(split.scale, factor, &split.scale);
  size_t at = 0;
  while (at < parts.size() && !SameExpr(parts[at].index, split.index)) ++at;
  for (; at < parts.size(); ++at) {
    Split& mine = parts[at];
    if (!SameExpr(mine.index, split.index) || split.lower > mine.lower) break;
    if (split.lower == mine.lower && split.upper == mine.upper && split.RoundsAs(mine.truncates)) {
      has_overflowed |= __builtin_add_overflow(mine.scale, split.scale, &mine.scale);
      return;
    }
  }
  parts.insert(parts.begin() + at, std::move(split));
}

void SplitSum::Add(const SplitSum& other, int64_t factor) {
  for (const Split& part : other.parts) Add(part, factor);
  int64_t value;
  has_overflowed |= other.has_overflowed | __builtin_mul_overflow(other.base, factor, &value);
  AddConstant(value);
}

void SplitSum::Scale(int64_t factor) {
  has_overflowed |= __builtin_mul_overflow(base, factor, &base);
  for (Split& part : parts) has_overflowed |= __builtin_mul_overflow(part.scale, factor, &part.scale);
}

void SplitSum::DivideBy(int64_t divisor) {
  base /= divisor;
  for (Split& part : parts) part.scale /= divisor;
}

SplitSum ToSum(const SplitForm& form) {
  if (const SplitSum* sum = std::get_if<SplitSum>(&form)) return *sum;
  SplitSum sum;
  if (const Split* split = std::get_if<Split>(&form)) {
    sum.type = split->index.dtype();
    sum.parts.push_back(*split);
    return sum;
  }
  const Expr& e = std::get<Expr>(form);
  sum.type = e.dtype();
  if (const int64_t* value = AsIntConst(e))
    sum.base = *value;
  else
    sum.parts.push_back({e});
  return sum;
}

std::pair<SplitSum, SplitSum> SeparateDivisible(const SplitSum& sum, int64_t divisor) {
  std::pair<SplitSum, SplitSum> result;
  auto& [divisible, rest] = result;
  divisible.type = rest.type = sum.type;
  divisible.has_overflowed = rest.has_overflowed = sum.has_overflowed;
  (sum.base % divisor == 0 ? divisible : rest).base = sum.base;
  for (const Split& part : sum.parts) (part.scale % divisor == 0 ? divisible : rest).parts.push_back(part);
  return result;
}

Expr ToExpr(const Split& split) {
  const DataType type = split.index.dtype();
  if (split.scale == 0) return IntConst(type, 0);
  Expr result = split.index;
  const auto apply = [&](BinaryOp truncating, BinaryOp flooring, int64_t by) {
    result = FoldBinary(split.truncates ? truncating : flooring, result, IntConst(type, by));
  };
  if (split.upper != kNoEnd) apply(BinaryOp::kTruncMod, BinaryOp::kFloorMod, split.upper);
  if (split.lower != 1) apply(BinaryOp::kDiv, BinaryOp::kFloorDiv, split.lower);
  return split.scale == 1 ? result : FoldBinary(BinaryOp::kMul, result, IntConst(type, split.scale));
}

std::optional<Expr> ToExpr(const SplitSum& sum) {
  const IntBound type = TypeBound(sum.type);
  const auto fits = [&](int64_t value) { return value != INT64_MIN && type.Contains(value) && type.Contains(-value); };
  auto parts = sum.parts;
  bool has_overflowed = sum.has_overflowed || (!fits(sum.base) && !(parts.empty() && type.Contains(sum.base)));
  JoinPieces(parts, has_overflowed);
  for (const Split& part : parts)
    has_overflowed |= !fits(part.scale) || !fits(part.lower) || (part.upper != kNoEnd && !fits(part.upper));
  if (has_overflowed) return std::nullopt;
  std::stable_sort(parts.begin(), parts.end(), [](const Split& a, const Split& b) {
    return std::tuple(a.scale, a.lower, a.upper, !a.truncates) > std::tuple(b.scale, b.lower, b.upper, !b.truncates);
  });
  Expr result = IntConst(sum.type, 0);
  for (const Split& part : parts)
    if (part.scale > 0) result = result + ToExpr(part);
  if (sum.base > 0) result = result + IntConst(sum.type, sum.base);
  for (Split& part : parts) {
    if (part.scale >= 0) continue;
    part.scale = -part.scale;
    result = result - ToExpr(part);
  }
  return sum.base < 0 ? result - IntConst(sum.type, -sum.base) : result;
}

}  // namespace lathe
