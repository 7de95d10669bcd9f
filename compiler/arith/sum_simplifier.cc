// Simplification of sums: what adds up is taken apart into scaled splits of indices, and put together in one order.
#include <algorithm>

#include "compiler/arith/linear.h"
#include "compiler/arith/rule_simplifier.h"
#include "compiler/arith/split_sum.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

class SumSimplifier : public RuleSimplifier {
 public:
  using RuleSimplifier::RuleSimplifier;
  bool has_overflowed() const { return has_overflowed_; }

 protected:
  bool UsesLiterals() const override { return false; }
  Expr VisitExpr(const Expr& e) override { return Normal(Form(e)); }

 private:
  SplitForm Form(const Expr& e);
  SplitForm FormOfSum(const Binary& op);
  SplitForm FormOfProduct(const Expr& e, const Binary& op);
  SplitForm FormOfQuotient(const Expr& e, const Binary& op);
  SplitForm FormOfRemainder(const Expr& e, const Binary& op);
  SplitForm FormOfCast(const Expr& e, const Cast& cast);
  std::optional<Expr> LessWithoutFactor(const Binary& op);

  SplitForm QuotientOf(SplitForm a, int64_t divisor, bool truncates);
  std::optional<Expr> QuotientOfRemainder(const Split& split, int64_t divisor);
  SplitForm RemainderOf(SplitForm a, int64_t divisor, bool truncates);
  Split DivideSplit(Split split, int64_t divisor, bool truncates);
  Split RemainderOfSplit(Split split, int64_t divisor, bool truncates);

  Expr Normal(const SplitForm& form);
  Split ToSplit(const SplitForm& form);
  Split Rounding(Split split, bool truncates);  // The same, with that kind of division; as a whole index if need be.
  bool IsNonNegative(const Expr& e) { return owner_.analyzer().CanProveGreaterEqual(e, 0); }
  bool IsBelow(const Expr& e, int64_t limit) { return CompareWith(e, limit) == kLess; }

  bool has_overflowed_ = false;
};

// Whether the division of the split by `divisor` is one of its index: -x // 4 = x // -4, but not -(x // 2) // 4.
bool IsPartOf(const Split& split, int64_t divisor) {
  return split.scale != 0 && divisor % split.scale == 0 && (split.scale > 0 || split.lower == 1);
}

// Without axes a reduction combines its source once, with an identity that changes nothing. A lone reducer has no
// source.
bool IsItsSource(const Reduce& reduce) {
  return reduce.axis.empty() && !reduce.source.empty() && reduce.init.empty() && IsConstInt(reduce.condition, 1);
}

// What divides both products, taken out; false: nothing.
struct ProductRatio {
  Expr a, b, common;
};
std::optional<ProductRatio> WithoutCommonFactors(const Expr& a, const Expr& b) {
  if (b.As<IntImm>() != nullptr) return std::nullopt;
  std::optional<Product> x = ToProduct(a), y = ToProduct(b);
  if (!x || !y || x->factors.empty() || x->constant == INT64_MIN || y->constant == INT64_MIN) return std::nullopt;
  Product common, rest;
  for (const Expr& factor : y->factors) {
    const auto found =
        std::find_if(x->factors.begin(), x->factors.end(), [&](const Expr& mine) { return SameExpr(mine, factor); });
    (found == x->factors.end() ? rest : common).factors.push_back(factor);
    if (found != x->factors.end()) x->factors.erase(found);
  }
  common.constant = GreatestCommonDivisor(x->constant, y->constant);
  if (common.constant == 0 || (common.factors.empty() && common.constant == 1)) return std::nullopt;
  x->constant /= common.constant;
  rest.constant = y->constant / common.constant;
  const DataType type = a.dtype();
  return ProductRatio{ProductToExpr(*x, type), ProductToExpr(rest, type), ProductToExpr(common, type)};
}

Expr SumSimplifier::Normal(const SplitForm& form) {
  if (const Expr* e = std::get_if<Expr>(&form)) return *e;
  const SplitSum sum = ToSum(form);
  const Split* split = std::get_if<Split>(&form);
  const bool is_small = split != nullptr && TypeBound(sum.type).Contains(split->scale);
  const std::optional<Expr> result = is_small ? std::optional(ToExpr(*split)) : ToExpr(sum);
  has_overflowed_ |= !result;
  return result.value_or(IntConst(sum.type, 0));
}

Split SumSimplifier::ToSplit(const SplitForm& form) {
  if (const Split* split = std::get_if<Split>(&form)) return *split;
  const SplitSum* sum = std::get_if<SplitSum>(&form);
  if (sum != nullptr && sum->base == 0 && sum->parts.size() == 1) return sum->parts[0];
  return {Normal(form)};
}

