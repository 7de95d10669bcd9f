#include "compiler/arith/linear.h"

#include <algorithm>
#include <tuple>

#include "compiler/ir/integer.h"
#include "compiler/ir/structural.h"

namespace lathe {
namespace {

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

// Equal, whatever the order of factors or of what min and max choose from.
bool SameSource(const Expr& a, const Expr& b) {
  if (SameExpr(a, b)) return true;
  const Binary *x = a.As<Binary>(), *y = b.As<Binary>();
  if (x != nullptr && y != nullptr && x->op == y->op && (x->op == BinaryOp::kMin || x->op == BinaryOp::kMax))
    return SameExpr(x->a, y->b) && SameExpr(x->b, y->a);
  if (x == nullptr || y == nullptr || x->op != BinaryOp::kMul || y->op != BinaryOp::kMul) return false;
  std::optional<Product> p = ToProduct(a), q = ToProduct(b);
  if (!p || !q || p->factors.size() != q->factors.size()) return false;
  p = DivideExactly(*std::move(p), *q);
  return p && p->constant == 1;
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
    if (!SameSource(other.source, term.source)) continue;
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
  for (const Term& term : form.terms) gcd = GreatestCommonDivisor(gcd, term.scale);
  return gcd;
}

bool FitsIn(const LinearForm& form, DataType type) {
  if (form.has_overflowed) return false;
  const IntBound bound = TypeBound(type);
  const auto fits = [&](int64_t value) { return bound.Contains(value) && value != IntBound::kNegInf; };
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

// Largest scale first; what is positive, the constant too, before what is not: b + 3 - a, not a * -1 + b + 3.
Expr FormToExpr(const LinearForm& form, DataType type) {
  boost::container::small_vector<const Term*, 8> in_order;
  for (const Term& term : form.terms) in_order.push_back(&term);
  std::stable_sort(in_order.begin(), in_order.end(), [](const Term* a, const Term* b) {
    const auto upper = [](const Term* term) { return term->upper == kNoUpper ? IntBound::kPosInf : term->upper; };
    return std::tuple(a->scale, a->lower, upper(a)) > std::tuple(b->scale, b->lower, upper(b));
  });
  std::optional<Expr> sum;
  const auto scaled = [&](const Term& term, int64_t scale) {
    Expr value = TermToExpr(term, type);
    return scale == 1 ? value : MakeBinary(BinaryOp::kMul, std::move(value), IntConst(type, scale));
  };
  for (const Term* term : in_order) {
    if (term->scale < 0) continue;
    Expr value = scaled(*term, term->scale);
    sum = sum ? MakeBinary(BinaryOp::kAdd, std::move(*sum), std::move(value)) : std::move(value);
  }
  if (form.constant > 0 && !form.terms.empty()) {
    Expr constant = IntConst(type, form.constant);
    sum = sum ? MakeBinary(BinaryOp::kAdd, std::move(*sum), std::move(constant)) : std::move(constant);
  }
  for (const Term* term : in_order) {
    if (term->scale > 0) continue;
    sum = sum ? MakeBinary(BinaryOp::kSub, std::move(*sum), scaled(*term, -term->scale)) : scaled(*term, term->scale);
  }
  if (!sum) return IntConst(type, form.constant);
  return form.constant < 0 ? MakeBinary(BinaryOp::kSub, std::move(*sum), IntConst(type, -form.constant)) : *sum;
}

std::optional<Product> ToProduct(const Expr& e) {
  if (const int64_t* value = AsIntConst(e)) return Product{*value, {}};
  const Binary* op = e.As<Binary>();
  if (op == nullptr || op->op != BinaryOp::kMul) return Product{1, {e}};
  std::optional<Product> a = ToProduct(op->a);
  const std::optional<Product> b = ToProduct(op->b);
  if (!a || !b || __builtin_mul_overflow(a->constant, b->constant, &a->constant)) return std::nullopt;
  a->factors.insert(a->factors.end(), b->factors.begin(), b->factors.end());
  return a;
}

std::optional<Product> DivideExactly(Product a, const Product& b) {
  if (b.constant == 0 || b.constant == IntBound::kNegInf || a.constant == IntBound::kNegInf) return std::nullopt;
  if (a.constant % b.constant != 0) return std::nullopt;
  a.constant /= b.constant;
  for (const Expr& factor : b.factors) {
    const auto found =
        std::find_if(a.factors.begin(), a.factors.end(), [&](const Expr& mine) { return SameExpr(mine, factor); });
    if (found == a.factors.end()) return std::nullopt;
    a.factors.erase(found);
  }
  return a;
}

Expr ProductToExpr(const Product& product, DataType type) {
  if (product.factors.empty()) return IntConst(type, product.constant);
  Expr result = product.factors[0];
  for (size_t i = 1; i < product.factors.size(); ++i)
    result = MakeBinary(BinaryOp::kMul, std::move(result), product.factors[i]);
  if (product.constant == 1) return result;
  return MakeBinary(BinaryOp::kMul, std::move(result), IntConst(type, product.constant));
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
Expr CastIndex(DataType type, const Expr& index) {
  const int64_t* number = IsIndexType(type) && IsIndexType(index.dtype()) ? AsIntConst(index) : nullptr;
  const bool is_kept = number != nullptr && (type.bits == 64 || *number == static_cast<int32_t>(*number));
  return is_kept ? IntConst(type, *number) : MakeCast(type, index);
}

std::vector<Expr> ConjunctsOf(const Expr& condition) {
  const Binary* both = condition.As<Binary>();
  if (both == nullptr || both->op != BinaryOp::kAnd) return {condition};
  std::vector<Expr> parts = ConjunctsOf(both->a), more = ConjunctsOf(both->b);
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

std::vector<Expr> PartsOf(const Expr& e, BinaryOp op) {
  const Binary* binary = e.As<Binary>();
  if (binary != nullptr && binary->op == op) {
    std::vector<Expr> parts = PartsOf(binary->a, op);
    for (Expr& part : PartsOf(binary->b, op)) parts.push_back(std::move(part));
    return parts;
  }
  if (binary == nullptr || binary->op != BinaryOp::kAdd || AsIntConst(binary->b) == nullptr) return {e};
  std::vector<Expr> parts = PartsOf(binary->a, op);
  if (parts.size() == 1) return {e};
  for (Expr& part : parts) part = part + binary->b;
  return parts;
}

}  // namespace lathe
