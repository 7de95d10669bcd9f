#include "compiler/arith/analyzer.h"

#include <algorithm>
#include <numeric>

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

// What is in a condition that Simplify may not have decided.
struct Ingredients {
  bool has_min_max = false, has_quotient = false;
};
Ingredients IngredientsOf(const Expr& e) {
  Ingredients found;
  PostOrderVisit(e, [&](const Expr& part) {
    const Binary* op = part.As<Binary>();
    if (op == nullptr) return;
    found.has_min_max |= op->op == BinaryOp::kMin || op->op == BinaryOp::kMax;
    found.has_quotient |= op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod;
  });
  return found;
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

// b - a, less 1 where a is to be less than b.
LinearForm GapOf(Canonicalizer& canonical, const Binary& op) {
  LinearForm gap = Combine(canonical.Form(op.b), canonical.Form(op.a), -1);
  if (op.op == BinaryOp::kLT) gap.AddConstant(-1);
  return gap;
}

// a // 3 <= b // 3 where a <= b.
bool AreQuotientsBelow(const Analyzer& analyzer, const Binary& op) {
  Canonicalizer canonical(analyzer);
  const LinearForm gap = GapOf(canonical, op);
  if (gap.has_overflowed || gap.terms.size() != 2 || gap.constant < 0) return false;
  const bool is_first = gap.terms[0].scale > 0;
  const Term &high = gap.terms[is_first ? 0 : 1], &low = gap.terms[is_first ? 1 : 0];
  return high.scale > 0 && high.scale == -low.scale && high.lower > 1 && high.lower == low.lower &&
         high.upper == kNoUpper && low.upper == kNoUpper && high.source.dtype() == low.source.dtype() &&
         analyzer.CanProve(LessEqual(low.source, high.source));
}

// A form that is nowhere more: 0 for x % n, and n - 1 for it where it is subtracted.
LinearForm WithoutRemainders(Canonicalizer& canonical, const LinearForm& form) {
  LinearForm whole;
  whole.constant = form.constant;
  whole.has_overflowed = form.has_overflowed;
  for (const Term& term : form.terms) {
    const Binary* op = term.is_whole() ? term.source.As<Binary>() : nullptr;
    LinearForm bound;
    if (op != nullptr && op->op == BinaryOp::kFloorMod) {
      bound = canonical.Form(op->b);
      bound.AddConstant(-1);
    }
    if (bound.is_const() || !canonical.IsNonNegative(bound))
      whole.terms.push_back(term);
    else if (term.scale < 0)
      canonical.AddForm(whole, bound, term.scale);
  }
  return whole;
}

// A form that is nowhere more where it is not negative: y * n + n - 1 - x for y - x // n, where n is at least 1. A
// product y * n that wraps is less than it should be where neither is negative.
std::optional<LinearForm> WithoutQuotientBy(Canonicalizer& canonical, const LinearForm& form, const Term& quotient) {
  const Binary* op = quotient.is_whole() && quotient.scale == -1 ? quotient.source.As<Binary>() : nullptr;
  if (op == nullptr || op->op != BinaryOp::kFloorDiv) return std::nullopt;
  const LinearForm divisor = canonical.Form(op->b);
  LinearForm last = divisor, whole;
  last.AddConstant(-1);
  if (divisor.is_const() || !canonical.IsNonNegative(last)) return std::nullopt;
  whole = last;
  canonical.AddForm(whole, divisor, form.constant);
  for (const Term& term : form.terms) {
    if (&term == &quotient) continue;
    LinearForm factor;
    factor.terms.push_back(term);
    if (!term.is_whole() || term.scale < 0 || !canonical.IsNonNegative(factor)) return std::nullopt;
    canonical.AddForm(whole, canonical.Form(term.source * op->b), term.scale);
  }
  canonical.AddForm(whole, canonical.Form(op->a), -1);
  return whole;
}

bool IsPartBelow(const Analyzer& analyzer, const Binary& op) {
  Canonicalizer canonical(analyzer);
  return canonical.IsPartNonNegative(GapOf(canonical, op));
}

// x // 3 <= y where x <= 3 * y + 2, and x % n < n.
bool IsQuotientBelow(const Analyzer& analyzer, const Binary& op) {
  Canonicalizer canonical(analyzer);
  const LinearForm gap = WithoutRemainders(canonical, GapOf(canonical, op));
  if (canonical.IsNonNegative(gap)) return true;
  const std::optional<LinearForm> whole = canonical.WithoutQuotient(gap);
  if (whole && canonical.IsNonNegative(*whole)) return true;
  return std::any_of(gap.terms.begin(), gap.terms.end(), [&](const Term& term) {
    const std::optional<LinearForm> less = WithoutQuotientBy(canonical, gap, term);
    return less && canonical.IsNonNegative(*less);
  });
}

// Writes quotients by constants in one way: (x * 64 + y % 24 + 63) // 24 is x * 2 + 2 - y // 24 + (x * 16 + y + 15) //
// 24, and (x * 16 + 15) // 24 is (x * 2 + 1) // 3.
class QuotientReducer {
 public:
  QuotientReducer(Canonicalizer& canonical, DataType type) : canonical_(canonical), type_(type) {}

  LinearForm Reduce(const LinearForm& form) {
    LinearForm sum;
    sum.constant = form.constant;
    sum.has_overflowed = form.has_overflowed;
    for (const Term& term : form.terms) {
      const bool is_quotient = term.lower > 1 && term.upper == kNoUpper;
      canonical_.AddForm(sum, is_quotient ? ReduceTerm(term) : FormOf(term), 1);
    }
    return sum;
  }

 private:
  static LinearForm FormOf(const Term& term) {
    LinearForm form;
    form.terms.push_back(term);
    return form;
  }
  // source // divisor, times the term's scale.
  LinearForm ReduceTerm(const Term& term) {
    const int64_t divisor = term.lower;
    LinearForm result, inside;
    const LinearForm source = canonical_.Form(term.source);
    inside.constant = source.constant;
    for (const Term& part : source.terms) {
      const bool is_rest = part.lower == 1 && part.upper == divisor && part.scale == 1;
      canonical_.AddForm(inside, is_rest ? canonical_.Form(part.source) : FormOf(part), 1);
      if (is_rest) canonical_.AddForm(result, ReduceTerm({part.source, 1, divisor, kNoUpper, part.source_bound}), -1);
    }
    LinearForm rest;
    rest.constant = FloorModulo(inside.constant, divisor);
    result.AddConstant(FloorDivide(inside.constant, divisor));
    for (const Term& part : inside.terms) {
      Term whole = part, left = part;
      whole.scale = part.is_whole() ? FloorDivide(part.scale, divisor) : 0;
      left.scale = part.scale - whole.scale * divisor;
      if (whole.scale != 0) canonical_.AddForm(result, FormOf(whole), 1);
      if (left.scale != 0) canonical_.AddForm(rest, FormOf(left), 1);
    }
    canonical_.AddForm(result, Divided(std::move(rest), divisor), 1);
    result.Scale(term.scale);
    return result;
  }
  LinearForm Divided(LinearForm rest, int64_t divisor) {
    if (rest.is_const()) return {{}, FloorDivide(rest.constant, divisor), rest.has_overflowed};
    const int64_t shared = std::gcd(GcdOfScales(rest), divisor);
    for (Term& term : rest.terms) term.scale /= shared;
    rest.constant = FloorDivide(rest.constant, shared);
    const IntBound bound = BoundOf(rest), type = TypeBound(type_);
    if (!FitsIn(rest, type_) || !bound.Within(type.min, type.max)) return {{}, 0, true};
    if (divisor == shared) return rest;
    return FormOf({FormToExpr(rest, type_), 1, divisor / shared, kNoUpper, bound});
  }

  Canonicalizer& canonical_;
  const DataType type_;
};

bool IsBelowReduced(const Analyzer& analyzer, const Binary& op) {
  Canonicalizer canonical(analyzer);
  const LinearForm reduced = QuotientReducer(canonical, op.a.dtype()).Reduce(GapOf(canonical, op));
  return !reduced.has_overflowed && canonical.IsNonNegative(reduced);
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

void Analyzer::Assume(const Expr& condition) {
  Canonicalizer(*this).Learn(condition, facts_, /*about_dividends=*/true);
}

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
  const Ingredients in = IngredientsOf(condition);
  return IsPartBelow(*this, *op) || (in.has_min_max && (ArePartsBelow(*this, *op) || AreQuotientsBelow(*this, *op))) ||
         (in.has_quotient && (IsQuotientBelow(*this, *op) || IsBelowReduced(*this, *op)));
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
