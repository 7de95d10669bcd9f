// The canonicalizer's rules for min and max of integers.
#include <algorithm>
#include <utility>

#include "compiler/arith/canonicalizer.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

// The min or max that the form is, alone.
const Binary* AsMinMax(const LinearForm& form) {
  if (form.terms.size() != 1 || form.constant != 0 || form.terms[0].scale != 1 || !form.terms[0].is_whole())
    return nullptr;
  const Binary* op = form.terms[0].source.As<Binary>();
  return op != nullptr && (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax) ? op : nullptr;
}

// A sum of a term or a constant and another, or either alone.
size_t NumParts(const LinearForm& form) { return form.terms.size() + (form.constant != 0 ? 1 : 0); }
bool IsOneTerm(const LinearForm& form) { return form.terms.size() == 1 && form.constant == 0; }
bool SameTerm(const Term& a, const Term& b) {
  return a.lower == b.lower && a.upper == b.upper && SameExpr(a.source, b.source);
}
BinaryOp Opposite(BinaryOp op) { return op == BinaryOp::kMin ? BinaryOp::kMax : BinaryOp::kMin; }

// Moves a part that both have into the result; nullopt: there is none.
std::optional<LinearForm> TakeSharedPart(LinearForm& a, LinearForm& b) {
  LinearForm shared;
  if (a.constant != 0 && a.constant == b.constant) {
    shared.constant = std::exchange(a.constant, 0);
    b.constant = 0;
    return shared;
  }
  for (size_t i = 0; i < a.terms.size(); ++i) {
    for (size_t k = 0; k < b.terms.size(); ++k) {
      if (a.terms[i].scale != b.terms[k].scale || !SameTerm(a.terms[i], b.terms[k])) continue;
      shared.terms.push_back(a.terms[i]);
      a.terms.erase(a.terms.begin() + i);
      b.terms.erase(b.terms.begin() + k);
      return shared;
    }
  }
  return std::nullopt;
}

// What divides both sides, each a multiple of one term or a constant; negative where both are multiples of less than 0.
int64_t FactorOf(const LinearForm& a, const LinearForm& b) {
  if (!IsOneTerm(a) && !IsOneTerm(b)) return 1;
  const auto number = [](const LinearForm& form) { return IsOneTerm(form) ? form.terms[0].scale : form.constant; };
  const int64_t x = number(a), y = number(b), gcd = GreatestCommonDivisor(x, y);
  if (x == INT64_MIN || y == INT64_MIN) return 1;  // Neither has a magnitude.
  if ((!IsOneTerm(a) && !a.is_const()) || (!IsOneTerm(b) && !b.is_const()) || gcd == 0) return 1;
  if (IsOneTerm(a) && IsOneTerm(b)) {
    if (gcd != std::min(std::abs(x), std::abs(y))) return 1;
    return x < 0 && y < 0 ? -gcd : gcd;
  }
  const int64_t scale = IsOneTerm(a) ? x : y;  // The constant has to be a multiple of it.
  return scale > 1 && gcd == scale ? scale : 1;
}

void DivideBy(LinearForm& form, int64_t divisor) {
  form.constant /= divisor;
  for (Term& term : form.terms) term.scale /= divisor;
}

}  // namespace

// min(x + z, y + z) = min(x, y) + z; min(max(x, z), max(y, z)) = max(min(x, y), z).
std::optional<LinearForm> Canonicalizer::SharedOutOfMinMax(const Expr& e, BinaryOp op, LinearForm a, LinearForm b) {
  const Binary *x = AsMinMax(a), *y = AsMinMax(b);
  if (x != nullptr && y != nullptr && x->op == y->op && x->op == Opposite(op)) {
    for (const auto& [common, left] : {std::pair(&x->a, &x->b), std::pair(&x->b, &x->a)}) {
      const bool is_first = SameExpr(*common, y->a);
      if (!is_first && !SameExpr(*common, y->b)) continue;
      LinearForm inner = FormOfMinMax(e, op, Form(*left), Form(is_first ? y->b : y->a));
      return FormOfMinMax(e, x->op, std::move(inner), Form(*common));
    }
  }
  if (NumParts(a) != 2 || NumParts(b) != 2) return std::nullopt;
  const std::optional<LinearForm> shared = TakeSharedPart(a, b);
  if (!shared || (a.is_const() && b.is_const())) return std::nullopt;
  LinearForm result = FormOfMinMax(e, op, std::move(a), std::move(b));
  AddForm(result, *shared, 1);
  return result;
}

