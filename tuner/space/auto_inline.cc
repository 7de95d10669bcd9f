#include "tuner/space/auto_inline.h"

#include <algorithm>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/get_block.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"

namespace lathe {

namespace {

// Whether the consumer takes each element once, and what makes it is plain.
bool IsUsedOnce(const BlockNode& consumer, const BlockNode& producer) {
  if (!IsLight(producer) || HasBranch(producer)) return false;
  const std::optional<size_t> read = PositionOfRead(consumer, producer.writes[0].buffer);
  if (!read) return false;
  const std::vector<Range>& region = consumer.reads[*read].region;
  return std::all_of(consumer.iter_vars.begin(), consumer.iter_vars.end(), [&](const IterVar& iter) {
    return ExtentOf(iter) == 1 ||
           std::any_of(region.begin(), region.end(), [&](const Range& range) { return range.min.same_as(iter.var); });
  });
}

}  // namespace

bool ShouldInline(const Schedule& schedule, int row) {
  if (!WhyNotComplete(schedule, row).empty() || IsOutputBlock(schedule, row) || schedule.BlockOf(row).init)
    return false;
  const std::vector<int> consumers = ConsumersOf(schedule, row);
  for (int consumer : consumers) {
    const bool is_used_once = consumers.size() == 1 && IsUsedOnce(schedule.BlockOf(consumer), schedule.BlockOf(row));
    if (!IsSpatial(schedule.BlockOf(consumer)) && !is_used_once) return false;
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
