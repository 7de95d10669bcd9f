#include "compiler/arith/int_set.h"

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/int_set_by_sign.h"
#include "compiler/arith/linear.h"

namespace lathe {

IntSet IntSet::Nothing() {
  IntSet set;
  set.is_nothing_ = true;
  return set;
}

IntSet IntSet::Interval(std::optional<Expr> min, std::optional<Expr> max) {
  IntSet set;
  set.min_ = std::move(min);
  set.max_ = std::move(max);
  return set;
}

IntSet IntSet::FromRange(const Range& range) {
  if (const int64_t* extent = AsIntConst(range.extent)) {
    if (*extent <= 0) return Nothing();
    if (*extent == 1) return Point(range.min);
    int64_t last;
    const int64_t* min = AsIntConst(range.min);
    if (min != nullptr && !__builtin_add_overflow(*min, *extent - 1, &last) &&
        TypeBound(range.min.dtype()).Contains(last))
      return Interval(range.min, IntConst(range.min.dtype(), last));
  }
  return Interval(range.min, range.min + (MakeCast(range.min.dtype(), range.extent) - 1));
}

std::optional<Range> IntSet::ToRange(const Analyzer& analyzer) const {
  if (!is_bounded()) return std::nullopt;
  if (is_point()) return Range{*min_, IntConst(min_->dtype(), 1)};
  return Range{analyzer.Simplify(*min_), analyzer.Simplify(*max_ - *min_ + 1)};
}

const IntSet* DomMap::Find(const ExprNode* var) const {
  for (const auto& [key, set] : items_) {
    if (key.get() == var) return &set;
  }
  return nullptr;
}

namespace {

class SetEvaluator {
 public:
  SetEvaluator(const DomMap& vars, const Analyzer& analyzer, bool chooses_by_sign)
      : vars_(vars), analyzer_(analyzer), canonical_(analyzer), chooses_by_sign_(chooses_by_sign) {}

  IntSet Eval(const Expr& e);

 private:
  // An interval of linear forms; an end left out is unbounded.
  struct Ends {
    std::optional<LinearForm> min, max;
  };

  bool IsRelaxed(const Expr& e) const {
    return UsesVar(e, [&](const ExprNode* var) { return vars_.Find(var) != nullptr; });
  }
  Ends EvalForm(const LinearForm& form, DataType type);
  IntSet EvalTerm(const Term& term, DataType type);
  std::optional<int64_t> StepsInPeriod(const IntSet& set, int64_t period) const;
  IntSet EvalRemainder(const IntSet& set, int64_t period, DataType type) const;
  IntSet EvalSource(const Expr& source);
  IntSet EvalMul(const Expr& source, const Expr& a, const Expr& b);
  IntSet EvalQuotient(const Expr& source, const Binary& op);
  IntSet EvalRemainderBy(const Expr& source, const Binary& op);
  IntSet EvalMinMax(const Binary& op);
  IntSet EvalCast(const Expr& source, const Cast& cast);
  IntSet ConstantSet(const Expr& e) const;

