#include "compiler/arith/solve.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/int_set.h"
#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Expr CeilDivide(const Expr& a, int64_t b) { return FloorDiv(a + (b - 1), b); }

class Solver {
 public:
  Solver(const std::vector<IterVar>& iter_vars, const Analyzer& analyzer)
      : iter_vars_(iter_vars), analyzer_(analyzer), inner_(Analyzer::Under(analyzer)) {
    for (const IterVar& iter : iter_vars_) inner_.Bind(iter.var, iter.domain);
  }

  // What one demand restricts; one set per iter var, everything where it does not.
  StatusOr<std::vector<IntSet>> Solve(const RegionDemand& demand) const;
  SolvedIterVar Fit(const IterVar& iter, const IntSet& set) const;
  Expr In(DataType type, const Expr& e) const {  // What demands it may be of another width.
    return e.dtype() == type ? e : analyzer_.Simplify(MakeCast(type, e));
  }

 private:
  std::optional<size_t> IndexOf(const Expr& e) const {
    for (size_t i = 0; i < iter_vars_.size(); ++i) {
      if (iter_vars_[i].var.same_as(e)) return i;
    }
    return std::nullopt;
  }
  bool UsesIterVars(const Expr& e) const {
    return UsesVar(e, [&](const ExprNode* var) {
      return std::any_of(iter_vars_.begin(), iter_vars_.end(),
                         [&](const IterVar& iter) { return iter.var.get() == var; });
    });
  }
  bool HasJoinedIndex(const std::vector<Range>& touched) const;
  std::optional<std::vector<IntSet>> SolveAffine(const RegionDemand& demand) const;
  void SolveDigits(const LinearForm& form, const Expr& element, std::vector<IntSet>& sets) const;
  Status SolveDimension(const Range& touched, const Range& required, std::vector<IntSet>& sets) const;

  const std::vector<IterVar>& iter_vars_;
  const Analyzer& analyzer_;
  Analyzer inner_;  // Knows the iter vars' own domains, too.
};

// touched = scale * (var // lower) + rest, rest in [low, high] + fixed. An iteration matters if it touches any required
// element: scale * v + rest <= last required  and  scale * v + rest + extent - 1 >= first required.
Status Solver::SolveDimension(const Range& touched, const Range& required, std::vector<IntSet>& sets) const {
  // The iter vars keep their names here: one of extent 1 is still asked for its domain.
  const LinearForm form = Canonicalizer(analyzer_).Form(touched.min);
  const DataType type = touched.min.dtype();
  if (!FitsIn(form, type)) return FailedPrecondition("solve block domains: coefficients overflow");
  LinearForm fixed;
  fixed.constant = form.constant;
  const Term* leader = nullptr;
  for (const Term& term : form.terms) {
    if (!UsesIterVars(term.source)) {
      fixed.terms.push_back(term);
      continue;
    }
    if (!IndexOf(term.source))
      return FailedPrecondition("solve block domains: an index of the block is not affine in its iter vars");
    if (leader == nullptr || std::abs(term.scale) > std::abs(leader->scale)) leader = &term;
  }
  if (leader == nullptr || leader->upper != kNoUpper) return OkStatus();  // A low digit alone restricts nothing.
  IntBound rest{0, 0};
  for (const Term& term : form.terms) {
    if (&term == leader || !UsesIterVars(term.source)) continue;
    rest = AddBounds(rest, ScaleBound(inner_.ConstIntBound(TermToExpr(term, type)), term.scale));
  }
  const IntBound length = inner_.ConstIntBound(touched.extent);
  if (rest.min == IntBound::kNegInf || rest.max == IntBound::kPosInf || length.max == IntBound::kPosInf)
    return OkStatus();

  const Expr offset = FormToExpr(fixed, type);
  const Expr first = required.min - offset - (rest.max + length.max - 1),
             last = required.min + required.extent - 1 - offset - rest.min;
  const int64_t step = std::abs(leader->scale);
  Expr low = leader->scale > 0 ? CeilDivide(first, step) : CeilDivide(IntConst(type, 0) - last, step);
  Expr high = FloorDiv(leader->scale > 0 ? last : IntConst(type, 0) - first, step);
  if (leader->lower != 1) {
    low = low * leader->lower;
    high = high * leader->lower + (leader->lower - 1);
  }
  IntSet& set = sets[*IndexOf(leader->source)];
  set = Intersect(set, IntSet::Interval(analyzer_.Simplify(low), analyzer_.Simplify(high)), analyzer_);
  if (IsConstInt(touched.extent, 1) && IsConstInt(required.extent, 1)) SolveDigits(form, required.min - offset, sets);
  return OkStatus();
}

