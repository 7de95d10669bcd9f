#include "compiler/arith/linear.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/integer.h"
#include "compiler/ir/structural.h"

namespace lathe {
namespace {

constexpr int64_t kNegInf = IntBound::kNegInf, kPosInf = IntBound::kPosInf;

int64_t AddSaturated(int64_t a, int64_t b, int64_t unbounded) {
  if (a == unbounded || b == unbounded) return unbounded;
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? kNegInf : kPosInf;
}

int64_t MulSaturated(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool is_negative = (a < 0) != (b < 0);
  const auto is_infinite = [](int64_t x) { return x == kNegInf || x == kPosInf; };
  int64_t product;
  if (is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &product))
    return is_negative ? kNegInf : kPosInf;
  return product;
}

int64_t FloorDivSaturated(int64_t a, int64_t divisor) {
  return a == kNegInf || a == kPosInf ? a : FloorDivide(a, divisor);
}

// One source, two splits of it: (x % u)//l1*s1 + (x % l1)//l2*s2 = (x % u)//l2*s2 where s1*l2 == s2*l1.
// Likewise (x % u)//l2*s2 - (x % u)//l1*(s2*l1/l2) = (x % l1)//l2*s2.
bool TryMerge(Term& a, const Term& b) {
  const auto join = [](const Term& high, const Term& low) -> std::optional<Term> {
    if (low.upper != high.lower || high.lower == 1) return std::nullopt;
    if (__int128(high.scale) * low.lower != __int128(low.scale) * high.lower) return std::nullopt;
    Term merged = low;
    merged.upper = high.upper;
    return merged;
  };
  const auto subtract = [](const Term& whole, const Term& high) -> std::optional<Term> {
    if (whole.upper != high.upper || whole.lower >= high.lower || high.lower % whole.lower != 0) return std::nullopt;
    if (__int128(high.scale) * whole.lower != -__int128(whole.scale) * high.lower) return std::nullopt;
    Term merged = whole;
    merged.upper = high.lower;
    return merged;
  };
  for (const auto& merged : {join(a, b), join(b, a), subtract(a, b), subtract(b, a)}) {
    if (!merged) continue;
    a = *merged;
    return true;
  }
  return false;
}

bool IsExpandable(const Expr& source) {
  const Binary* binary = source.As<Binary>();
  if (binary == nullptr) return false;
  if (binary->op == BinaryOp::kAdd || binary->op == BinaryOp::kSub || binary->op == BinaryOp::kFloorMod ||
      binary->op == BinaryOp::kFloorDiv)
    return true;
  return binary->op == BinaryOp::kMul && (AsIntConst(binary->a) != nullptr || AsIntConst(binary->b) != nullptr);
}

}  // namespace

// ---- Intervals --------------------------------------------------------------------------------------------------

IntBound AddBounds(IntBound a, IntBound b) {
  return {AddSaturated(a.min, b.min, kNegInf), AddSaturated(a.max, b.max, kPosInf)};
}

IntBound ScaleBound(IntBound a, int64_t factor) {
  const int64_t low = MulSaturated(a.min, factor), high = MulSaturated(a.max, factor);
  return factor >= 0 ? IntBound{low, high} : IntBound{high, low};
}