// min(x * 4, 8) = min(x, 2) * 4; min(x // 2, y // 2) = min(x, y) // 2.
std::optional<LinearForm> Canonicalizer::FactorOutOfMinMax(const Expr& e, BinaryOp op, LinearForm a, LinearForm b) {
  const int64_t factor = FactorOf(a, b);
  if (factor != 1) {
    DivideBy(a, factor);
    DivideBy(b, factor);
    LinearForm result = FormOfMinMax(e, factor > 0 ? op : Opposite(op), std::move(a), std::move(b));
    result.Scale(factor);
    return result;
  }
  if (!IsOneTerm(a) || !IsOneTerm(b)) return std::nullopt;
  const Term &x = a.terms[0], &y = b.terms[0];
  const bool are_quotients =
      x.scale == 1 && y.scale == 1 && x.lower > 1 && x.lower == y.lower && x.upper == kNoUpper && y.upper == kNoUpper;
  if (!are_quotients) return std::nullopt;
  return DivConst(FormOfMinMax(e, op, Form(x.source), Form(y.source)), x.lower, e.dtype());
}

const LinearForm* Canonicalizer::Absorbed(BinaryOp op, const LinearForm& a, const LinearForm& b) {
  for (const auto& [outer, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Binary* inner = AsMinMax(*outer);
    if (inner == nullptr) continue;
    for (const Expr& operand : {inner->a, inner->b}) {
      if (Combine(Form(operand), *other, -1).IsZero()) return inner->op == op ? outer : other;
    }
  }
  return nullptr;
}

LinearForm Canonicalizer::FormOfMinMax(const Expr& e, BinaryOp op, LinearForm a, LinearForm b) {
  const bool is_min = op == BinaryOp::kMin;
  const LinearForm difference = Combine(a, b, -1);
  LinearForm negated = difference;
  negated.Scale(-1);
  if (IsNonNegative(difference)) return is_min ? b : a;
  if (IsNonNegative(negated)) return is_min ? a : b;
  if (const LinearForm* kept = Absorbed(op, a, b)) return *kept;
  if (std::optional<LinearForm> simpler = SharedOutOfMinMax(e, op, a, b)) return *std::move(simpler);
  if (std::optional<LinearForm> simpler = FactorOutOfMinMax(e, op, a, b)) return *std::move(simpler);
  const IntBound x = Bound(a), y = Bound(b);
  const IntBound bound = is_min ? IntBound{std::min(x.min, y.min), std::min(x.max, y.max)}
                                : IntBound{std::max(x.min, y.min), std::max(x.max, y.max)};
  // min(min(x, c), d) = min(x, min(c, d))
  const LinearForm &chain = a.is_const() ? b : a, &limit = a.is_const() ? a : b;
  const Binary* inner = limit.is_const() && chain.terms.size() == 1 && chain.constant == 0 &&
                                chain.terms[0].scale == 1 && chain.terms[0].is_whole()
                            ? chain.terms[0].source.As<Binary>()
                            : nullptr;
  if (inner != nullptr && inner->op == op) {
    const bool is_first = AsIntConst(inner->a) != nullptr;
    if (const int64_t* constant = AsIntConst(is_first ? inner->a : inner->b)) {
      const int64_t folded = is_min ? std::min(*constant, limit.constant) : std::max(*constant, limit.constant);
      if (folded == *constant) return chain;
      return Opaque(MakeBinary(op, is_first ? inner->b : inner->a, IntConst(e.dtype(), folded)), bound);
    }
  }
  if (!FitsIn(a, e.dtype()) || !FitsIn(b, e.dtype())) return Opaque(e, bound);
  Expr result = MakeBinary(op, FormToExpr(a, e.dtype()), FormToExpr(b, e.dtype()));
  return Opaque(SameExpr(result, e) ? e : std::move(result), bound);
}

void Canonicalizer::DistributeMinMax(LinearForm& form, DataType type) {
  if (form.terms.size() < 2) return;
  for (size_t i = 0; i < form.terms.size(); ++i) {
    const Term& term = form.terms[i];
    const Binary* op = term.source.As<Binary>();
    if (op == nullptr || (op->op != BinaryOp::kMin && op->op != BinaryOp::kMax)) continue;
    if (!term.is_whole() || (term.scale != 1 && term.scale != -1)) continue;
    is_settled_ = false;
    LinearForm rest = form;
    rest.terms.erase(rest.terms.begin() + i);
    LinearForm a = rest, b = std::move(rest);
    AddForm(a, Form(op->a), term.scale);
    AddForm(b, Form(op->b), term.scale);
    if ((!a.is_const() && !b.is_const()) || !FitsIn(a, type) || !FitsIn(b, type)) continue;
    const bool is_min = (op->op == BinaryOp::kMin) == (term.scale == 1);
    form = FormOfMinMax(IntConst(type, 0), is_min ? BinaryOp::kMin : BinaryOp::kMax, std::move(a), std::move(b));
    return;
  }
}

}  // namespace lathe
