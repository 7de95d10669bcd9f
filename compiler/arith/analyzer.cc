#include "compiler/arith/analyzer.h"

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Without its value: an update takes its place.
VarFacts KnownFacts(const Facts& facts, const Var& var) {
  const VarFacts* known = facts.Find(var.get());
  if (known == nullptr) return {BoundOfVar(var), {}, nullptr};
  return {known->bound, known->modular, nullptr};
}

// Knows what the variable of the let is worth.
Analyzer Inside(const Analyzer& outer, const Let& let) {
  Analyzer inner = Analyzer::Under(outer);
  inner.Bind(let.var, let.value);
  return inner;
}

// Of what is no index: vectors of indices, and casts that keep the value.
IntBound BoundOfOther(const Analyzer& analyzer, const Expr& e) {
  const IntBound type = TypeBound(e.dtype());
  if (const Broadcast* broadcast = e.As<Broadcast>()) return analyzer.ConstIntBound(broadcast->value);
  const Ramp* ramp = e.As<Ramp>();
  if (ramp != nullptr && IsIndexType(ramp->base.dtype()) && !e.dtype().is_scalable) {
    const IntBound last = ScaleBound(analyzer.ConstIntBound(ramp->stride), e.dtype().lanes - 1);
    return AddBounds(analyzer.ConstIntBound(ramp->base), UnionBound({0, 0}, last));
  }
  const Cast* cast = e.As<Cast>();
  if (cast == nullptr || !e.dtype().is_int() || !cast->value.dtype().is_int()) return type;
  const IntBound value = analyzer.ConstIntBound(cast->value);
  return value.Within(type.min, type.max) ? value : type;
}

bool HasMinOrMax(const Expr& e) {
  bool has = false;
  PostOrderVisit(e, [&](const Expr& part) {
    const Binary* op = part.As<Binary>();
    has |= op != nullptr && (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax);
  });
  return has;
}

// max(a, b) <= c where a and b are, a <= min(b, c) where it is at most each.
bool ArePartsBelow(const Analyzer& analyzer, const Binary& op) {
  const std::vector<Expr> lows = PartsOf(op.a, BinaryOp::kMax), highs = PartsOf(op.b, BinaryOp::kMin);
  if (lows.size() * highs.size() == 1) return false;
  return std::all_of(lows.begin(), lows.end(), [&](const Expr& low) {
    return std::all_of(highs.begin(), highs.end(),
                       [&](const Expr& high) { return analyzer.CanProve(FoldBinary(op.op, low, high)); });
  });
}

// a // 3 <= b // 3 where a <= b.
bool AreQuotientsBelow(const Analyzer& analyzer, const Binary& op) {
  Canonicalizer canonical(analyzer);
  LinearForm gap = Combine(canonical.Form(op.b), canonical.Form(op.a), -1);
  if (op.op == BinaryOp::kLT) gap.AddConstant(-1);
  if (gap.has_overflowed || gap.terms.size() != 2 || gap.constant < 0) return false;
  const bool is_first = gap.terms[0].scale > 0;
  const Term &high = gap.terms[is_first ? 0 : 1], &low = gap.terms[is_first ? 1 : 0];
  return high.scale > 0 && high.scale == -low.scale && high.lower > 1 && high.lower == low.lower &&
         high.upper == kNoUpper && low.upper == kNoUpper && high.source.dtype() == low.source.dtype() &&
         analyzer.CanProve(LessEqual(low.source, high.source));
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
  if (const Let* let = e.As<Let>()) return Inside(*this, *let).ConstIntBound(let->body);
  if (!IsIndexType(e.dtype())) return BoundOfOther(*this, e);
  Canonicalizer canonical(*this);
  return canonical.Bound(canonical.Form(e));
}

ModularSet Analyzer::Modular(const Expr& e) const {
  if (const int64_t* value = AsIntConst(e)) return {0, *value};
  if (const Let* let = e.As<Let>()) return Inside(*this, *let).Modular(let->body);
  Canonicalizer canonical(*this);
  if (!IsIndexType(e.dtype())) return canonical.ModularOfCast(e);
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
  if (const int64_t* known = AsIntConst(simple)) return *known != 0;
  const Binary* op = condition.As<Binary>();
  if (op == nullptr || (op->op != BinaryOp::kLE && op->op != BinaryOp::kLT) || !IsIndexType(op->a.dtype()))
    return false;
  return HasMinOrMax(condition) && (ArePartsBelow(*this, *op) || AreQuotientsBelow(*this, *op));
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
