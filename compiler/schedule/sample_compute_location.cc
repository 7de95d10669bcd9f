#include "compiler/schedule/sample_compute_location.h"

#include <algorithm>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int64_t kStay = -1, kInline = -2;

bool CanComputeInline(const Schedule& schedule, int block) {
  Schedule copy = schedule;
  return InlineBlock(copy, block).ok();
}
bool CanComputeAt(const Schedule& schedule, BlockRV block, int loop) {
  Schedule copy = schedule;
  return ComputeAt(copy, block, copy.NewLoopRV(loop), /*preserve_unit_loops=*/true).ok();
}

// Whether every iter var below that is bound to something with this loop in it is data-parallel.
bool IsDataParallel(const Schedule& schedule, int loop) {
  const ExprNode* loop_var = schedule.LoopOf(loop).loop_var.get();
  const std::vector<int> blocks = schedule.ChildBlocksOf(loop);
  return std::all_of(blocks.begin(), blocks.end(), [&](int block) {
    const BlockRealize& realize = schedule.RealizeOf(block);
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      const bool is_bound = UsesVar(realize.iter_values[i], loop_var);
      if (is_bound && realize.block->iter_vars[i].kind != IterKind::kSpatial) return false;
    }
    return true;
  });
}

// The loops around all consumers, outermost first.
std::vector<int> SharedLoops(const Schedule& schedule, const std::vector<int>& consumers) {
  std::vector<int> loops = schedule.LoopsOf(consumers[0]);
  std::erase_if(loops, [&](int loop) {
    return !std::all_of(consumers.begin(), consumers.end(),
                        [&](int block) { return schedule.IsAncestor(loop, block); });
  });
  return loops;
}

// Decision -> row of the loop (-1: none), ascending.
std::vector<std::pair<int64_t, int>> Candidates(const Schedule& schedule, BlockRV block_rv, int block) {
  std::vector<std::pair<int64_t, int>> candidates;
  if (CanComputeInline(schedule, block)) candidates.emplace_back(kInline, -1);
  candidates.emplace_back(kStay, -1);
  const std::vector<int> consumers = ConsumersOf(schedule, block);
  if (consumers.empty()) return candidates;
  const std::vector<int> loops = SharedLoops(schedule, consumers);
  int last_parallel = -1;
  for (size_t i = 0; i < loops.size(); ++i)
    if (IsDataParallel(schedule, loops[i])) last_parallel = static_cast<int>(i);
  bool has_reduced = false;
  for (int i = 0; i < static_cast<int>(loops.size()); ++i) {
    if (IsConstInt(schedule.LoopOf(loops[i]).extent, 1)) continue;
    const bool is_parallel = IsDataParallel(schedule, loops[i]);
    if (is_parallel ? has_reduced : i > last_parallel) break;
    has_reduced = has_reduced || !is_parallel;
    if (CanComputeAt(schedule, block_rv, loops[i])) candidates.emplace_back(i, loops[i]);
  }
  return candidates;
}

}  // namespace

StatusOr<LoopRV> SampleComputeLocation(Schedule& schedule, BlockRV block_rv, const Decision* decision) {
  constexpr const char* kName = "sample_compute_location";
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  if (schedule.ScopeOf(block) < 0) return schedule.Error(kName, block, "the root block has no other place");
  const std::vector<std::pair<int64_t, int>> candidates = Candidates(schedule, block_rv, block);
  size_t chosen = 0;
  if (decision == nullptr) {
    chosen = schedule.random().Below(candidates.size());
  } else {
    const int64_t* wish = std::get_if<int64_t>(decision);
    if (wish == nullptr) return schedule.Error(kName, block, "the decision is no number");
    while (chosen + 1 < candidates.size() && candidates[chosen + 1].first <= *wish) ++chosen;
    if (candidates[chosen].first > *wish)  // Below all of them: it stays.
      while (candidates[chosen].first != kStay) ++chosen;
  }
  const auto [index, loop] = candidates[chosen];
  const LoopMark mark = index == kInline ? LoopMark::kInline : LoopMark::kRoot;
  const LoopRV result = loop >= 0 ? schedule.NewLoopRV(loop) : schedule.NewMarkRV(mark);
  schedule.Record("SampleComputeLocation", {block_rv}, {}, {result.id}, Decision(index));
  return result;
}

}  // namespace lathe
