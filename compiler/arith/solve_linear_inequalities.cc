#include <algorithm>
#include <cstdlib>

#include "compiler/arith/int_constraints.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/linear_equation.h"
#include "compiler/arith/linear_integers.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kInequalitySteps = 3;

const Binary* AsComparison(const Expr& e, BinaryOp op) {
  const Binary* binary = e.As<Binary>();
  return binary != nullptr && binary->op == op ? binary : nullptr;
}

bool ContainsExpr(const std::vector<Expr>& all, const Expr& e) {
  return std::any_of(all.begin(), all.end(), [&](const Expr& other) { return SameExpr(e, other); });
}

size_t CountNodes(const Expr& e) {
  size_t count = 0;
  PostOrderVisit(e, [&](const Expr&) { ++count; });
  return count;
}

// The condition as e <= 0, e == 0 or e != 0, where it is a comparison.
Expr BelowZero(const Expr& condition) {
  const Binary* binary = condition.As<Binary>();
  if (binary == nullptr) return condition;
  const bool turns = binary->op == BinaryOp::kGT || binary->op == BinaryOp::kGE;
  const bool is_strict = binary->op == BinaryOp::kGT || binary->op == BinaryOp::kLT;
  const bool is_less = turns || is_strict || binary->op == BinaryOp::kLE;
  if (!is_less && binary->op != BinaryOp::kEQ && binary->op != BinaryOp::kNE) return condition;
  if (!IsIndexType(binary->a.dtype())) return condition;
  const Expr difference = turns ? binary->b - binary->a : binary->a - binary->b;
  const Expr simple = Simplifier().Simplify(is_strict ? difference + 1 : difference);
  return MakeBinary(is_less ? BinaryOp::kLE : binary->op, simple, IntConst(simple.dtype(), 0));
}

// Unless others say it; drops those that it says.
void AddInequality(std::vector<Expr>& found, const Expr& added, Simplifier& simplifier) {
  if (simplifier.CanProve(added) || ContainsExpr(found, added)) return;
  if (const Binary* less = AsComparison(added, BinaryOp::kLE)) {
    const auto says = [&](const Binary* one, const Binary* other) {  // The first implies the second.
      return one != nullptr && other != nullptr && simplifier.CanProve(LessEqual(other->a - one->a, 0));
    };
    const auto is_said = [&](const Expr& old) { return says(AsComparison(old, BinaryOp::kLE), less); };
    if (std::any_of(found.begin(), found.end(), is_said)) return;
    std::erase_if(found, [&](const Expr& old) { return says(less, AsComparison(old, BinaryOp::kLE)); });
  }
  found.push_back(added);
}

// Keeps the tightest bounds: is_upper, the least.
void AddBound(std::vector<Expr>& bounds, const Expr& added, bool is_upper, Simplifier& simplifier) {
  const auto is_better = [&](const Expr& one, const Expr& other) {
    return simplifier.CanProve(is_upper ? LessEqual(one - other, 0) : LessEqual(other - one, 0));
  };
  if (std::any_of(bounds.begin(), bounds.end(), [&](const Expr& old) { return is_better(old, added); })) return;
  std::erase_if(bounds, [&](const Expr& old) { return is_better(added, old); });
  bounds.push_back(added);
}

// factor * var + rest <= 0
struct Bounding {
  int64_t factor;
  Expr rest;
};

// Each variable in turn leaves the inequalities: each that bounds it from above with each that bounds it from below.
class Elimination {
 public:
  explicit Elimination(const IntConstraints& problem) : problem_(problem), simplifier_(SimplifierOf(problem.ranges)) {
    std::vector<Expr> left;
    for (const Expr& relation : problem.relations) AddInequality(left, BelowZero(Simple(relation)), simplifier_);
    for (const Var& var : problem.variables) left = Eliminate(var, left);
    for (const Expr& relation : left) {
      const Expr simple = Simple(relation);
      if (!IsConstInt(simple, 1)) relations_.push_back(simple);
    }
    const auto is_false = [](const Expr& relation) { return IsConstInt(relation, 0); };
    if (std::any_of(relations_.begin(), relations_.end(), is_false)) relations_ = {IntConst(DataType::Bool(), 0)};
    relations_.insert(relations_.end(), others_.begin(), others_.end());
  }

  Status status() const {
    return integers_.has_overflowed()
               ? InvalidArgument("solve linear inequalities: coefficients leave int64; scale the conditions down")
               : OkStatus();
  }
  const IntGroupBounds& BoundsOf(size_t variable) const { return bounds_[variable]; }

  // All that was found, by variable, then what is left without any.
  std::vector<Expr> Conditions() const {
    std::vector<Expr> conditions;
    for (size_t i = 0; i < bounds_.size(); ++i) {
      const Expr scaled = problem_.variables[i] * bounds_[i].coef;
      const auto add = [&](BinaryOp op, const std::vector<Expr>& values) {
        for (const Expr& value : values) conditions.push_back(FoldBinary(op, scaled, value));
      };
      add(BinaryOp::kEQ, bounds_[i].equal);
      add(BinaryOp::kGE, bounds_[i].lower);
      add(BinaryOp::kLE, bounds_[i].upper);
    }
    conditions.insert(conditions.end(), relations_.begin(), relations_.end());
    return conditions;
  }

