// Schedules of one workload made to fit another one that differs in extents. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/search/search_strategy.h"

namespace lathe {

// The factorisation of `extent` nearest to `tile`: as many factors, the last at most `innermost_limit`; empty if there
// is none. Distances are doublings, those of inner factors count more; the outermost factor is what the others leave.
std::vector<int64_t> NearestTile(std::span<const int64_t> tile, int64_t extent, int64_t innermost_limit);

// `trace`, of another workload, for that of `task`: the sketch of the task that has the same primitives, given the same
// numbers as far as possible, or where there is none and the task allows it the primitives of the trace itself, with
// each decision the nearest one that is possible here. InvalidArgument: no sketch fits. What is returned replays, and
// may still break a constraint.
StatusOr<ScheduleTrace> AdaptTrace(const TuneTask& task, const ScheduleTrace& trace);

}  // namespace lathe
