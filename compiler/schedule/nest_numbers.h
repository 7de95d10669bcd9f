// A block's bindings as numbers: its iter values as sums of digits of the loops around. What most questions about
// boxes, distances and covers come down to is answered from them without an expression.
//
// All answers are one-sided: true and a box are certain; false and nullopt mean that the long way has to be gone.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

class Schedule;

// (loop // lower % extent) * scale, of a loop that starts at 0. `depth` counts loops from the scope inwards.
struct Digit {
  int depth;
  int64_t lower, extent, scale;  // extent > 1, scale > 0
};
using Digits = boost::container::small_vector<Digit, 8>;
struct DigitSum {
  boost::container::small_vector<Digit, 3> digits;
  int64_t base = 0;
};
struct DigitSpan {  // Of a sum that somebody else holds.
  std::span<const Digit> digits;
  int64_t base = 0;
};
// [first, first + length) of one dimension.
struct DigitRange {
  DigitSum first;
  int64_t length = 1;
};
using DigitBox = boost::container::small_vector<DigitRange, 4>;

// The loops around something in its scope, outermost first, which run from 0 to constants.
class LoopChain {
 public:
  static std::optional<LoopChain> Around(const Schedule& schedule, int row);  // `row` itself left out.
  static std::optional<LoopChain> DownTo(const Schedule& schedule, int loop);
  bool IsAround(const Schedule& schedule, int row) const;  // Still those around.

  int size() const { return static_cast<int>(loops_.size()); }
  int64_t extent(int depth) const { return loops_[depth].extent; }
  // Sums and multiples of loops, their quotients and remainders by what divides them, and numbers.
  std::optional<DigitSum> Read(const Expr& e) const;

 private:
  struct Loop {
    const ExprNode* var;
    int64_t extent;
  };
  bool AddLoop(const For& loop);
  bool Add(const Expr& e, int64_t factor, DigitSum& sum) const;
  std::optional<Digit> ReadDigit(const Expr& e) const;

  std::vector<Loop> loops_;
};

class NestNumbers {
 public:
  // nullptr: the loops around are no chain of constants.
  static std::shared_ptr<const NestNumbers> Of(const Schedule& schedule, int block);
  bool IsStillOf(const Schedule& schedule, int block) const;
  // Of a block whose iter vars run over `domains`, those below `loops`: as if each had a loop inside, after them.
  static NestNumbers OfDomains(const LoopChain& loops, std::span<const DigitRange> domains);

  const LoopChain& loops() const { return loops_; }
  // Nothing but loops and sequences is around the block, and it has no predicate: each iteration runs it.
  bool is_certain() const { return is_certain_; }
  // No two iterations of loop `depth`, those outside being the same, touch one element of `region`.
  bool TellsApart(const BlockNode& block, const BufferRegion& region, int depth) const;
  // No two iterations of the loops from `depth` on, those outside being the same, have the same iter values.
  bool CountsEachOnce(int depth) const;
  // The iter vars, or all that are not data-parallel, take each value of their domains, the first one first; all
  // together, each combination. `once`: only once in the iterations of the loops that feed them.
  bool RunsOverDomains(const BlockNode& block, bool only_reduce, bool once) const;
  // Each iter value counts its loops in steps of one, and none feeds two of them the same.
  bool IsAffine() const;

  // No more than the box is touched while the loops from `depth` on run.
  std::optional<DigitBox> TouchedAtMost(const BlockNode& block, const BufferRegion& region, int depth) const;
  // Each element of the box is, by a store at `indices` that runs whenever the block does.
  std::optional<DigitBox> TouchedForCertain(const BlockNode& block, std::span<const Expr> indices, int depth) const;

 private:
  bool Add(const BlockNode& block, const Expr& e, int64_t factor, DigitSum& sum) const;
  // An index of the block, in terms of its iter vars.
  std::optional<DigitSum> Index(const BlockNode& block, const Expr& e) const;

  struct Value {
    bool is_known = false;
    size_t first = 0, end = 0;  // Of its digits.
    int64_t base = 0;
  };
  void AddValue(const std::optional<DigitSum>& sum);
  std::optional<DigitSpan> ValueOf(size_t iter) const;

  LoopChain loops_;
  std::vector<Expr> iter_values_;  // What `values_` was read from.
  Expr predicate_ = True();
  bool is_certain_ = false;
  std::vector<Digit> digits_;  // Of one value after the other.
  std::vector<Value> values_;  // By iter var.
};

// Whether all of `inner` that lies in a buffer of `shape` lies in `outer`.
bool Covers(const DigitBox& outer, const DigitBox& inner, std::span<const Expr> shape);
// Whether the ranges take, while all of `loops` run, all combinations of the values in the domains.
bool RunOver(const LoopChain& loops, std::span<const DigitRange> ranges, std::span<const IterVar> domains);

}  // namespace lathe
