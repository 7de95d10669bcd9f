// What a function is compiled with until somebody has tuned it.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// Of some candidates of the space, and of those near the best of them, the one that the draft estimate takes for the
// fastest; where the rules leave nothing to choose, DefaultSchedule. Nothing is measured or built. Same workload, same
// target: the same schedule. Tens of milliseconds.
StatusOr<Schedule> UntunedSchedule(const PrimFunc& workload, const Target& target);

}  // namespace lathe