 private:
  Expr Simple(const Expr& e) { return simplifier_.Simplify(e, kInequalitySteps); }
  static Expr Negative(const Expr& e) { return IntConst(e.dtype(), 0) - e; }

  void AddOwnRange(const Var& var, std::vector<Bounding>& above, std::vector<Bounding>& below) {
    const Range* range = FindRange(problem_.ranges, var);
    if (range == nullptr) return;
    below.push_back({-1, Simple(range->min)});
    above.push_back({1, Simple(Negative(range->min + range->extent - 1))});
  }

  // Takes what bounds the variable out of `left`; what is not linear in it is for the end.
  std::vector<Expr> Classify(const Var& var, const std::vector<Expr>& left, std::vector<Bounding>& above,
                             std::vector<Bounding>& below) {
    std::vector<Expr> kept;
    for (const Expr& relation : left) {
      const Binary* less = AsComparison(relation, BinaryOp::kLE);
      const Binary* linear = less != nullptr ? less : AsComparison(relation, BinaryOp::kEQ);
      const std::vector<Expr> parts = linear == nullptr ? std::vector<Expr>() : DetectLinearEquation(linear->a, {var});
      const int64_t* factor = parts.empty() ? nullptr : AsIntConst(parts[0]);
      if (factor == nullptr || *factor == INT64_MIN) {
        others_.push_back(relation);
      } else if (*factor == 0) {
        AddInequality(kept, relation, simplifier_);
      } else if (less != nullptr) {
        (*factor > 0 ? above : below).push_back({*factor, parts[1]});
      } else {
        above.push_back({std::abs(*factor), *factor > 0 ? parts[1] : Negative(parts[1])});
        below.push_back({-std::abs(*factor), *factor > 0 ? Negative(parts[1]) : parts[1]});
      }
    }
    return kept;
  }

  std::vector<Expr> Eliminate(const Var& var, const std::vector<Expr>& left) {
    std::vector<Bounding> above, below;
    AddOwnRange(var, above, below);
    std::vector<Expr> kept = Classify(var, left, above, below);
    for (const Bounding& high : above) {
      for (const Bounding& low : below) {
        const int64_t common = GreatestCommonDivisor(high.factor, low.factor);
        const Expr total = low.rest * (high.factor / common) + high.rest * (-low.factor / common);
        const Expr simple = Simple(MakeBinary(BinaryOp::kLE, total, IntConst(total.dtype(), 0)));
        AddInequality(kept, BelowZero(simple), simplifier_);
      }
    }
    bounds_.push_back(BoundsFrom(var, above, below));
    return kept;
  }

  IntGroupBounds BoundsFrom(const Var& var, const std::vector<Bounding>& above, const std::vector<Bounding>& below) {
    int64_t common = 1;
    for (const std::vector<Bounding>* side : {&above, &below})
      for (const Bounding& each : *side) common = integers_.LeastCommonMultiple(common, std::abs(each.factor));
    std::vector<Expr> uppers, lowers, equal;
    for (const Bounding& high : above) AddBound(uppers, Simple(high.rest * -(common / high.factor)), true, simplifier_);
    for (const Bounding& low : below) AddBound(lowers, Simple(low.rest * (common / -low.factor)), false, simplifier_);
    std::copy_if(uppers.begin(), uppers.end(), std::back_inserter(equal),
                 [&](const Expr& high) { return ContainsExpr(lowers, high); });
    std::stable_sort(equal.begin(), equal.end(),
                     [](const Expr& a, const Expr& b) { return CountNodes(a) < CountNodes(b); });
    for (std::vector<Expr>* side : {&uppers, &lowers})
      std::erase_if(*side, [&](const Expr& e) { return ContainsExpr(equal, e); });
    return {IntConst(var.dtype(), common), lowers, equal, uppers};
  }

  const IntConstraints& problem_;
  Simplifier simplifier_;
  CheckedIntegers integers_;
  std::vector<IntGroupBounds> bounds_;  // Of each variable, in the order in which they left.
  std::vector<Expr> relations_, others_;
};

IntGroupBounds WithRange(IntGroupBounds bounds, const Range& range, Simplifier& simplifier) {
  const IntGroupBounds own = IntGroupBounds::FromRange(range);
  const auto prepend = [&](std::vector<Expr>& values, const std::vector<Expr>& added) {
    std::vector<Expr> scaled;
    for (const Expr& e : added) scaled.push_back(simplifier.Simplify(e * bounds.coef));
    values.insert(values.begin(), scaled.begin(), scaled.end());
  };
  prepend(bounds.lower, own.lower);
  prepend(bounds.equal, own.equal);
  prepend(bounds.upper, own.upper);
  return bounds;
}

