#include "compiler/arith/analyzer.h"

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

// Without its value: an update takes its place.
VarFacts KnownFacts(const Facts& facts, const Var& var) {
  const VarFacts* known = facts.Find(var.get());
  if (known == nullptr) return {TypeBound(var.dtype()), {}, nullptr};
  return {known->bound, known->modular, nullptr};
}

}  // namespace

void Analyzer::Bind(const Var& var, const Range& range) {
  const int64_t* min = AsIntConst(range.min);
  const int64_t* extent = AsIntConst(range.extent);
  int64_t last;
  if (min != nullptr && extent != nullptr && *extent > 0 && !__builtin_add_overflow(*min, *extent - 1, &last)) {
    facts_.Forget(var);
    return facts_.Set(var, {{*min, last}, {}, nullptr});
  }
  if (!IsIndexType(var.dtype())) return facts_.Forget(var);
  if (extent != nullptr && *extent == 1) return Bind(var, range.min);
  LinearForm low, high;
  {
    Canonicalizer canonical(*this);
    low = canonical.Form(range.min);
    high = Combine(low, canonical.Form(range.extent), 1);  // min + extent - 1
  }
  high.AddConstant(-1);
  facts_.Forget(var);
  const IntBound type = TypeBound(var.dtype());
  const IntBound bound{std::max(BoundOf(low).min, type.min), std::min(BoundOf(high).max, type.max)};
  facts_.Set(var, {bound, {}, nullptr});
  LinearForm self;
  self.terms.push_back({var, 1, 1, kNoUpper, bound});
  if (!low.is_const()) LearnNonNegative(facts_, Combine(self, low, -1));
  if (!high.is_const()) LearnNonNegative(facts_, Combine(high, self, -1));
}

void Analyzer::Bind(const Var& var, const Expr& value) {
  if (!IsIndexType(var.dtype()) || !IsIndexType(value.dtype())) return facts_.Forget(var);
  Canonicalizer canonical(*this);
  LinearForm form = canonical.Form(value);
  const IntBound bound = canonical.Bound(form);
  const ModularSet modular = canonical.Modular(form);
  facts_.Forget(var);
  if (!FitsIn(form, var.dtype())) return;
  facts_.Set(var, {bound, modular, std::make_shared<const LinearForm>(std::move(form))});
}

void Analyzer::Update(const Var& var, IntBound bound) {
  VarFacts facts = KnownFacts(facts_, var);
  facts.bound = bound;
  facts_.Set(var, std::move(facts));
}

void Analyzer::Update(const Var& var, ModularSet modular) {
  VarFacts facts = KnownFacts(facts_, var);
  facts.modular = modular;
  facts_.Set(var, std::move(facts));
}

void Analyzer::Assume(const Expr& condition) { Canonicalizer(*this).Learn(condition, facts_); }

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
  if (e.As<IntImm>() != nullptr || (IsVar(e) && facts_.Find(e.get()) == nullptr)) return e;
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

}  // namespace lathe
