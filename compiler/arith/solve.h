// Which iterations of a producer a consumer needs: the arithmetic of compute_at and reverse_compute_at.
#pragma once

#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// What one block iter var has to run over. `domain` may leave the iter var's own domain at the marked ends (a clamped
// tile would have an extent that is no constant): there the caller adds GuardPredicate.
struct SolvedIterVar {
  Range domain;
  bool guard_lower = false, guard_upper = false;
  bool is_solved = false;  // False: nothing restricts it; `domain` is its own.
};

// One buffer between the two blocks: the box that one iteration of the block touches, in terms of its iter vars, and
// the box that has to be covered, in terms of the loops outside. Same rank.
struct RegionDemand {
  std::vector<Range> touched;
  std::vector<Range> required;
};

// The smallest domains, one per iter var, whose iterations together touch at least `required` of every demand,
// intersected with the iter vars' own domains. Touched points that an affine map of the iter vars makes (vi // 8, vi %
// 8; vi * 64 + vj) are followed back. Else touched indices must be an iter var, an affine function of one iter var, or
// fuse several; dimensions without iter vars demand nothing. Other forms: FailedPrecondition.
StatusOr<std::vector<SolvedIterVar>> SolveBlockVarDomains(const std::vector<IterVar>& iter_vars,
                                                          const std::vector<RegionDemand>& demands,
                                                          const Analyzer& analyzer);

// Holds where `value`, an iteration of `solved`, lies in `own`, the iter var's own domain; true if no guard is needed.
Expr GuardPredicate(const SolvedIterVar& solved, const Range& own, const Expr& value, const Analyzer& analyzer);

}  // namespace lathe
