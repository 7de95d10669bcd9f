// From a workload to the traces that a search samples.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// One way to schedule a workload: a trace without decisions; each replay with a new seed is another candidate.
struct Sketch {
  ScheduleTrace trace;
};

class SpaceGenerator {
 public:
  virtual ~SpaceGenerator() = default;
  // At least one sketch, or the reason why there is none. Same input, same sketches.
  virtual StatusOr<std::vector<Sketch>> Generate(const PrimFunc& workload, const Target& target) const = 0;
};

// MetaSchedule's post-order-apply with Lathe's rules for CPUs: AutoInline, multi-level tiling with a register tile for
// each axis that can be vectorized, element-wise and reduction schedules for the rest.
std::unique_ptr<SpaceGenerator> MakePostOrderApply();

// The schedule of a workload that nobody has tuned: inlined, parallel, vectorized, fixed sizes. Never fails on a
// schedulable function: a block that fits no rule keeps its loops. Recorded in the schedule's trace.
StatusOr<Schedule> DefaultSchedule(const PrimFunc& workload, const Target& target);

// Whether a candidate may be built: its register tile fits the target, its parallel and unrolled extents are sane.
// FailedPrecondition says which bound it breaks. Cheap: nothing is lowered.
Status CheckConstraints(const Schedule& candidate, const Target& target);

}  // namespace lathe