// Of vi * 12 + vj * 4 + vk, where vj < 3 and vk < 4, one element says all: vk is element % 4, vj element // 4 % 3.
void Solver::SolveDigits(const LinearForm& form, const Expr& element, std::vector<IntSet>& sets) const {
  std::vector<Term> digits;
  for (const Term& term : form.terms)
    if (UsesIterVars(term.source)) digits.push_back(term);
  std::sort(digits.begin(), digits.end(), [](const Term& a, const Term& b) { return a.scale < b.scale; });
  int64_t step = 1;
  for (size_t i = 0; i < digits.size(); ++i) {
    const Range& domain = iter_vars_[*IndexOf(digits[i].source)].domain;
    const int64_t* extent = AsIntConst(domain.extent);
    const bool is_digit = digits[i].scale == step && digits[i].lower == 1 && digits[i].upper == kNoUpper &&
                          IsConstInt(domain.min, 0) && extent != nullptr && *extent > 0 && step < INT32_MAX / *extent;
    if (!is_digit) return;
    step *= *extent;
  }
  for (size_t i = 0; i + 1 < digits.size(); ++i) {  // The leader is restricted.
    const size_t iter = *IndexOf(digits[i].source);
    const Expr value = analyzer_.Simplify(FloorMod(FloorDiv(element, digits[i].scale), iter_vars_[iter].domain.extent));
    sets[iter] = Intersect(sets[iter], IntSet::Interval(value, value), analyzer_);
  }
}

// Whether an index is made of several iter vars, or of a part of one.
bool Solver::HasJoinedIndex(const std::vector<Range>& touched) const {
  return std::any_of(touched.begin(), touched.end(), [&](const Range& range) {
    const auto is_used = [&](const IterVar& iter) { return UsesVar(range.min, iter.var.get()); };
    return HasDivision(range.min) || std::count_if(iter_vars_.begin(), iter_vars_.end(), is_used) > 1;
  });
}

// Where each point is touched by one iteration, the way back from the points says what the iter vars are; nullopt: it
// is not known.
std::optional<std::vector<IntSet>> Solver::SolveAffine(const RegionDemand& demand) const {
  const auto is_point = [](const Range& range) { return IsConstInt(range.extent, 1); };
  if (!HasJoinedIndex(demand.touched) || !std::all_of(demand.touched.begin(), demand.touched.end(), is_point))
    return std::nullopt;
  const DataType type = demand.touched[0].min.dtype();
  const auto is_of_type = [&](const auto& e) { return e.dtype() == type; };
  if (!std::all_of(iter_vars_.begin(), iter_vars_.end(), [&](const IterVar& iter) { return is_of_type(iter.var); }) ||
      !std::all_of(demand.touched.begin(), demand.touched.end(), [&](const Range& at) { return is_of_type(at.min); }))
    return std::nullopt;
  std::vector<Expr> indices, points;
  DomMap required;
  for (size_t d = 0; d < demand.touched.size(); ++d) {
    const Var point(fmt::format("p{}", d), type);
    indices.push_back(demand.touched[d].min);
    points.push_back(point);
    required.Add(point, {In(type, demand.required[d].min), In(type, demand.required[d].extent)});
  }
  IterDomain iters;
  for (const IterVar& iter : iter_vars_) iters.emplace_back(iter.var, iter.domain);
  const auto map = DetectIterMap(indices, iters, True(), {IterMapLevel::kBijective, false}, analyzer_);
  if (!map.ok()) return std::nullopt;
  const StatusOr<VarMap> values = InverseAffineIterMap(map->indices, points, analyzer_);
  if (!values.ok()) return std::nullopt;
  std::vector<IntSet> sets(iter_vars_.size(), IntSet::Everything());
  for (size_t i = 0; i < iter_vars_.size(); ++i) {
    const auto value = values->find(iter_vars_[i].var.get());
    if (value != values->end()) sets[i] = EvalSet(value->second, required, analyzer_);
  }
  return sets;
}

