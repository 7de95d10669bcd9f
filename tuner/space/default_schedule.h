// Schedules of fixed sizes: of a workload that nobody has tuned, and of the blocks beside those that a rule tiles.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// The schedule of a workload that nobody has tuned: inlined, parallel, vectorized, fixed sizes. Never fails on a
// schedulable function: a block that fits no rule keeps its loops. Recorded in the schedule's trace.
StatusOr<Schedule> DefaultSchedule(const PrimFunc& workload, const Target& target);

// Schedules every block that still has a nest of its own and no parallel or vectorized loop.
void ScheduleTheRest(Schedule& schedule, const Target& target);

}  // namespace lathe
