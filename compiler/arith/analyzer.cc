#include "compiler/arith/analyzer.h"

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"

namespace lathe {

const Analyzer::VarFacts* Analyzer::Find(const ExprNode* var) const {
  for (const VarFacts& facts : vars_) {
    if (facts.var.get() == var) return &facts;
  }
  return nullptr;
}

Analyzer::VarFacts& Analyzer::FactsOf(const Var& var) {
  for (VarFacts& facts : vars_) {
    if (facts.var.get() == var.get()) return facts;
  }
  vars_.push_back({var, TypeBound(var.dtype()), {}, nullptr});
  return vars_.back();
}

Analyzer::VarFacts& Analyzer::ForgetFactsOf(const Var& var) {
  VarFacts& facts = FactsOf(var);
  facts = {var, TypeBound(var.dtype()), {}, nullptr};
  const auto mentions = [&](const LinearForm& form) {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const Term& term) {
      return UsesVar(term.source, [&](const ExprNode* used) { return used == var.get(); });
    });
  };
  std::erase_if(non_negative_, [&](const auto& form) { return mentions(*form); });
  for (VarFacts& other : vars_) {
    if (other.value != nullptr && mentions(*other.value))
      other = {other.var, TypeBound(other.var.dtype()), {}, nullptr};
  }
  return facts;
}

void Analyzer::Bind(const Var& var, const Range& range) {
  const int64_t* min = AsIntConst(range.min);
  const int64_t* extent = AsIntConst(range.extent);
  int64_t last;
  if (min != nullptr && extent != nullptr && *extent > 0 && !__builtin_add_overflow(*min, *extent - 1, &last)) {
    ForgetFactsOf(var).bound = {*min, last};
    return;
  }
  if (!IsIndexType(var.dtype())) return;
  if (extent != nullptr && *extent == 1) return Bind(var, range.min);
  Canonicalizer canonical(*this);
  LinearForm low = canonical.Form(range.min), high = low;  // high = min + extent - 1
  high = Combine(high, canonical.Form(range.extent), 1);
  high.AddConstant(-1);
  VarFacts& facts = ForgetFactsOf(var);
  facts.bound = {std::max(BoundOf(low).min, facts.bound.min), std::min(BoundOf(high).max, facts.bound.max)};
  LinearForm self;
  self.terms.push_back({var, 1, 1, kNoUpper, facts.bound});
  if (!low.is_const()) AssumeNonNegative(Combine(self, low, -1));
  if (!high.is_const()) AssumeNonNegative(Combine(high, self, -1));
}

void Analyzer::Bind(const Var& var, const Expr& value) {
  if (!IsIndexType(var.dtype()) || !IsIndexType(value.dtype())) return;
  Canonicalizer canonical(*this);
  LinearForm form = canonical.Form(value);
  if (!FitsIn(form, var.dtype())) return;
  const IntBound bound = canonical.Bound(form);
  const ModularSet modular = canonical.Modular(form);
  ForgetFactsOf(var) = {var, bound, modular, std::make_shared<const LinearForm>(std::move(form))};
}

void Analyzer::AssumeNonNegative(const LinearForm& form) {
  if (form.has_overflowed || form.is_const()) return;
  if (form.terms.size() == 1 && form.terms[0].is_whole() && IsVar(form.terms[0].source)) {  // s*x + c >= 0
    const Term& term = form.terms[0];
    VarFacts& facts = FactsOf(Var(term.source));
    if (form.constant == IntBound::kNegInf || term.scale == IntBound::kNegInf) return;
    if (term.scale > 0) facts.bound.min = std::max(facts.bound.min, -FloorDivide(form.constant, term.scale));
    if (term.scale < 0) facts.bound.max = std::min(facts.bound.max, FloorDivide(form.constant, -term.scale));
    return;
  }
  non_negative_.push_back(std::make_shared<const LinearForm>(form));
}