Split SumSimplifier::Rounding(Split split, bool truncates) {
  if (!split.RoundsAs(truncates)) split = {Normal(split)};
  split.truncates = truncates;
  return split;
}

SplitForm SumSimplifier::Form(const Expr& e) {
  const Binary* op = e.As<Binary>();
  if (op != nullptr && IsIndexType(e.dtype()) && !has_overflowed_) {
    if (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub) return FormOfSum(*op);
    if (op->op == BinaryOp::kMul) return FormOfProduct(e, *op);
    if (op->op == BinaryOp::kDiv || op->op == BinaryOp::kFloorDiv) return FormOfQuotient(e, *op);
    if (op->op == BinaryOp::kTruncMod || op->op == BinaryOp::kFloorMod) return FormOfRemainder(e, *op);
  }
  if (op != nullptr && op->op == BinaryOp::kLT && IsIndexType(op->a.dtype())) {
    if (const std::optional<Expr> smaller = LessWithoutFactor(*op)) return RewriteNode(*smaller);
  }
  if (const Cast* cast = e.As<Cast>(); cast != nullptr && IsIndexType(e.dtype())) return FormOfCast(e, *cast);
  if (const Reduce* reduce = e.As<Reduce>(); reduce != nullptr && IsItsSource(*reduce))
    return Form(reduce->source[static_cast<size_t>(reduce->value_index)]);
  return RewriteNode(e);
}

SplitForm SumSimplifier::FormOfSum(const Binary& op) {
  const SplitForm a = Form(op.a), b = Form(op.b);
  SplitSum sum = ToSum(a);
  const int64_t sign = op.op == BinaryOp::kAdd ? 1 : -1;
  if (const Split* split = std::get_if<Split>(&b))
    sum.Add(*split, sign);
  else
    sum.Add(ToSum(b), sign);
  has_overflowed_ |= sum.has_overflowed;
  return sum;
}

SplitForm SumSimplifier::FormOfProduct(const Expr& e, const Binary& op) {
  SplitForm a = Form(op.a), b = Form(op.b);
  const auto constant = [&](const SplitForm& form) -> std::optional<int64_t> {
    const SplitSum sum = ToSum(form);
    return sum.parts.empty() ? std::optional(sum.base) : std::nullopt;
  };
  if (constant(a)) std::swap(a, b);
  if (const std::optional<int64_t> factor = constant(b)) {
    SplitSum sum = ToSum(a);
    sum.Scale(*factor);
    has_overflowed_ |= sum.has_overflowed;
    if (std::holds_alternative<SplitSum>(a) || sum.parts.size() != 1) return sum;
    return sum.parts[0];
  }
  const Expr x = Normal(a), y = Normal(b);
  const std::optional<Product> product = ToProduct(MakeBinary(BinaryOp::kMul, x, y));
  if (!product || !TypeBound(e.dtype()).Contains(product->constant)) return MakeBinary(BinaryOp::kMul, x, y);
  return ProductToExpr(*product, e.dtype());
}

// ---- Quotients --------------------------------------------------------------------------------------------------

SplitForm SumSimplifier::FormOfQuotient(const Expr& e, const Binary& op) {
  const SplitForm a = Form(op.a);
  const Expr b = VisitExpr(op.b);
  const bool truncates = op.op == BinaryOp::kDiv;
  if (const int64_t* divisor = AsIntConst(b); divisor != nullptr && *divisor > 0) {
    if (*divisor == 1) return a;
    return QuotientOf(a, *divisor, truncates);
  }
  const Expr x = Normal(a);
  if (const std::optional<ProductRatio> ratio = WithoutCommonFactors(x, b))
    return FoldBinary(op.op, ratio->a, ratio->b);
  return x.same_as(op.a) && b.same_as(op.b) ? e : FoldBinary(op.op, x, b);
}

