// What a < b + 2 and b <= c + 1 say of a and c.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/expr.h"

namespace lathe {

// rest + offset.
struct OffsetPart {
  Expr rest;
  int64_t offset;
};
OffsetPart SplitOffset(const Expr& e);

// What comparisons (<, <=, == of integers; other expressions are passed over) say of differences. A value.
class InequalityChains {
 public:
  explicit InequalityChains(const std::vector<Expr>& known, const std::vector<Expr>& more = {});
  bool empty() const { return steps_.empty(); }
  // The most that a - b can be by one of them; by a chain of them: shortest paths over what they compare. nullopt:
  // nothing is known.
  std::optional<int64_t> LargestDifference(const Expr& a, const Expr& b, bool is_chain) const;

 private:
  struct Step {  // from - to <= most.
    Expr from, to;
    int64_t most;
  };
  struct Reached {
    Expr at;
    int64_t most;  // From the start to here.
  };
  void Add(const Expr& condition);
  void AddStep(const OffsetPart& a, const OffsetPart& b, int64_t slack);
  static bool Reach(const Expr& at, int64_t most, std::vector<Reached>& reached);
  bool TakeSteps(std::vector<Reached>& reached) const;

  std::vector<Step> steps_;
};

}  // namespace lathe
