// What regions cover while loops run, as intervals: exactly, or at most.
#pragma once

#include <optional>
#include <vector>

#include "compiler/arith/int_set.h"
#include "compiler/arith/iter_map.h"

namespace lathe {

// The box that `region` covers, all of it, while `loops` run where `predicate` holds; nullopt where that is no box, or
// not known to be one: dimensions that share an iterator, steps that leave gaps. TVM's strict bound, which is also its
// lower bound.
std::optional<std::vector<IntSet>> EstimateRegionStrictBound(const std::vector<Range>& region, const IterDomain& loops,
                                                             const Expr& predicate, const Analyzer& analyzer);
// The strict bound, or else a box that holds what is covered.
std::vector<IntSet> EstimateRegionUpperBound(const std::vector<Range>& region, const IterDomain& loops,
                                             const Expr& predicate, const Analyzer& analyzer);

}  // namespace lathe