  const DomMap& vars_;
  const Analyzer& analyzer_;
  Canonicalizer canonical_;
  const bool chooses_by_sign_;
  int budget_ = 500;  // Then constant bounds have to do.
};

IntSet SetEvaluator::Eval(const Expr& e) {
  if (vars_.empty()) return IntSet::Point(e);
  if (const IntSet* set = vars_.Find(e.get())) return *set;
  if (!IsRelaxed(e)) return IntSet::Point(analyzer_.Simplify(e));
  if (!IsIndexType(e.dtype()) || --budget_ <= 0) return ConstantSet(e);
  for (const auto& [var, set] : vars_.items()) {
    if (set.is_nothing()) return IntSet::Nothing();
  }
  const LinearForm form = canonical_.Form(e);
  if (!FitsIn(form, e.dtype())) return IntSet::Everything();
  const Ends ends = EvalForm(form, e.dtype());
  const auto to_expr = [&](const std::optional<LinearForm>& end) -> std::optional<Expr> {
    if (!end || !FitsIn(*end, e.dtype())) return std::nullopt;
    return FormToExpr(*end, e.dtype());
  };
  return IntSet::Interval(to_expr(ends.min), to_expr(ends.max));
}

SetEvaluator::Ends SetEvaluator::EvalForm(const LinearForm& form, DataType type) {
  LinearForm fixed;
  fixed.constant = form.constant;
  Ends ends{fixed, fixed};
  const auto add = [&](std::optional<LinearForm>& end, const std::optional<Expr>& value, int64_t scale) {
    if (!end) return;
    if (value)
      canonical_.AddForm(*end, canonical_.Form(*value), scale);
    else
      end.reset();
  };
  for (const Term& term : form.terms) {
    const IntSet set = EvalTerm(term, type);
    add(ends.min, term.scale > 0 ? set.min() : set.max(), term.scale);
    add(ends.max, term.scale > 0 ? set.max() : set.min(), term.scale);
  }
  return ends;
}

// How many steps of 1 a set has that does not reach from one period into the next, by what its first is known to leave:
// i * 4 + [0, 3] has 3 within 12, for i * 4 leaves at most 8. nullopt: not known.
std::optional<int64_t> SetEvaluator::StepsInPeriod(const IntSet& set, int64_t period) const {
  if (!set.is_bounded()) return std::nullopt;
  const Expr length = analyzer_.Simplify(*set.max() - *set.min());
  const int64_t* steps = AsIntConst(length);
  if (steps == nullptr) return std::nullopt;
  const ModularSet first = analyzer_.Modular(*set.min());
  const bool fits =
      first.coeff > 0 && period % first.coeff == 0 && *steps < period && first.base + *steps < first.coeff;
  return fits ? std::optional(*steps) : std::nullopt;
}

// What a set leaves when divided by `period`.
IntSet SetEvaluator::EvalRemainder(const IntSet& set, int64_t period, DataType type) const {
  const IntSet all = IntSet::Interval(IntConst(type, 0), IntConst(type, period - 1));
  if (!set.is_bounded()) return all;
  const Expr first = FloorMod(*set.min(), period);
  if (const auto steps = StepsInPeriod(set, period)) return IntSet::Interval(first, first + *steps);
  const bool is_in_one = analyzer_.CanProveEqual(FloorDiv(*set.min(), period), FloorDiv(*set.max(), period));
  return is_in_one ? IntSet::Interval(first, FloorMod(*set.max(), period)) : all;
}

IntSet SetEvaluator::EvalTerm(const Term& term, DataType type) {
  if (!IsRelaxed(term.source)) return IntSet::Point(TermToExpr(term, type));
  IntSet set = EvalSource(term.source);
  if (term.upper != kNoUpper) set = EvalRemainder(set, term.upper, type);
  if (term.lower == 1) return set;
  if (StepsInPeriod(set, term.lower)) return IntSet::Point(FloorDiv(*set.min(), term.lower));
  const auto divided = [&](const std::optional<Expr>& end) {
    return end ? std::optional(FloorDiv(*end, term.lower)) : std::nullopt;
  };
  return IntSet::Interval(divided(set.min()), divided(set.max()));
}

namespace {

bool IsPositiveConst(const Expr& e) {
  const int64_t* value = AsIntConst(e);
  return value != nullptr && *value > 0;
}

}  // namespace

// A variable, or what a linear form cannot take apart.
IntSet SetEvaluator::EvalSource(const Expr& source) {
  if (const IntSet* set = vars_.Find(source.get())) return *set;
  if (const auto choice = AsChoice(source))
    return Union(Eval(choice->true_value), Eval(choice->false_value), analyzer_);
  if (const Cast* cast = source.As<Cast>()) return EvalCast(source, *cast);
  const Binary* op = source.As<Binary>();
  if (op == nullptr) return ConstantSet(source);
  switch (op->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
      return Eval(source);
    case BinaryOp::kMul:
      return EvalMul(source, op->a, op->b);
    case BinaryOp::kFloorDiv:
      return IsPositiveConst(op->b) ? Eval(source) : EvalQuotient(source, *op);
    case BinaryOp::kFloorMod:
      return IsPositiveConst(op->b) ? Eval(source) : EvalRemainderBy(source, *op);
    case BinaryOp::kDiv:
      return EvalQuotient(source, *op);
    case BinaryOp::kTruncMod:
      return EvalRemainderBy(source, *op);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return EvalMinMax(*op);
    default:
      return ConstantSet(source);
  }
}

IntSet SetEvaluator::EvalMinMax(const Binary& op) {
  const IntSet a = Eval(op.a), b = Eval(op.b);
  const auto end = [&](const std::optional<Expr>& x, const std::optional<Expr>& y,
                       bool either_is_enough) -> std::optional<Expr> {
    if (x && y) return analyzer_.Simplify(FoldBinary(op.op, *x, *y));
    if (!either_is_enough) return std::nullopt;
    return x ? x : y;
  };
  return IntSet::Interval(end(a.min(), b.min(), op.op == BinaryOp::kMax),
                          end(a.max(), b.max(), op.op == BinaryOp::kMin));
}

// By what stays as it is a quotient rises or falls with its dividend.
IntSet SetEvaluator::EvalQuotient(const Expr& source, const Binary& op) {
  const bool rises = !IsRelaxed(op.b) && analyzer_.CanProveGreaterEqual(op.b, 1);
  if (!rises && (IsRelaxed(op.b) || !analyzer_.CanProveLess(op.b, 0))) return ConstantSet(source);
  const IntSet set = Eval(op.a);
  const auto divided = [&](const std::optional<Expr>& end) {
    return end ? std::optional(FoldBinary(op.op, *end, op.b)) : std::nullopt;
  };
  return rises ? IntSet::Interval(divided(set.min()), divided(set.max()))
               : IntSet::Interval(divided(set.max()), divided(set.min()));
}

// Of a divisor without constant bounds: from 0 to less than it.
IntSet SetEvaluator::EvalRemainderBy(const Expr& source, const Binary& op) {
  const IntSet constant = ConstantSet(source);
  if (constant.is_bounded() || IsRelaxed(op.b) || !analyzer_.CanProveGreaterEqual(op.b, 1)) return constant;
  if (op.op == BinaryOp::kTruncMod) {
    const IntSet set = Eval(op.a);
    if (!set.min() || !analyzer_.CanProveGreaterEqual(*set.min(), 0)) return constant;
  }
  return IntSet::Interval(IntConst(source.dtype(), 0), op.b - 1);
}

// To a type that holds as much, or whatever there is of it.
IntSet SetEvaluator::EvalCast(const Expr& source, const Cast& cast) {
  const DataType type = source.dtype(), from = cast.value.dtype();
  if (!IsIndexType(from)) return ConstantSet(source);
  const IntSet set = Eval(cast.value);
  const auto fits = [&](const std::optional<Expr>& end) {
    return end && analyzer_.ConstIntBound(*end).Within(TypeBound(type).min, TypeBound(type).max);
  };
  if (from.bits > type.bits && !(fits(set.min()) && fits(set.max()))) return ConstantSet(source);
  const auto widened = [&](const std::optional<Expr>& end) {
    return end ? std::optional(MakeCast(type, *end)) : std::nullopt;
  };
  return IntSet::Interval(widened(set.min()), widened(set.max()));
}

IntSet SetEvaluator::EvalMul(const Expr& source, const Expr& a, const Expr& b) {
  if (AsIntConst(b) != nullptr) return Eval(source);
  const bool a_is_fixed = !IsRelaxed(a);
  if (!a_is_fixed && IsRelaxed(b)) return ConstantSet(source);
  const Expr& factor = a_is_fixed ? a : b;
  const bool is_natural = analyzer_.CanProveGreaterEqual(factor, 0);
  const bool is_negative = !is_natural && analyzer_.CanProveLess(factor, 1);
  if (!is_natural && !is_negative && !chooses_by_sign_) return ConstantSet(source);
  const IntSet set = Eval(a_is_fixed ? b : a);
  const auto scaled = [&](const std::optional<Expr>& end) { return end ? std::optional(*end * factor) : std::nullopt; };
  if (is_natural) return IntSet::Interval(scaled(set.min()), scaled(set.max()));
  if (is_negative) return IntSet::Interval(scaled(set.max()), scaled(set.min()));
  if (!set.is_bounded()) return ConstantSet(source);
  const Expr sign = LessEqual(IntConst(factor.dtype(), 0), factor), low = *scaled(set.min()), high = *scaled(set.max());
  return IntSet::Interval(MakeSelect(sign, low, high), MakeSelect(sign, high, low));
}

namespace {

// Knows what `analyzer` does, and that variables which may reach an end of their type stay within a quarter of it.
Analyzer WithSmallUnknowns(const Expr& e, const Analyzer& analyzer) {
  Analyzer small = Analyzer::Under(analyzer);
  PostOrderVisit(e, [&](const Expr& var) {
    if (!IsVar(var) || !var.dtype().is_int() || !var.dtype().is_scalar()) return;
    const IntBound type = TypeBound(var.dtype()), bound = analyzer.ConstIntBound(var);
    if (bound.min != type.min && bound.max != type.max) return;
    const int64_t min = std::max(bound.min, type.min / 4), max = std::min(bound.max, type.max / 4);
    small.Bind(Var(var), {IntConst(var.dtype(), min), IntConst(var.dtype(), std::max<int64_t>(max - min + 1, 1))});
  });
  return small;
}

}  // namespace

// By constant bounds only.
IntSet SetEvaluator::ConstantSet(const Expr& e) const {
  Analyzer bounded = Analyzer::Under(analyzer_);
  for (const auto& [var, set] : vars_.items()) {
    if (const auto range = set.ToRange(analyzer_)) bounded.Bind(var, *range);
  }
  const IntBound bound = bounded.ConstIntBound(e);
  const IntBound type = TypeBound(e.dtype());
  if (!e.dtype().is_scalar() || !(e.dtype().is_int() || e.dtype().is_bool())) return IntSet::Everything();
  // What comes from the ends of the type alone says nothing, and sums with it overflow. It is far, and moves with them.
  const bool is_far = !e.dtype().is_bool() && (bound.min <= type.min / 64 || bound.max >= type.max / 64);
  const IntBound moved = is_far ? WithSmallUnknowns(e, bounded).ConstIntBound(e) : bound;
  const auto end = [&](int64_t value, int64_t in_moved) {  // Beyond the type it is no value of it.
    const bool is_known = value == in_moved && value >= type.min && value <= type.max;
    return is_known ? std::optional(IntConst(e.dtype(), value)) : std::nullopt;
  };
  std::optional<Expr> min, max;
  if (bound.min != IntBound::kNegInf) min = end(bound.min, moved.min);
  if (bound.max != IntBound::kPosInf) max = end(bound.max, moved.max);
  return IntSet::Interval(std::move(min), std::move(max));
}

}  // namespace

namespace {

IntSet EvalSimplified(const Expr& e, const DomMap& vars, const Analyzer& analyzer, bool chooses_by_sign) {
  const IntSet set = SetEvaluator(vars, analyzer, chooses_by_sign).Eval(e);
  if (set.is_nothing() || set.is_point()) return set;
  const auto simple = [&](const std::optional<Expr>& end) {
    return end ? std::optional(analyzer.Simplify(*end)) : std::nullopt;
  };
  return IntSet::Interval(simple(set.min()), simple(set.max()));
}

}  // namespace

IntSet EvalSet(const Expr& e, const DomMap& vars, const Analyzer& analyzer) {
  return EvalSimplified(e, vars, analyzer, false);
}
IntSet EvalSetBySign(const Expr& e, const DomMap& vars, const Analyzer& analyzer) {
  return EvalSimplified(e, vars, analyzer, true);
}
IntSet EvalSet(const Expr& e, const DomMap& vars) { return EvalSet(e, vars, Analyzer()); }

IntSet Union(const IntSet& a, const IntSet& b, const Analyzer& analyzer) {
  if (a.is_nothing()) return b;
  if (b.is_nothing()) return a;
  std::optional<Expr> min, max;
  if (a.min() && b.min()) min = analyzer.Simplify(Min(*a.min(), *b.min()));
  if (a.max() && b.max()) max = analyzer.Simplify(Max(*a.max(), *b.max()));
  return IntSet::Interval(std::move(min), std::move(max));
}

IntSet Intersect(const IntSet& a, const IntSet& b, const Analyzer& analyzer) {
  if (a.is_nothing() || b.is_nothing()) return IntSet::Nothing();
  std::optional<Expr> min = a.min() ? a.min() : b.min(), max = a.max() ? a.max() : b.max();
  if (a.min() && b.min()) min = analyzer.Simplify(Max(*a.min(), *b.min()));
  if (a.max() && b.max()) max = analyzer.Simplify(Min(*a.max(), *b.max()));
  if (min && max && analyzer.CanProve(Less(*max, *min))) return IntSet::Nothing();
  return IntSet::Interval(std::move(min), std::move(max));
}

namespace {

// The ends of a domain, if they are constants.
std::optional<IntBound> ConstantEnds(const IntSet& set) {
  const int64_t* min = set.min() ? AsIntConst(*set.min()) : nullptr;
  const int64_t* max = set.max() ? AsIntConst(*set.max()) : nullptr;
  if (min == nullptr || max == nullptr || *min > *max) return std::nullopt;
  return IntBound{*min, *max};
}

// What most indices are: a sum of multiples of variables with constant domains and of what stays. The same box as by
// way of sets, without a detour over expressions. nullopt: it is something else.
std::optional<Range> BoxOfSum(const Range& range, const DomMap& vars, const Analyzer& analyzer) {
  const int64_t* length = AsIntConst(range.extent);
  const DataType type = range.min.dtype();
  if (length == nullptr || *length < 1 || !IsIndexType(type)) return std::nullopt;
  const LinearForm form = Canonicalizer(analyzer).Form(range.min);
  LinearForm first;
  first.constant = form.constant;
  int64_t end = *length;
  bool is_relaxed = false;
  for (const Term& term : form.terms) {
    const IntSet* set = term.is_whole() ? vars.Find(term.source.get()) : nullptr;
    if (set == nullptr) {
      const auto is_relaxed_var = [&](const ExprNode* var) { return vars.Find(var) != nullptr; };
      if (!IsVar(term.source) ? UsesVar(term.source, is_relaxed_var) : is_relaxed_var(term.source.get()))
        return std::nullopt;
      first.terms.push_back(term);
      continue;
    }
    const std::optional<IntBound> ends = ConstantEnds(*set);
    int64_t offset = 0, steps = 0;
    if (!ends || __builtin_mul_overflow(term.scale, term.scale > 0 ? ends->min : ends->max, &offset) ||
        __builtin_add_overflow(first.constant, offset, &first.constant) ||
        __builtin_sub_overflow(ends->max, ends->min, &steps) ||
        __builtin_mul_overflow(steps, std::abs(term.scale), &steps) || __builtin_add_overflow(end, steps, &end))
      return std::nullopt;
    is_relaxed = true;
  }
  if (!is_relaxed || !FitsIn(form, type) || !FitsIn(first, type) || end > TypeBound(type).max) return std::nullopt;
  // What is left of a form is one; only terms that are no pieces of variables may look otherwise by themselves.
  const bool is_simple =
      std::all_of(first.terms.begin(), first.terms.end(), [](const Term& t) { return IsVar(t.source); });
  Expr min = FormToExpr(first, type);
  return Range{is_simple ? min : analyzer.Simplify(min), IntConst(type, end)};
}

// Whether the type can say how many values there are; ends that are its own bounds say nothing.
bool HasLength(const IntSet& set, DataType type) {
  const std::optional<IntBound> ends = ConstantEnds(set);
  int64_t steps = 0;
  return !ends || (!__builtin_sub_overflow(ends->max, ends->min, &steps) && steps < TypeBound(type).max);
}

}  // namespace

std::vector<Range> RelaxRegion(const std::vector<Range>& region, const DomMap& vars, const Analyzer& analyzer,
                               const std::vector<Range>* full) {
  std::vector<Range> box;
  box.reserve(region.size());
  for (size_t i = 0; i < region.size(); ++i) {
    const Range& range = region[i];
    if (std::optional<Range> sum = BoxOfSum(range, vars, analyzer)) {
      box.push_back(*std::move(sum));
      continue;
    }
    const bool is_fixed_extent = AsIntConst(range.extent) != nullptr;
    IntSet set = EvalSet(range.min, vars, analyzer);
    if (!is_fixed_extent) {
      const IntSet last = EvalSet(range.min + range.extent - 1, vars, analyzer);
      set = IntSet::Interval(set.min(), last.max());
    }
    if (!set.is_bounded() || !HasLength(set, range.min.dtype())) {
      box.push_back(full != nullptr ? (*full)[i] : Range{range.min, IntConst(range.min.dtype(), 0)});
      continue;
    }
    const Expr length = set.is_point() ? IntConst(range.min.dtype(), 1) : *set.max() - *set.min() + 1;
    box.push_back(
        {analyzer.Simplify(*set.min()), analyzer.Simplify(is_fixed_extent ? length + (range.extent - 1) : length)});
  }
  return box;
}

std::vector<Range> RelaxRegion(std::vector<Range> region, const std::vector<std::pair<Var, Range>>& loops,
                               const Analyzer& analyzer, const std::vector<Range>* full) {
  DomMap open;  // Relaxed together: none of them bounds another.
  std::vector<const Range*> bounds;
  for (size_t i = loops.size(); i-- > 0;) {
    const auto& [var, range] = loops[i];
    const bool is_bound = std::any_of(bounds.begin(), bounds.end(), [&](const Range* inner) {
      return UsesVar(inner->min, var.get()) || UsesVar(inner->extent, var.get());
    });
    if (is_bound) {
      region = RelaxRegion(region, open, analyzer, full);
      open = {};
      bounds.clear();
    }
    open.Add(var, range);
    if (AsIntConst(range.min) == nullptr || AsIntConst(range.extent) == nullptr) bounds.push_back(&range);
  }
  return RelaxRegion(region, open, analyzer, full);
}

std::vector<Range> UnionRegion(const std::vector<Range>& a, const std::vector<Range>& b, const Analyzer& analyzer) {
  CHECK(a.size() == b.size()) << "regions of rank " << a.size() << " and " << b.size();
  std::vector<Range> box;
  box.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const IntSet hull = Union(IntSet::FromRange(a[i]), IntSet::FromRange(b[i]), analyzer);
    box.push_back(hull.is_nothing() ? a[i] : *hull.ToRange(analyzer));
  }
  return box;
}

}  // namespace lathe
