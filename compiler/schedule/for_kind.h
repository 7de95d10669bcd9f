// Marking how a loop runs.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// parallel: iterations run on any thread; vectorize: as lanes of one instruction. All blocks below are complete or
// reductions, the loop feeds data-parallel iter vars only, and iterations do not meet (independence.h). A vectorized
// loop has no parallel or vectorized one inside.
Status Parallel(Schedule& schedule, LoopRV loop);
Status Vectorize(Schedule& schedule, LoopRV loop);
// bind: iterations are the threads of `thread_axis`, "blockIdx.x" ... "threadIdx.z", "vthread", "vthread.x" ...; as
// parallel, but threadIdx may feed reduce iter vars. A loop around or inside on the same
// axis has the same extent, and the threads share the work of the inner one: it writes what they share, and knows
// nothing of the outer one.
Status Bind(Schedule& schedule, LoopRV loop, const std::string& thread_axis);
// unroll: the body is written out once per iteration. Always allowed.
Status Unroll(Schedule& schedule, LoopRV loop);

}  // namespace lathe