IntBound MulBounds(IntBound a, IntBound b) {
  const int64_t ends[] = {MulSaturated(a.min, b.min), MulSaturated(a.min, b.max), MulSaturated(a.max, b.min),
                          MulSaturated(a.max, b.max)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
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

IntBound UnionBound(IntBound a, IntBound b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

IntBound TypeBound(DataType type) {
  if (type.is_bool()) return {0, 1};
  if (!type.is_int() || type.bits >= 64) return {};
  if (type.is_signed_int()) return {-(int64_t{1} << (type.bits - 1)), (int64_t{1} << (type.bits - 1)) - 1};
  return {0, (int64_t{1} << type.bits) - 1};
}

// ---- Forms ------------------------------------------------------------------------------------------------------

IntBound UnscaledBound(const Term& term) {
  const IntBound bound = term.upper == kNoUpper ? term.source_bound : FloorModBound(term.source_bound, term.upper);
  return term.lower == 1 ? bound : FloorDivBound(bound, term.lower);
}

std::optional<size_t> LinearForm::Add(Term term) {
  if (term.scale == 0) return std::nullopt;
  if (term.upper != kNoUpper && term.source_bound.Within(0, term.upper - 1)) term.upper = kNoUpper;
  for (size_t i = 0; i < terms.size(); ++i) {
    Term& other = terms[i];
    if (!SameExpr(other.source, term.source)) continue;
    if (other.lower == term.lower && other.upper == term.upper) {
      has_overflowed |= __builtin_add_overflow(other.scale, term.scale, &other.scale);
      if (other.scale == 0) terms.erase(terms.begin() + i);
      return std::nullopt;
    }
    if (TryMerge(other, term)) {
      Term merged = std::move(other);
      terms.erase(terms.begin() + i);
      if (merged.is_whole() && IsExpandable(merged.source)) {
        terms.insert(terms.begin() + i, std::move(merged));
        return i;
      }
      const size_t num_others = terms.size();
      const std::optional<size_t> expand = Add(std::move(merged));  // May merge on; otherwise it belongs where it was.
      if (terms.size() > num_others) std::rotate(terms.begin() + i, terms.end() - 1, terms.end());
      return expand;
    }
  }
  terms.push_back(std::move(term));
  return std::nullopt;
}

void LinearForm::AddConstant(int64_t value) { has_overflowed |= __builtin_add_overflow(constant, value, &constant); }

void LinearForm::Scale(int64_t factor) {
  if (factor == 0) {
    terms.clear();
    constant = 0;
    return;
  }
  has_overflowed |= __builtin_mul_overflow(constant, factor, &constant);
  for (Term& term : terms) has_overflowed |= __builtin_mul_overflow(term.scale, factor, &term.scale);
}

LinearForm Combine(const LinearForm& a, const LinearForm& b, int64_t factor) {
  LinearForm sum = a;
  LinearForm scaled = b;
  scaled.Scale(factor);
  sum.has_overflowed |= scaled.has_overflowed;
  sum.AddConstant(scaled.constant);
  for (Term& term : scaled.terms) sum.Add(std::move(term));
  return sum;
}

IntBound BoundOf(const LinearForm& form) {
  if (form.has_overflowed) return {};
  IntBound bound{form.constant, form.constant};
  for (const Term& term : form.terms) bound = AddBounds(bound, ScaleBound(UnscaledBound(term), term.scale));
  return bound;
}

int64_t GcdOfScales(const LinearForm& form) {
  int64_t gcd = 0;
  for (const Term& term : form.terms) gcd = std::gcd(gcd, term.scale);
  return gcd;
}

bool FitsIn(const LinearForm& form, DataType type) {
  if (form.has_overflowed) return false;
  const IntBound bound = TypeBound(type);
  const auto fits = [&](int64_t value) { return bound.Contains(value) && value != kNegInf; };
  if (!fits(form.constant) || !fits(-form.constant)) return false;
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const Term& term) {
    return fits(term.scale) && fits(-term.scale) && fits(term.lower) && fits(term.upper);
  });
}

Expr TermToExpr(const Term& term, DataType type) {
  Expr result = term.source;
  if (term.upper != kNoUpper) result = MakeBinary(BinaryOp::kFloorMod, result, IntConst(type, term.upper));
  if (term.lower != 1) result = MakeBinary(BinaryOp::kFloorDiv, result, IntConst(type, term.lower));
  return result;
}

// Positive terms come first, so that no leading minus is needed: b - a, not a * -1 + b.
Expr FormToExpr(const LinearForm& form, DataType type) {
  std::optional<Expr> sum;
  const auto scaled = [&](const Term& term, int64_t scale) {
    Expr value = TermToExpr(term, type);
    return scale == 1 ? value : MakeBinary(BinaryOp::kMul, std::move(value), IntConst(type, scale));
  };
  for (const Term& term : form.terms) {
    if (term.scale < 0) continue;
    Expr value = scaled(term, term.scale);
    sum = sum ? MakeBinary(BinaryOp::kAdd, std::move(*sum), std::move(value)) : std::move(value);
  }
  const bool leads_with_constant = !sum && form.constant > 0 && !form.terms.empty();
  if (leads_with_constant) sum = IntConst(type, form.constant);
  for (const Term& term : form.terms) {
    if (term.scale > 0) continue;
    sum = sum ? MakeBinary(BinaryOp::kSub, std::move(*sum), scaled(term, -term.scale)) : scaled(term, term.scale);
  }
  if (!sum) return IntConst(type, form.constant);
  if (leads_with_constant || form.constant == 0) return *sum;
  return form.constant > 0 ? MakeBinary(BinaryOp::kAdd, std::move(*sum), IntConst(type, form.constant))
                           : MakeBinary(BinaryOp::kSub, std::move(*sum), IntConst(type, -form.constant));
}

bool SameExpr(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (a.node().value.index() != b.node().value.index() || a.dtype() != b.dtype()) return false;
  if (IsVar(a)) return false;
  if (const IntImm* imm = a.As<IntImm>()) return imm->value == b.As<IntImm>()->value;
  if (const Binary* x = a.As<Binary>()) {
    const Binary* y = b.As<Binary>();
    return x->op == y->op && SameExpr(x->a, y->a) && SameExpr(x->b, y->b);
  }
  return StructuralEqual(a, b);
}

}  // namespace lathe
