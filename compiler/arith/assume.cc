// What a condition that holds says about the variables in it.
#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

VarFacts FactsOf(const Facts& facts, const Var& var) {
  const VarFacts* known = facts.Find(var.get());
  return known != nullptr ? *known : VarFacts{BoundOfVar(var), {}, nullptr};
}

void LearnModular(Facts& facts, const Var& var, ModularSet modular) {
  VarFacts known = FactsOf(facts, var);
  if (known.modular.coeff == 0 || known.modular.coeff % modular.coeff == 0) return;
  known.modular = modular;
  facts.Set(var, std::move(known));
}

// x % c == k or truncmod(x, c) == k, as forms; then the remainder of x is known.
void LearnRemainder(Facts& facts, const LinearForm& a, const LinearForm& b) {
  if (a.terms.size() != 1 || a.constant != 0 || !b.is_const()) return;
  const Term& term = a.terms[0];
  if (term.scale != 1 || term.lower != 1) return;
  const Binary* op = term.source.As<Binary>();
  if (op != nullptr && op->op == BinaryOp::kTruncMod && IsVar(op->a) && term.is_whole()) {
    const int64_t* divisor = AsIntConst(op->b);
    if (divisor == nullptr || *divisor <= 0 || std::abs(b.constant) >= *divisor) return;
    return LearnModular(facts, Var(op->a), {*divisor, FloorModulo(b.constant, *divisor)});
  }
  if (term.upper == kNoUpper || !IsVar(term.source) || b.constant < 0 || b.constant >= term.upper) return;
  LearnModular(facts, Var(term.source), {term.upper, b.constant});
}

}  // namespace

void LearnNonNegative(Facts& facts, const LinearForm& form) {
  if (form.has_overflowed || form.is_const()) return;
  if (form.terms.size() > 1 || !form.terms[0].is_whole() || !IsVar(form.terms[0].source))
    return facts.AddNonNegative(form);
  const Term& term = form.terms[0];  // scale * x + constant >= 0
  if (form.constant == IntBound::kNegInf || term.scale == IntBound::kNegInf) return;
  const Var var(term.source);
  VarFacts known = FactsOf(facts, var);
  if (term.scale > 0) known.bound.min = std::max(known.bound.min, -FloorDivide(form.constant, term.scale));
  if (term.scale < 0) known.bound.max = std::min(known.bound.max, FloorDivide(form.constant, -term.scale));
  facts.Set(var, std::move(known));
}

// x // 3 <= 4 is x <= 14, x // 3 >= 4 is x >= 12.
std::optional<LinearForm> Canonicalizer::WithoutQuotient(const LinearForm& form) {
  const auto is_quotient = [](const Term& term) {
    return term.lower > 1 && term.upper == kNoUpper && std::abs(term.scale) == 1;
  };
  const auto found = std::find_if(form.terms.begin(), form.terms.end(), is_quotient);
  if (form.has_overflowed || found == form.terms.end()) return std::nullopt;
  LinearForm quotient;
  quotient.terms.push_back(*found);
  LinearForm rest = Combine(form, quotient, -1);
  rest.Scale(found->lower);
  if (found->scale < 0) rest.AddConstant(found->lower - 1);
  AddForm(rest, Form(found->source), found->scale);
  return rest.has_overflowed ? std::nullopt : std::optional(std::move(rest));
}

void Canonicalizer::Learn(const Expr& condition, Facts& facts, bool about_dividends) {
  if (!condition.dtype().is_scalar()) return;
  if (const Not* negated = condition.As<Not>()) {
    const Expr opposite = Negated(negated->a);
    if (opposite.As<Not>() == nullptr) Learn(opposite, facts, about_dividends);
    return;
  }
  const Call* call = condition.As<Call>();
  if (call != nullptr && call->op == LikelyOp()) return Learn(call->args[0], facts, about_dividends);
  const Binary* op = condition.As<Binary>();
  if (op == nullptr) return;
  if (op->op == BinaryOp::kAnd) {
    Learn(op->a, facts, about_dividends);
    return Learn(op->b, facts, about_dividends);
  }
  if (!IsIndexType(op->a.dtype())) return;
  const LinearForm a = Form(op->a), b = Form(op->b);
  const auto at_most = [&](const LinearForm& low, const LinearForm& high, int64_t gap) {  // low + gap <= high
    LinearForm form = Combine(high, low, -1);
    form.AddConstant(-gap);
    LearnNonNegative(facts, form);
    const std::optional<LinearForm> whole = about_dividends ? WithoutQuotient(form) : std::nullopt;
    if (whole) LearnNonNegative(facts, *whole);
  };
  switch (op->op) {
    case BinaryOp::kLT:
      return at_most(a, b, 1);
    case BinaryOp::kLE:
      return at_most(a, b, 0);
    case BinaryOp::kGT:
      return at_most(b, a, 1);
    case BinaryOp::kGE:
      return at_most(b, a, 0);
    case BinaryOp::kEQ:
      LearnRemainder(facts, a, b);
      at_most(a, b, 0);
      return at_most(b, a, 0);
    default:
      return;
  }
}

}  // namespace lathe
