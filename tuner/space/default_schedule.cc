#include "tuner/space/default_schedule.h"

#include <algorithm>

#include "support/status_macros.h"
#include "tuner/space/auto_inline.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/row_reduction.h"

namespace lathe {
namespace {

// Root-scope blocks; schedules change the rows, not the names.
std::vector<std::string> BlocksToSchedule(const Schedule& schedule) {
  std::vector<std::string> names;
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) names.push_back(schedule.BlockOf(row).name);
  return names;
}

}  // namespace

void ScheduleTheRest(Schedule& schedule, const Target& target) {
  for (const std::string& name : BlocksToSchedule(schedule)) {
    const int row = schedule.FindBlock(name);
    if (row < 0 || !IsPlain(schedule, row)) continue;
    const std::vector<int> loops = schedule.LoopsOf(row);
    if (schedule.ParentOf(loops.front()) != schedule.RootRow() || schedule.ChildBlocksOf(loops.front()).size() != 1)
      continue;
    const bool touched = std::any_of(loops.begin(), loops.end(),
                                     [&](int loop) { return schedule.LoopOf(loop).kind != ForKind::kSerial; });
    if (touched) continue;
    Schedule attempt = schedule;
    const Status status = schedule.BlockOf(row).init ? ScheduleReduction(attempt, name, target)
                                                     : ScheduleElementwise(attempt, name, target);
    if (status.ok()) schedule = std::move(attempt);
  }
}

StatusOr<Schedule> DefaultSchedule(const PrimFunc& workload, const Target& target) {
  ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(workload));
  RETURN_IF_ERROR(AutoInline(schedule));
  if (auto rows = TryRows(schedule, target, Accumulators::kFixed, RowsAtOnce::kOne)) return *std::move(rows);
  // Reductions first: they take their element-wise consumers with them.
  for (const std::string& name : BlocksToSchedule(schedule)) {
    const int row = schedule.FindBlock(name);
    if (row < 0 || !schedule.BlockOf(row).init || !IsPlain(schedule, row)) continue;
    Schedule attempt = schedule;
    if (ScheduleReduction(attempt, name, target).ok()) schedule = std::move(attempt);
  }
  ScheduleTheRest(schedule, target);
  return schedule;
}

}  // namespace lathe
