#include "tuner/space/auto_inline.h"

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/get_block.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"

namespace lathe {

bool ShouldInline(const Schedule& schedule, int row) {
  if (!WhyNotComplete(schedule, row).empty() || IsOutputBlock(schedule, row) || schedule.BlockOf(row).init)
    return false;
  for (int consumer : ConsumersOf(schedule, row)) {
    if (!IsSpatial(schedule.BlockOf(consumer))) return false;
    if (HasBranch(schedule.BlockOf(consumer)) && HasBranch(schedule.BlockOf(row))) return false;
  }
  return true;
}

Status AutoInline(Schedule& schedule) {
  std::vector<std::string> names;
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) names.push_back(schedule.BlockOf(row).name);
  for (const std::string& name : names) {
    const int row = schedule.FindBlock(name);
    if (row < 0 || !ShouldInline(schedule, row)) continue;
    Schedule attempt = schedule;  // An inlining that turns out illegal leaves no trace.
    ASSIGN_OR_RETURN(const BlockRV block, GetBlock(attempt, name, schedule.func().name));
    if (ComputeInline(attempt, block).ok()) schedule = std::move(attempt);
  }
  return OkStatus();
}

}  // namespace lathe
