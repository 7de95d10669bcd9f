// Schedules of blocks without data reuse.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// A data-parallel block in a nest of its own: outer loops fused and parallel, the innermost loop in vectors. Fixed
// sizes, nothing sampled.
Status ScheduleElementwise(Schedule& schedule, const std::string& name, const Target& target);

// Splits the innermost loop around the block by the lanes of the target and vectorizes it, if it moves the block's
// writes by one element.
Status VectorizeInnermost(Schedule& schedule, BlockRV block, const Target& target);

// A reduction without tiles: outer data-parallel loops parallel, the data-parallel loop that gives the most lanes in
// vectors (neighbouring writes before others), the reductions inside with a local accumulator; its one element-wise
// consumer is computed where a sum is ready, if it needs nothing else.
Status ScheduleReduction(Schedule& schedule, const std::string& name, const Target& target);

}  // namespace lathe