SplitForm SumSimplifier::QuotientOf(SplitForm a, int64_t divisor, bool truncates) {
  const SplitSum* sum = std::get_if<SplitSum>(&a);
  if (sum == nullptr) {
    const Expr value = Normal(a);
    if (const int64_t* known = AsIntConst(value))
      return IntConst(value.dtype(), truncates ? *known / divisor : FloorDivide(*known, divisor));
    if (owner_.analyzer().ConstIntBound(value).Within(0, divisor - 1)) return IntConst(value.dtype(), 0);
    const Split split = ToSplit(a);
    if (!truncates)
      if (const std::optional<Expr> inside = QuotientOfRemainder(split, divisor)) return *inside;
    return DivideSplit(split, divisor, truncates);
  }
  auto [whole, rest] = SeparateDivisible(*sum, divisor);
  if (rest.IsZero()) {
    whole.DivideBy(divisor);
    return whole;
  }
  const Expr left = Normal(rest);
  if (truncates && !(IsNonNegative(Normal(whole)) && IsNonNegative(left)))
    return DivideSplit(ToSplit(a), divisor, truncates);
  whole.DivideBy(divisor);
  if (const int64_t* constant = AsIntConst(left))
    whole.AddConstant(truncates ? *constant / divisor : FloorDivide(*constant, divisor));
  else if (!IsBelow(left, divisor) || !IsNonNegative(left))
    whole.Add(DivideSplit({left}, divisor, truncates), 1);
  return whole;
}

// (x * 32 + k) % 512 // 32 = (x + k // 32) % 16, where part of the sum divides.
std::optional<Expr> SumSimplifier::QuotientOfRemainder(const Split& split, int64_t divisor) {
  const bool is_remainder = split.upper != kNoEnd && split.lower == 1 && split.scale == 1 && !split.truncates;
  if (!is_remainder || split.upper % divisor != 0) return std::nullopt;
  const SplitForm index = Form(split.index);
  const SplitSum* sum = std::get_if<SplitSum>(&index);
  if (sum == nullptr || SeparateDivisible(*sum, divisor).first.IsZero()) return std::nullopt;
  const DataType type = split.index.dtype();
  const Expr quotient = VisitExpr(FoldBinary(BinaryOp::kFloorDiv, split.index, IntConst(type, divisor)));
  return VisitExpr(FoldBinary(BinaryOp::kFloorMod, quotient, IntConst(type, split.upper / divisor)));
}

Split SumSimplifier::DivideSplit(Split split, int64_t divisor, bool truncates) {
  split = Rounding(std::move(split), truncates);
  if (split.scale % divisor == 0) {
    split.scale /= divisor;
    return split;
  }
  int64_t lower;
  if (IsPartOf(split, divisor) && !__builtin_mul_overflow(split.lower, divisor / split.scale, &lower)) {
    if (split.upper != kNoEnd && split.upper % lower != 0) {
      if (split.upper > 0 && split.upper <= lower && !truncates) return {IntConst(split.index.dtype(), 0)};
      Split inner = split;
      inner.lower = inner.scale = 1;
      split.index = Normal(inner);
      split.upper = kNoEnd;
    }
    split.scale = 1;
    split.lower = lower;
    return split;
  }
  split = Split{Normal(split)};
  split.truncates = truncates;
  split.lower = divisor;
  return split;
}

// ---- Remainders -------------------------------------------------------------------------------------------------

SplitForm SumSimplifier::FormOfRemainder(const Expr& e, const Binary& op) {
  const SplitForm a = Form(op.a);
  const Expr b = VisitExpr(op.b);
  const bool truncates = op.op == BinaryOp::kTruncMod;
  if (const int64_t* divisor = AsIntConst(b); divisor != nullptr && *divisor > 0)
    return RemainderOf(a, *divisor, truncates);
  const Expr x = Normal(a);
  if (const std::optional<ProductRatio> ratio = WithoutCommonFactors(x, b))
    return FoldBinary(op.op, ratio->a, ratio->b) * ratio->common;
  return x.same_as(op.a) && b.same_as(op.b) ? e : FoldBinary(op.op, x, b);
}

SplitForm SumSimplifier::RemainderOf(SplitForm a, int64_t divisor, bool truncates) {
  const SplitSum* sum = std::get_if<SplitSum>(&a);
  if (sum == nullptr) {
    const Expr value = Normal(a);
    if (const int64_t* known = AsIntConst(value))
      return IntConst(value.dtype(), truncates ? *known % divisor : FloorModulo(*known, divisor));
    if (owner_.analyzer().ConstIntBound(value).Within(0, divisor - 1)) return a;
    return RemainderOfSplit(ToSplit(a), divisor, truncates);
  }
  const auto [whole, rest] = SeparateDivisible(*sum, divisor);
  if (rest.IsZero()) return IntConst(sum->type, 0);
  const Expr left = Normal(rest);
  if (truncates && !(IsNonNegative(Normal(whole)) && IsNonNegative(left)))
    return RemainderOfSplit(ToSplit(a), divisor, truncates);
  if (const int64_t* constant = AsIntConst(left)) return IntConst(sum->type, FloorModulo(*constant, divisor));
  if (IsBelow(left, divisor) && IsNonNegative(left)) return left;
  SplitSum reduced = rest;
  // (x - 5) % 3 = (x + 1) % 3; where it truncates, what is there must stay at least 0.
  const int64_t base = truncates ? reduced.base % divisor : FloorModulo(reduced.base, divisor);
  reduced.base = base;
  if (truncates && !IsNonNegative(Normal(reduced))) reduced.base = rest.base;
  return RemainderOfSplit(ToSplit(reduced), divisor, truncates);
}

