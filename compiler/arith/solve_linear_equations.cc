#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "compiler/arith/int_constraints.h"
#include "compiler/arith/int_set.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/linear_equation.h"
#include "compiler/arith/linear_integers.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using IntRow = std::vector<int64_t>;

// g, a, b: a * pivot + b * value == g, the greatest common divisor or its negative.
struct BezoutFactors {
  int64_t g, a, b;
};
// The pivot itself where it divides.
BezoutFactors BezoutFactorsOf(int64_t pivot, int64_t value) {
  if (value % pivot == 0) return {pivot, 1, 0};
  int64_t a = 1, next_a = 0, b = 0, next_b = 1, rest = std::abs(pivot), next = value;
  while (next != 0) {
    const int64_t quotient = rest / next;
    rest = std::exchange(next, rest - quotient * next);
    a = std::exchange(next_a, a - quotient * next_a);
    b = std::exchange(next_b, b - quotient * next_b);
  }
  return {rest, pivot < 0 ? -a : a, b};
}

// matrix * new == right, where each of `news` is a sum of the variables, and variable i is the sum of basis[i][k] *
// news[k]. Steps on rows and columns make the matrix diagonal.
class EquationSolver {
 public:
  explicit EquationSolver(const IntConstraints& problem)
      : problem_(problem),
        simplifier_(SimplifierOf(problem.ranges)),
        news_(problem.variables.begin(), problem.variables.end()) {
    for (size_t i = 0; i < news_.size(); ++i) {
      basis_.emplace_back(news_.size(), 0);
      basis_.back()[i] = 1;
    }
    for (const Expr& relation : problem.relations) Add(relation);
  }

  StatusOr<IntConstraintsTransform> Solve() {
    for (size_t at = 0; at < DiagonalSize() && !integers_.has_overflowed();) {
      SwapIn(at);
      if (matrix_[at][at] == 0) {
        ++at;
        continue;
      }
      ClearColumn(at);
      if (!ClearRow(at)) ++at;
    }
    if (integers_.has_overflowed())
      return InvalidArgument("solve linear equations: coefficients leave int64; scale the equations down");
    return InFreeVariables();
  }

 private:
  size_t DiagonalSize() const { return std::min(matrix_.size(), news_.size()); }

