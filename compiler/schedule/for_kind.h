// Marking how a loop runs.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// parallel: iterations run on any thread; vectorize: as lanes of one instruction. All blocks below are complete or
// reductions, the loop feeds data-parallel iter vars only, and iterations do not meet (independence.h). A vectorized
// loop has no parallel or vectorized one inside.
Status Parallel(Schedule& schedule, LoopRV loop);
Status Vectorize(Schedule& schedule, LoopRV loop);
// unroll: the body is written out once per iteration. Always allowed.
Status Unroll(Schedule& schedule, LoopRV loop);

}  // namespace lathe
