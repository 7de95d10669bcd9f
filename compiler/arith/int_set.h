// Symbolic intervals: what an expression or a region covers while some of its variables run over their domains.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/stmt.h"

namespace lathe {

// All integers in [min, max], an end left out being unbounded; or nothing at all.
class IntSet {
 public:
  static IntSet Everything() { return {}; }
  static IntSet Nothing();
  static IntSet Point(const Expr& value) { return Interval(value, value); }
  static IntSet Interval(std::optional<Expr> min, std::optional<Expr> max);
  static IntSet FromRange(const Range& range);  // An extent of 0 or less is Nothing only if it is a constant.

  bool is_nothing() const { return is_nothing_; }
  bool is_everything() const { return !is_nothing_ && !min_ && !max_; }
  bool is_point() const { return !is_nothing_ && min_ && max_ && min_->same_as(*max_); }
  bool is_bounded() const { return !is_nothing_ && min_ && max_; }
  const std::optional<Expr>& min() const { return min_; }
  const std::optional<Expr>& max() const { return max_; }  // Included.
  // [min, max - min + 1), simplified; nullopt where an end is missing.
  std::optional<Range> ToRange(const Analyzer& analyzer) const;

 private:
  std::optional<Expr> min_, max_;
  bool is_nothing_ = false;
};

// Domains of the variables to relax; every other variable stays symbolic. A domain may name variables that are not in
// the map only.
class DomMap {
 public:
  void Add(const Var& var, const Range& range) { Add(var, IntSet::FromRange(range)); }
  void Add(const Var& var, IntSet set) { items_.emplace_back(var, std::move(set)); }
  const IntSet* Find(const ExprNode* var) const;  // nullptr: the variable is not relaxed.
  bool empty() const { return items_.empty(); }
  const std::vector<std::pair<Var, IntSet>>& items() const { return items_; }

 private:
  std::vector<std::pair<Var, IntSet>> items_;
};

// A set that holds every value of `e` while the variables of `vars` take all values of their domains. Exact (both ends
// are reached) where `e` is affine in them. Ends are simplified. Facts in `analyzer` may concern the variables that
// stay.
IntSet EvalSet(const Expr& e, const DomMap& vars, const Analyzer& analyzer);
IntSet EvalSet(const Expr& e, const DomMap& vars);

// The smallest interval that holds both; the common part. Ends that cannot be ordered become min(...) and max(...).
IntSet Union(const IntSet& a, const IntSet& b, const Analyzer& analyzer);
IntSet Intersect(const IntSet& a, const IntSet& b, const Analyzer& analyzer);

// The box that `region` covers while `vars` run: a read of [i_0*16 + i_1 + k, 1) under i_1 in 0..16, k in 0..3 is
// [i_0*16, 18). `full` (the buffer's shape, as ranges) stands in for a dimension that has no bounds; without it such a
// dimension is returned as it is with extent 0, which no caller can take for a box.
std::vector<Range> RelaxRegion(const std::vector<Range>& region, const DomMap& vars, const Analyzer& analyzer,
                               const std::vector<Range>* full = nullptr);
// The same for loops, outermost first, whose bounds may name loops further out (for k in T.serial(j, j + 4)): those are
// relaxed before what they depend on.
std::vector<Range> RelaxRegion(std::vector<Range> region, const std::vector<std::pair<Var, Range>>& loops,
                               const Analyzer& analyzer, const std::vector<Range>* full = nullptr);
// The box around two boxes of the same rank.
std::vector<Range> UnionRegion(const std::vector<Range>& a, const std::vector<Range>& b, const Analyzer& analyzer);

}  // namespace lathe