  void Add(const Expr& relation) {
    const Binary* equation = relation.As<Binary>();
    std::vector<Expr> parts;
    if (equation != nullptr && equation->op == BinaryOp::kEQ && IsIndexType(equation->a.dtype()))
      parts = DetectLinearEquation(simplifier_.Simplify(equation->a - equation->b), problem_.variables);
    IntRow row;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const int64_t* factor = AsIntConst(parts[i]);
      if (factor == nullptr || *factor == INT64_MIN) break;
      row.push_back(*factor);
    }
    if (parts.empty() || row.size() + 1 != parts.size()) {
      others_.push_back(relation);
      return;
    }
    matrix_.push_back(row);
    right_.push_back(simplifier_.Simplify(IntConst(parts.back().dtype(), 0) - parts.back()));
  }

  // Brings what is nonzero to (at, at): the smallest of its column, or else of its row.
  void SwapIn(size_t at) {
    std::optional<size_t> best;
    for (size_t i = at; i < matrix_.size(); ++i) {
      const auto size = [&](size_t row) { return std::abs(matrix_[row][at]); };
      if (size(i) != 0 && (!best || size(i) < size(*best))) best = i;
    }
    if (best) {
      std::swap(matrix_[at], matrix_[*best]);
      std::swap(right_[at], right_[*best]);
      return;
    }
    const auto found = std::find_if(matrix_[at].begin() + static_cast<ptrdiff_t>(at), matrix_[at].end(),
                                    [](int64_t value) { return value != 0; });
    if (found == matrix_[at].end()) return;
    const size_t k = static_cast<size_t>(found - matrix_[at].begin());
    for (std::vector<IntRow>* rows : {&matrix_, &basis_})
      for (IntRow& row : *rows) std::swap(row[at], row[k]);
    std::swap(news_[at], news_[k]);
  }

  // x, y become x * a + y * b and x * (value / g) - y * (pivot / g): the value becomes 0.
  void Mix(int64_t& x, int64_t& y, const BezoutFactors& factors, int64_t pivot, int64_t value) {
    const int64_t first = integers_.Combine(x, factors.a, y, factors.b);
    y = integers_.Combine(x, value / factors.g, y, integers_.Negative(pivot / factors.g));
    x = first;
  }

  void ClearColumn(size_t at) {
    for (size_t i = at + 1; i < matrix_.size(); ++i) {
      const int64_t pivot = matrix_[at][at], value = matrix_[i][at];
      if (value == 0 || integers_.has_overflowed()) continue;
      const BezoutFactors factors = BezoutFactorsOf(pivot, value);
      for (size_t k = 0; k < news_.size(); ++k) Mix(matrix_[at][k], matrix_[i][k], factors, pivot, value);
      const Expr x = right_[at], y = right_[i];
      right_[at] = simplifier_.Simplify(x * factors.a + y * factors.b);
      right_[i] = simplifier_.Simplify(x * (value / factors.g) - y * (pivot / factors.g));
    }
  }

  // True: the column may have something below again.
  bool ClearRow(size_t at) {
    bool has_changed = false;
    for (size_t k = at + 1; k < news_.size(); ++k) {
      const int64_t pivot = matrix_[at][at], value = matrix_[at][k];
      if (value == 0 || integers_.has_overflowed()) continue;
      has_changed |= value % pivot != 0;
      const BezoutFactors factors = BezoutFactorsOf(pivot, value);
      for (size_t i = at; i < matrix_.size(); ++i) Mix(matrix_[i][at], matrix_[i][k], factors, pivot, value);
      for (IntRow& row : basis_) Mix(row[at], row[k], factors, pivot, value);
      const Expr x = news_[at], y = news_[k];
      news_[at] = x * (pivot / factors.g) + y * (value / factors.g);
      news_[k] = x * factors.b - y * factors.a;
    }
    return has_changed;
  }

  int64_t Pivot(size_t i) const { return i < DiagonalSize() ? matrix_[i][i] : 0; }

  // What has to hold for a solution to exist; nullopt: nothing makes it so.
  std::optional<std::vector<Expr>> Conditions() {
    std::vector<Expr> conditions;
    for (size_t i = 0; i < right_.size(); ++i) {
      const Expr rest = Pivot(i) == 0 ? right_[i] : FloorMod(right_[i], std::abs(Pivot(i)));
      const Expr condition = simplifier_.Simplify(Equal(rest, IntConst(rest.dtype(), 0)));
      if (IsConstInt(condition, 0)) return std::nullopt;
      if (!IsConstInt(condition, 1)) conditions.push_back(condition);
    }
    return conditions;
  }

  // What each of `news` is; a new variable where any value will do.
  std::vector<Expr> ValuesOfNews(VarValues& free) {
    std::vector<Expr> values;
    for (size_t i = 0; i < news_.size(); ++i) {
      if (const int64_t pivot = Pivot(i); pivot != 0) {
        const Expr right = pivot > 0 ? right_[i] : IntConst(right_[i].dtype(), 0) - right_[i];
        values.push_back(simplifier_.Simplify(FloorDiv(right, std::abs(pivot))));
        continue;
      }
      const Expr old = simplifier_.Simplify(news_[i]);
      const std::string suffix = IsVar(old) ? "_" + Var(old).name() : "";
      const Var var(fmt::format("n{}{}", free.size(), suffix), old.dtype());
      values.push_back(var);
      free.emplace_back(var, old);
    }
    return values;
  }

  bool IsOwn(const Var& var) const {
    return std::any_of(problem_.variables.begin(), problem_.variables.end(),
                       [&](const Var& own) { return own.same_as(var); });
  }

  VarRanges RangesOf(const VarValues& free) const {
    VarRanges ranges;
    DomMap domains;
    for (const auto& [var, range] : problem_.ranges) {
      domains.Add(var, range);
      if (!IsOwn(var)) ranges.emplace_back(var, range);
    }
    Simplifier plain;
    for (const auto& [var, old] : free) {
      const IntSet covered = EvalSet(old, domains);
      if (!covered.is_bounded()) continue;
      const Expr extent = plain.Simplify(*covered.max() - *covered.min() + 1);
      ranges.emplace_back(var, Range{plain.Simplify(*covered.min()), extent});
    }
    return ranges;
  }

  VarValues VariablesIn(const std::vector<Expr>& news) {
    VarValues values;
    for (size_t i = 0; i < basis_.size(); ++i) {
      Expr total = IntConst(problem_.variables[i].dtype(), 0);
      for (size_t k = 0; k < news.size(); ++k) total = total + news[k] * basis_[i][k];
      values.emplace_back(problem_.variables[i], simplifier_.Simplify(total));
    }
    return values;
  }

  // What the range of a variable says of its value.
  static void AddEnds(const Range& range, const Expr& value, Simplifier& simplifier, std::vector<Expr>& relations) {
    for (const Expr& end : {LessEqual(range.min, value), Less(value, range.min + range.extent)}) {
      const Expr simple = simplifier.Simplify(end);
      if (!IsConstInt(simple, 1)) relations.push_back(simple);
    }
  }

  IntConstraintsTransform InFreeVariables() {
    std::optional<std::vector<Expr>> relations = Conditions();
    if (!relations) return {problem_, IntConstraints::Unsolvable(), {}, {}};
    VarValues free;
    const VarValues values = VariablesIn(ValuesOfNews(free));
    VarRanges ranges = RangesOf(free);
    Simplifier simplifier = SimplifierOf(ranges);
    for (const auto& [var, value] : values) {
      if (const Range* range = FindRange(problem_.ranges, var)) AddEnds(*range, value, simplifier, *relations);
    }
    const VarMap map = ToVarMap(values);
    for (const Expr& other : others_) relations->push_back(Substitute(other, map));
    std::vector<Var> variables;
    for (const auto& [var, old] : free) variables.push_back(var);
    return {problem_, {std::move(variables), std::move(ranges), *std::move(relations)}, values, free};
  }

  const IntConstraints& problem_;
  Simplifier simplifier_;
  CheckedIntegers integers_;
  std::vector<IntRow> matrix_, basis_;
  std::vector<Expr> news_, right_, others_;
};

}  // namespace

StatusOr<IntConstraintsTransform> SolveLinearEquations(const IntConstraints& problem) {
  for (const Var& var : problem.variables)
    if (!var.dtype().is_int())
      return InvalidArgument(fmt::format("solve linear equations: variable \"{}\" is of {}, an integer is required",
                                         var.name(), var.dtype().ToString()));
  return EquationSolver(problem).Solve();
}

}  // namespace lathe
