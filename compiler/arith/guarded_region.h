// What an access touches under its guards: at most, for who reads, and for certain, for who relies on a write.
#pragma once

#include <optional>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/iter_map.h"
#include "compiler/ir/stmt.h"

namespace lathe {

// A box of a buffer, cut by what a predicate says about its indices.
struct GuardedRegion {
  std::vector<Range> box;
  std::vector<std::vector<Expr>> from,
      below;                     // Per dimension: elements before `from` and from `below` on are not touched.
  std::vector<Expr> conditions;  // Without variables of the loops: where one fails, nothing is touched.
};

// One access: `region` in terms of the variables of `loops` (outermost first) and of others, which stay symbolic.
struct GuardedAccess {
  std::vector<Range> region;
  IterDomain loops;
  Expr predicate = True();
};

// `analyzer` knows the other variables, not those of the loops: in these functions a loop may run not at all.
//
// No element outside is touched. `full`: the buffer's shape as ranges.
GuardedRegion TouchedAtMost(const GuardedAccess& access, const std::vector<Range>& full, const Analyzer& analyzer);
// Every element inside is touched; nullopt where there may be gaps, or where the predicate is no bound on an index.
std::optional<GuardedRegion> TouchedForCertain(const GuardedAccess& access, const Analyzer& analyzer);
// Whether `goal` holds where `fact` does, both comparisons of integers: a constant times what has to be negative is at
// most what is. So of loops that were split twice, i_0 * 3 + i_1 < 11 where (i_0 * 3 + i_1) * 3 + i_2 < 32.
bool FollowsFrom(const Expr& goal, const Expr& fact, const IterDomain& loops, const Analyzer& analyzer);
// Assumes that extents of parameters that are variables are at least 1. As in TVM, a reduction over such a dimension
// counts as one that runs: of nothing, it makes nothing, before and after.
void AssumeShapes(const PrimFunc& func, Analyzer& analyzer);
// `box` uncut: all of it, whatever the variables are.
GuardedRegion WholeBox(std::vector<Range> box);
// `region`'s box without what its guards cut off. What is left of a length is in TVM's form: 64 - max(i * 10, 54).
std::vector<Range> CutBox(const GuardedRegion& region, const Analyzer& analyzer);
// All that `inner` touches inside the buffer lies in `outer`.
bool Covers(const GuardedRegion& outer, const GuardedRegion& inner, const std::vector<Range>& full,
            const Analyzer& analyzer);

}  // namespace lathe