void Analyzer::Assume(const Expr& condition) {
  const Binary* op = condition.As<Binary>();
  if (op == nullptr || !condition.dtype().is_scalar()) return;
  if (op->op == BinaryOp::kAnd) {
    Assume(op->a);
    Assume(op->b);
    return;
  }
  if (!IsIndexType(op->a.dtype())) return;
  Canonicalizer canonical(*this);
  const LinearForm a = canonical.Form(op->a), b = canonical.Form(op->b);
  const auto at_most = [&](const LinearForm& low, const LinearForm& high, int64_t gap) {  // low + gap <= high
    LinearForm form = Combine(high, low, -1);
    form.AddConstant(-gap);
    AssumeNonNegative(form);
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
    case BinaryOp::kEQ: {
      if (a.terms.size() == 1 && a.constant == 0 && a.terms[0].scale == 1 && b.is_const()) {
        const Term& term = a.terms[0];
        if (term.lower == 1 && term.upper != kNoUpper && IsVar(term.source) && b.constant >= 0 &&
            b.constant < term.upper) {
          FactsOf(Var(term.source)).modular = {term.upper, b.constant};  // x % c == b
        }
      }
      at_most(a, b, 0);
      return at_most(b, a, 0);
    }
    default:
      return;
  }
}

IntBound Analyzer::ConstIntBound(const Expr& e) const {
  if (const int64_t* value = AsIntConst(e)) return {*value, *value};
  if (!IsIndexType(e.dtype())) return TypeBound(e.dtype());
  Canonicalizer canonical(*this);
  return canonical.Bound(canonical.Form(e));
}

ModularSet Analyzer::Modular(const Expr& e) const {
  if (const int64_t* value = AsIntConst(e)) return {0, *value};
  if (!IsIndexType(e.dtype())) return {};
  Canonicalizer canonical(*this);
  return canonical.Modular(canonical.Form(e));
}

Expr Analyzer::Simplify(const Expr& e) const {
  if (e.As<IntImm>() != nullptr || (IsVar(e) && Find(e.get()) == nullptr)) return e;
  Expr result = e;
  for (int pass = 0; pass < 4; ++pass) {
    Canonicalizer canonical(*this);
    Expr next = canonical.Rewrite(result);
    if (canonical.is_settled() || next.same_as(result)) return next;
    result = std::move(next);
  }
  return result;
}

bool Analyzer::CanProve(const Expr& condition) const {
  const Expr simple = Simplify(condition);
  const int64_t* known = AsIntConst(simple);
  return known != nullptr && *known != 0;
}

bool Analyzer::CanProveEqual(const Expr& a, const Expr& b) const {
  if (a.same_as(b)) return true;
  if (const int64_t* x = AsIntConst(a)) {
    if (const int64_t* y = AsIntConst(b)) return *x == *y;
  }
  if (!IsIndexType(a.dtype()) || !IsIndexType(b.dtype())) return SameExpr(Simplify(a), Simplify(b));
  return CanProve(Equal(a, b));
}

bool Analyzer::CanProveLess(const Expr& e, int64_t bound) const {
  const IntBound range = ConstIntBound(e);
  return range.max != IntBound::kPosInf && range.max < bound;
}

bool Analyzer::CanProveGreaterEqual(const Expr& e, int64_t bound) const {
  const IntBound range = ConstIntBound(e);
  return range.min != IntBound::kNegInf && range.min >= bound;
}

WithConstraint::WithConstraint(Analyzer& analyzer, const Expr& condition)
    : analyzer_(analyzer), saved_vars_(analyzer.vars_), saved_non_negative_(analyzer.non_negative_) {
  analyzer_.Assume(condition);
}

WithConstraint::~WithConstraint() {
  analyzer_.vars_ = std::move(saved_vars_);
  analyzer_.non_negative_ = std::move(saved_non_negative_);
}

}  // namespace lathe