StatusOr<std::vector<IntSet>> Solver::Solve(const RegionDemand& demand) const {
  if (demand.touched.size() != demand.required.size()) {
    return FailedPrecondition(
        fmt::format("solve block domains: regions of rank {} and {}", demand.touched.size(), demand.required.size()));
  }
  if (std::optional<std::vector<IntSet>> sets = SolveAffine(demand)) return *std::move(sets);
  std::vector<IntSet> sets(iter_vars_.size(), IntSet::Everything());
  for (size_t i = 0; i < demand.touched.size(); ++i)
    RETURN_IF_ERROR(SolveDimension(demand.touched[i], demand.required[i], sets));
  return sets;
}

bool IsCut(const Expr& extent) { return HasOp(extent, {BinaryOp::kMin, BinaryOp::kMax}); }

// What quotients leave is known to rules only: (i * 16 + 3) // 12 + 2 - i * 16 // 12 is 2, i * 4 % 12 + 3 below 12.
class ByRules {
 public:
  explicit ByRules(const Analyzer& analyzer) { simplifier_.analyzer() = Analyzer::Under(analyzer); }
  Expr Simplify(const Expr& e) { return HasDivision(e) ? simplifier_.Simplify(e) : e; }
  bool CanProve(const Expr& e) { return HasDivision(e) && simplifier_.CanProve(e); }

 private:
  Simplifier simplifier_;
};

// Prefers extents that are constants: a guard costs less than a loop whose length is only known at run time.
SolvedIterVar Solver::Fit(const IterVar& iter, const IntSet& set) const {
  const SolvedIterVar own{iter.domain};
  if (!set.is_bounded()) return own;
  const Expr own_min = iter.domain.min, own_max = iter.domain.min + iter.domain.extent - 1;
  const bool fits_low = analyzer_.CanProve(LessEqual(own_min, *set.min()));
  ByRules rules(analyzer_);
  const bool fits_high =
      analyzer_.CanProve(LessEqual(*set.max(), own_max)) || rules.CanProve(LessEqual(*set.max(), own_max));
  SolvedIterVar solved{own.domain, false, false, true};
  if (!fits_low || !fits_high) {
    const IntSet common = Intersect(set, IntSet::Interval(own_min, own_max), analyzer_);
    if (common.is_nothing()) return own;
    const Range clamped = *common.ToRange(analyzer_);
    if (AsIntConst(clamped.extent) != nullptr) {
      solved.domain = clamped;
      return solved;
    }
  }
  Range range = *set.ToRange(analyzer_);
  if (AsIntConst(range.extent) == nullptr && HasDivision(range.extent))
    range.extent = rules.Simplify(*set.max() - *set.min() + 1);
  const bool is_whole_set = AsIntConst(range.extent) != nullptr || !IsCut(range.extent);
  if (!is_whole_set) {
    const IntBound longest = analyzer_.ConstIntBound(range.extent);
    if (longest.min != longest.max && longest.max < (int64_t{1} << 24)) {
      if (longest.max < 1) return own;
      range.extent = IntConst(range.min.dtype(), longest.max);
    }
  }
  const int64_t* extent = AsIntConst(range.extent);
  // What is cut at both ends from numbers on is what a product of two unknowns may be: all there is.
  if (!fits_low && !fits_high && extent == nullptr && AsIntConst(range.min) != nullptr) return own;
  const int64_t* own_extent = AsIntConst(iter.domain.extent);
  if (own_extent != nullptr && analyzer_.ConstIntBound(range.extent).max >= *own_extent) return own;
  solved.domain = range;
  solved.guard_lower = !fits_low;
  solved.guard_upper = !is_whole_set || !fits_high;
  if (solved.guard_upper) solved.guard_upper = !analyzer_.CanProve(LessEqual(range.min + range.extent - 1, own_max));
  return solved;
}

