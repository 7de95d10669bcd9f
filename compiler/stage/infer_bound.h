// What each axis of each stage runs over, from what is read of its results. For StageSchedule alone.
#pragma once

#include <utility>
#include <vector>

#include "compiler/stage/stage_schedule.h"

namespace lathe::te {

// `stages`: producers before consumers. Axes of the operations, those made from them, and the threads that they are
// bound to: where each begins, in terms of the loops around, and how many values it takes. InvalidArgument: one thread
// axis is bound to loops of different extents.
StatusOr<std::vector<std::pair<IterVar, Range>>> InferBounds(const std::vector<const Stage*>& stages,
                                                             const std::vector<Operation>& outputs);

}  // namespace lathe::te