Split SumSimplifier::RemainderOfSplit(Split split, int64_t divisor, bool truncates) {
  split = Rounding(std::move(split), truncates);
  if (split.scale % divisor == 0) {
    split.scale = 0;
    return split;
  }
  int64_t upper;
  if (IsPartOf(split, divisor) && !__builtin_mul_overflow(split.lower, divisor / split.scale, &upper)) {
    if (split.upper == kNoEnd) {
      split.upper = upper;
      return split;
    }
    if (split.upper % upper == 0) {
      if (upper == split.upper) return split;
      const int64_t lower = split.lower, scale = split.scale;
      const BinaryOp op = truncates ? BinaryOp::kTruncMod : BinaryOp::kFloorMod;
      Split inner = ToSplit(Form(MakeBinary(op, split.index, IntConst(split.index.dtype(), upper))));
      if (lower != 1) inner = DivideSplit(std::move(inner), lower, truncates);
      has_overflowed_ |= __builtin_mul_overflow(inner.scale, scale, &inner.scale);
      return inner;
    }
    if (upper > 0 && upper % split.upper == 0) return split;
  }
  split = Split{Normal(split)};
  split.truncates = truncates;
  split.upper = divisor;
  return split;
}

// ---- Casts, comparisons -----------------------------------------------------------------------------------------

// What is added up within its own type is the same added up in a wider one.
SplitForm SumSimplifier::FormOfCast(const Expr& e, const Cast& cast) {
  if (!IsIndexType(cast.value.dtype()) || cast.value.dtype().bits > e.dtype().bits) return RewriteNode(e);
  SplitForm value = Form(cast.value);
  if (std::holds_alternative<Expr>(value)) return RewriteNode(Expr::Make(e.dtype(), Cast{std::get<Expr>(value)}));
  SplitSum sum = ToSum(value);
  sum.type = e.dtype();
  for (Split& part : sum.parts) part.index = MakeCast(e.dtype(), part.index);
  return sum;
}

// 4 * x + y < 16 is x < 4 where 0 <= y < 4; 64 * x + z % 64 < 120, z = 8 * y + 0..7, is 8 * x + y % 8 < 15.
std::optional<Expr> SumSimplifier::LessWithoutFactor(const Binary& op) {
  const SplitForm difference = Form(op.a - op.b);
  const SplitSum* sum = std::get_if<SplitSum>(&difference);
  if (sum == nullptr || has_overflowed_) return std::nullopt;
  int64_t gcd = sum->base;
  bool has_scale = false;
  for (const Split& part : sum->parts) {
    if (part.scale >= -1 && part.scale <= 1) continue;
    has_scale = true;
    gcd = GreatestCommonDivisor(gcd, part.scale);
  }
  if (!has_scale || gcd <= 1) return std::nullopt;
  auto [whole, rest] = SeparateDivisible(*sum, gcd);
  const Expr left = Normal(rest), zero = IntConst(sum->type, 0);
  const bool is_below = owner_.analyzer().ConstIntBound(left).Within(0, gcd - 1);
  whole.DivideBy(gcd);
  if (is_below) return FoldBinary(BinaryOp::kLT, Normal(whole), zero);
  if (rest.parts.size() != 1 || rest.base != 0 || rest.parts[0].scale != 1) return std::nullopt;
  const Split& part = rest.parts[0];
  int64_t lower;
  if (part.upper == kNoEnd || part.upper < 0 || part.lower < 0 || part.truncates) return std::nullopt;
  if (__builtin_mul_overflow(gcd, part.lower, &lower)) return std::nullopt;
  if (part.upper % lower != 0) return std::nullopt;
  const Expr by = IntConst(sum->type, lower), end = IntConst(sum->type, part.upper / lower);
  return FoldBinary(BinaryOp::kLT, Normal(whole) + FloorMod(FloorDiv(part.index, by), end), zero);
}

}  // namespace

Expr SimplifySums(Simplifier& owner, const Expr& e) {
  SumSimplifier run(owner);
  const Expr result = run(e);
  return run.has_overflowed() ? e : result;
}

}  // namespace lathe