void SetRange(VarRanges& ranges, const Var& var, const Range& range) {
  for (auto& [known, old] : ranges) {
    if (!known.same_as(var)) continue;
    old = range;
    return;
  }
  ranges.emplace_back(var, range);
}

bool IsOneValue(const IntGroupBounds& bounds) { return IsConstInt(bounds.coef, 1) && !bounds.equal.empty(); }
bool IsEmpty(const Range& range, Simplifier& simplifier) { return simplifier.CanProve(LessEqual(range.extent, 0)); }

// What is found of one variable after the other, the last first.
class Deskewing {
 public:
  explicit Deskewing(const IntConstraints& problem)
      : problem_(problem), solved_(problem), known_(problem.ranges), simplifier_(SimplifierOf(problem.ranges)) {}

  StatusOr<IntConstraintsTransform> Run() {
    RETURN_IF_ERROR(solved_.status());
    for (size_t i = problem_.variables.size(); i-- > 0;) {
      if (!Place(i)) return IntConstraintsTransform{problem_, IntConstraints::Unsolvable(), {}, {}};
    }
    std::vector<Expr> relations;
    for (const Expr& condition : solved_.Conditions()) {
      const Expr simple = simplifier_.Simplify(Substitute(condition, ToVarMap(to_new_)));
      if (!IsConstInt(simple, 1)) relations.push_back(simple);
    }
    std::reverse(variables_.begin(), variables_.end());
    return IntConstraintsTransform{problem_, {variables_, ranges_, std::move(relations)}, to_new_, to_old_};
  }

 private:
  IntGroupBounds BoundsInNew(size_t i) const {
    const VarMap map = ToVarMap(to_new_);
    IntGroupBounds bounds = solved_.BoundsOf(i);
    for (std::vector<Expr>* values : {&bounds.lower, &bounds.equal, &bounds.upper})
      for (Expr& e : *values) e = Substitute(e, map);
    return bounds;
  }

  // False: no value will do.
  bool Place(size_t i) {
    const Var& var = problem_.variables[i];
    IntGroupBounds bounds = BoundsInNew(i);
    if (IsOneValue(bounds)) {
      to_new_.emplace_back(var, bounds.equal[0]);
      return true;
    }
    if (const Range* range = FindRange(known_, var)) bounds = WithRange(bounds, *range, simplifier_);
    const std::optional<Range> best = bounds.FindBestRange(known_);
    if (!best) {
      to_new_.emplace_back(var, var);
      to_old_.emplace_back(var, var);
      variables_.push_back(var);
    } else if (IsConstInt(best->extent, 1)) {
      to_new_.emplace_back(var, best->min);
    } else if (IsEmpty(*best, simplifier_)) {
      return false;
    } else {
      Shift(var, *best);
    }
    return true;
  }

  // A variable that begins at 0 takes the place of `var`.
  void Shift(const Var& var, const Range& range) {
    const Var shifted(var.name() + ".shifted", var.dtype());
    const Range from_zero{IntConst(var.dtype(), 0), range.extent};
    to_new_.emplace_back(var, shifted + range.min);
    to_old_.emplace_back(shifted, simplifier_.Simplify(var - Substitute(range.min, ToVarMap(to_old_))));
    ranges_.emplace_back(shifted, from_zero);
    SetRange(known_, shifted, from_zero);
    variables_.push_back(shifted);
    simplifier_.Bind(shifted, from_zero);
  }

  const IntConstraints& problem_;
  const Elimination solved_;
  VarRanges known_, ranges_;
  Simplifier simplifier_;
  std::vector<Var> variables_;
  VarValues to_new_, to_old_;
};

}  // namespace

StatusOr<IntConstraints> SolveInequalitiesToRange(const IntConstraints& problem) {
  const Elimination solved(problem);
  RETURN_IF_ERROR(solved.status());
  VarRanges found, known = problem.ranges;
  for (size_t i = problem.variables.size(); i-- > 0;) {
    const Var& var = problem.variables[i];
    Simplifier simplifier = SimplifierOf(known);
    IntGroupBounds bounds = solved.BoundsOf(i);
    std::optional<Range> best;
    if (IsOneValue(bounds)) {
      best = Range{bounds.equal[0], IntConst(var.dtype(), 1)};
    } else {
      if (const Range* range = FindRange(known, var)) bounds = WithRange(bounds, *range, simplifier);
      best = bounds.FindBestRange(known);
    }
    if (!best) continue;
    if (IsEmpty(*best, simplifier)) return IntConstraints::Unsolvable();
    found.emplace_back(var, *best);
    SetRange(known, var, *best);
  }
  Simplifier simplifier = SimplifierOf(known);
  std::vector<Expr> relations = solved.Conditions();
  std::erase_if(relations, [&](const Expr& condition) { return simplifier.CanProve(condition); });
  return IntConstraints{problem.variables, found, relations};
}

StatusOr<IntConstraintsTransform> SolveInequalitiesDeskewRange(const IntConstraints& problem) {
  return Deskewing(problem).Run();
}

}  // namespace lathe
