#include "compiler/transform/default_gpu_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/schedule/add_unit_loop.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/split.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int64_t kMaxBlocksOfThreads = 256;

// The loops of `block` that may run at once, one at least; empty: it is on threads already.
StatusOr<std::vector<LoopRV>> LoopsForThreads(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  ASSIGN_OR_RETURN(const BlockRealize* realize, schedule.Get(block));
  const std::vector<IterVar>& iters = realize->block->iter_vars;
  std::vector<LoopRV> found;
  for (const LoopRV& loop : loops) {
    ASSIGN_OR_RETURN(const For* node, schedule.Get(loop));
    if (node->kind == ForKind::kThreadBinding) return found;
  }
  if (loops.size() != iters.size() && !(loops.empty() && iters.size() == 1))
    return InvalidArgument(
        fmt::format("DefaultGPUSchedule @{} block \"{}\": {} loops for {} iter vars; expected one each",
                    schedule.func().name, realize->block->name, loops.size(), iters.size()));
  for (size_t i = 0; i < loops.size(); ++i)
    if (iters[i].kind == IterKind::kSpatial) found.push_back(loops[i]);
  if (!found.empty()) return found;
  ASSIGN_OR_RETURN(const LoopRV unit, loops.empty() ? AddUnitLoop(schedule, block) : AddUnitLoop(schedule, loops[0]));
  return std::vector<LoopRV>{unit};
}

Status BindToThreads(Schedule& schedule, BlockRV block, int64_t max_threads) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, LoopsForThreads(schedule, block));
  if (loops.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const LoopRV fused, Fuse(schedule, loops, /*preserve_unit_iters=*/false));
  ASSIGN_OR_RETURN(const For* loop, schedule.Get(fused));
  const int64_t* extent = AsIntConst(loop->extent);
  const int64_t size = extent == nullptr ? std::numeric_limits<int64_t>::max() : *extent;
  std::vector<std::optional<ExprRV>> factors = {std::nullopt};
  const bool needs_loop = size > max_threads * kMaxBlocksOfThreads;
  if (needs_loop) factors.emplace_back(ExprRV(kMaxBlocksOfThreads));
  factors.emplace_back(ExprRV(std::min(size, max_threads)));
  ASSIGN_OR_RETURN(std::vector<LoopRV> parts, Split(schedule, fused, factors));
  if (needs_loop) {
    std::rotate(parts.begin(), parts.begin() + 1, parts.end());
    RETURN_IF_ERROR(Reorder(schedule, parts));
  }
  RETURN_IF_ERROR(Bind(schedule, parts[0], "blockIdx.x"));
  return Bind(schedule, parts[1], "threadIdx.x");
}

Status ScheduleBelow(Schedule& schedule, int row, int64_t max_threads) {
  const std::vector<int> children = schedule.ChildBlocksOf(row);
  if (children.empty()) return BindToThreads(schedule, schedule.NewBlockRV(row), max_threads);
  for (const int child : children) RETURN_IF_ERROR(ScheduleBelow(schedule, child, max_threads));
  return OkStatus();
}

}  // namespace

StatusOr<IRModule> DefaultGPUSchedule(IRModule module, int64_t max_threads) {
  for (PrimFunc& func : module.prim_funcs) {
    const auto mark = func.attrs.find("tir.is_scheduled");
    const bool is_scheduled =
        mark != func.attrs.end() && (mark->second == Attr(true) || mark->second == Attr(int64_t{1}));
    if (!is_scheduled) {
      ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(func));
      RETURN_IF_ERROR(ScheduleBelow(schedule, schedule.RootRow(), max_threads));
      func = schedule.func();
    }
    func.attrs.insert_or_assign("tir.is_scheduled", true);
  }
  return module;
}

}  // namespace lathe