// The `extent` values from `min` on, if no bound of the iter var's own domain cuts them; nullopt: not known.
std::optional<SolvedIterVar> FitUncut(const IterVar& iter, const Expr& min, int64_t extent, const Analyzer& analyzer) {
  const int64_t *own_min = AsIntConst(iter.domain.min), *own_extent = AsIntConst(iter.domain.extent);
  if (own_min == nullptr || own_extent == nullptr || min.dtype() != iter.var.dtype()) return std::nullopt;
  const Expr first = analyzer.Simplify(min);
  const IntBound bound = analyzer.ConstIntBound(first);
  if (bound.min < *own_min || bound.max > *own_min + *own_extent - extent) return std::nullopt;
  if (extent >= *own_extent) return SolvedIterVar{iter.domain};
  return SolvedIterVar{{first, IntConst(first.dtype(), extent)}, false, false, true};
}

// What most demands are: of each dimension so many elements, which an iter var of its own names; nullopt: they are not.
std::optional<std::vector<SolvedIterVar>> SolveElements(const std::vector<IterVar>& iter_vars,
                                                        const RegionDemand& demand, const Analyzer& analyzer) {
  std::vector<SolvedIterVar> solved;
  for (const IterVar& iter : iter_vars) solved.push_back({iter.domain});
  if (demand.touched.size() != demand.required.size()) return std::nullopt;
  for (size_t d = 0; d < demand.touched.size(); ++d) {
    const Range &touched = demand.touched[d], &required = demand.required[d];
    const int64_t* extent = AsIntConst(required.extent);
    if (!IsConstInt(touched.extent, 1) || extent == nullptr || *extent < 1) return std::nullopt;
    const auto iter = std::find_if(iter_vars.begin(), iter_vars.end(),
                                   [&](const IterVar& item) { return item.var.same_as(touched.min); });
    if (iter == iter_vars.end() || solved[iter - iter_vars.begin()].is_solved) return std::nullopt;
    std::optional<SolvedIterVar> fit = FitUncut(*iter, required.min, *extent, analyzer);
    if (!fit) return std::nullopt;
    solved[iter - iter_vars.begin()] = *std::move(fit);
  }
  return solved;
}

}  // namespace

StatusOr<std::vector<SolvedIterVar>> SolveBlockVarDomains(const std::vector<IterVar>& iter_vars,
                                                          const std::vector<RegionDemand>& demands,
                                                          const Analyzer& analyzer) {
  if (demands.size() == 1)
    if (auto solved = SolveElements(iter_vars, demands[0], analyzer)) return *std::move(solved);
  const Solver solver(iter_vars, analyzer);
  std::vector<IntSet> sets(iter_vars.size(), demands.empty() ? IntSet::Everything() : IntSet::Nothing());
  for (const RegionDemand& demand : demands) {
    ASSIGN_OR_RETURN(const std::vector<IntSet> part, solver.Solve(demand));
    for (size_t i = 0; i < sets.size(); ++i) sets[i] = Union(sets[i], part[i], analyzer);
  }
  std::vector<SolvedIterVar> solved;
  solved.reserve(iter_vars.size());
  for (size_t i = 0; i < iter_vars.size(); ++i) {
    solved.push_back(solver.Fit(iter_vars[i], sets[i]));
    Range& domain = solved.back().domain;
    const DataType type = iter_vars[i].var.dtype();
    domain = {solver.In(type, domain.min), solver.In(type, domain.extent)};
  }
  return solved;
}

Expr GuardPredicate(const SolvedIterVar& solved, const Range& own, const Expr& value, const Analyzer& analyzer) {
  Expr guard = True();
  if (solved.guard_lower) guard = And(guard, LessEqual(own.min, value));
  if (solved.guard_upper) guard = And(guard, Less(value, own.min + own.extent));
  return analyzer.Simplify(guard);
}

}  // namespace lathe
