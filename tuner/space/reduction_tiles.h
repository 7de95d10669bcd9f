// Rule: reductions that use most of their input once, by vectors of results: sums of columns, a vector by a matrix.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// A reduction without reuse, or with reuse of what is small beside a read that is larger than a second-level cache,
// whose lanes are neighbouring results:
//   parallel [fused outer tiles] { outer steps { tiles { inner steps (unrolled) { vectors (unrolled) { lanes } } } }
//     write back with epilogue }
// The sums of a task's tiles stand in local memory, so that the input is walked through as it lies, a few of its rows
// at once, instead of one column of vectors after the other. Sizes are sampled. Not of lanes that are apart and of
// padded input, as in pools: those are faster without.
std::vector<Schedule> ReductionTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
