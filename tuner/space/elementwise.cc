#include "tuner/space/elementwise.h"

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/split.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"

namespace lathe {
namespace {

constexpr int64_t kMostUnrolled = 16;  // Steps of a reduction.

using Factors = std::vector<std::optional<ExprRV>>;

// The lanes to use for the iter, by the type that the block writes.
int64_t LanesFor(const BlockNode& block, size_t iter, const Target& target) {
  return ChooseLanes(ExtentOf(block.iter_vars[iter]), VectorsFor(block, target));
}

// The iter to vectorise: the one that gives the most lanes; of those, the first, whose writes are neighbours if any
// one's are. One with lanes to leave out only where there is no other.
std::optional<size_t> IterWithMostLanes(const BlockNode& block, const Target& target) {
  std::optional<size_t> best;
  int64_t most = 0;
  for (size_t iter : VectorizableIters(block, VectorsFor(block, target))) {
    const int64_t lanes = LanesFor(block, iter, target);
    const int64_t rank = lanes <= ExtentOf(block.iter_vars[iter]) ? lanes : IsLight(block) ? 1 : 0;
    if (rank > most) best = iter, most = rank;
  }
  return best;
}

// The iter var that a loop alone feeds, as itself; nullopt otherwise.
std::optional<size_t> IterOfLoop(const Schedule& schedule, int block, int loop) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (realize.iter_values[i].same_as(schedule.LoopOf(loop).loop_var)) return i;
  }
  return std::nullopt;
}

Status TryScheduleReduction(Schedule& schedule, const std::string& name, const Target& target, bool takes_epilogue);

}  // namespace

Status VectorizeInnermost(Schedule& schedule, BlockRV block, const Target& target) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const std::vector<int> loop_rows = schedule.LoopsOf(row);
  if (loop_rows.empty() || schedule.BlockOf(row).writes.size() != 1) return OkStatus();
  const For& innermost = schedule.LoopOf(loop_rows.back());
  const int64_t* extent = AsIntConst(innermost.extent);
  if (extent == nullptr || *extent < 4 || innermost.kind != ForKind::kSerial) return OkStatus();
  const int64_t lanes = ChooseLanes(*extent, VectorsFor(schedule.BlockOf(row), target));
  if (lanes == 1) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  const Factors factors{std::nullopt, ExprRV(lanes)};
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, loops.back(), factors));
  return Vectorize(schedule, parts[1]);
}

namespace {

// An iter of which `period` values in turn choose what is computed: iter == 2, or iter % 4 == 2, in a Select.
struct Chooser {
  size_t iter;
  int64_t period;
};

// All of them, where unrolling them is little code.
std::vector<Chooser> ChoosersOf(const BlockNode& block) {
  constexpr int64_t kMostCopies = 64;
  std::vector<int64_t> periods(block.iter_vars.size(), 1);
  const auto note = [&](const Expr& index) {
    const Binary* remainder = index.As<Binary>();
    const bool is_remainder = remainder != nullptr && remainder->op == BinaryOp::kFloorMod;
    const int64_t* period = is_remainder ? AsIntConst(remainder->b) : nullptr;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Var& var = block.iter_vars[i].var;
      if (index.same_as(var)) periods[i] = std::max(periods[i], ExtentOf(block.iter_vars[i]));
      if (period != nullptr && remainder->a.same_as(var)) periods[i] = std::max(periods[i], *period);
    }
  };
  PostOrderVisit(block.body, [&](const Expr& e) {
    const Select* select = e.As<Select>();
    const Binary* test = select == nullptr ? nullptr : select->condition.As<Binary>();
    if (test != nullptr && test->op == BinaryOp::kEQ && AsIntConst(test->b) != nullptr) note(test->a);
  });
  std::vector<Chooser> choosers;
  int64_t copies = 1;
  for (size_t i = 0; i < periods.size(); ++i) {
    if (periods[i] == 1) continue;
    choosers.push_back({i, periods[i]});
    copies *= periods[i];
  }
  return copies <= kMostCopies ? choosers : std::vector<Chooser>();
}

// Each formula is written out by itself, innermost but for the lanes; a plane is left to one task.
Status ScheduleChoices(Schedule& schedule, BlockRV block, const std::vector<Chooser>& choosers, const Target& target) {
  constexpr size_t kLoopsOfPlane = 2;
  ASSIGN_OR_RETURN(std::vector<LoopRV> loops, GetLoops(schedule, block));
  RETURN_IF_ERROR(VectorizeInnermost(schedule, block, target));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> with_lanes, GetLoops(schedule, block));
  const bool has_lanes = with_lanes.size() > loops.size();
  if (has_lanes) loops.back() = with_lanes[loops.size() - 1];
  std::vector<LoopRV> copies;
  std::vector<bool> is_whole(loops.size(), false);
  for (const Chooser& chooser : choosers) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(loops[chooser.iter]));
    const int64_t* extent = AsIntConst(schedule.LoopOf(row).extent);
    is_whole[chooser.iter] = extent != nullptr && *extent <= chooser.period;
    if (is_whole[chooser.iter]) {
      copies.push_back(loops[chooser.iter]);
      continue;
    }
    const Factors by_period{std::nullopt, ExprRV(chooser.period)};
    ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, loops[chooser.iter], by_period));
    loops[chooser.iter] = parts[0];
    copies.push_back(parts[1]);
  }
  std::vector<LoopRV> order;
  for (size_t i = 0; i < loops.size(); ++i)
    if (!is_whole[i]) order.push_back(loops[i]);
  const std::vector<LoopRV> outer(order.begin(),
                                  order.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(
                                                      1, order.size() - std::min(order.size(), kLoopsOfPlane + 1))));
  order.insert(order.end(), copies.begin(), copies.end());
  if (has_lanes) order.push_back(with_lanes.back());
  RETURN_IF_ERROR(Reorder(schedule, order));
  for (const LoopRV copy : copies) RETURN_IF_ERROR(Unroll(schedule, copy));
  ASSIGN_OR_RETURN(const LoopRV task, Fuse(schedule, outer));
  return Parallel(schedule, task);
}

}  // namespace

Status ScheduleElementwise(Schedule& schedule, const std::string& name, const Target& target) {
  ASSIGN_OR_RETURN(const BlockRV block, GetBlock(schedule, name, schedule.func().name));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  if (loops.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const std::vector<Chooser> choosers = ChoosersOf(schedule.BlockOf(row));
  if (!choosers.empty() && choosers.back().iter + 1 < loops.size() && IsTriviallyBound(schedule, row))
    return ScheduleChoices(schedule, block, choosers, target);
  if (loops.size() == 1) {
    RETURN_IF_ERROR(VectorizeInnermost(schedule, block, target));
    ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, GetLoops(schedule, block));
    return parts.size() > 1 ? Parallel(schedule, parts[0]) : OkStatus();
  }
  RETURN_IF_ERROR(VectorizeInnermost(schedule, block, target));
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, std::span(loops).first(loops.size() - 1)));
  return Parallel(schedule, outer);
}

Status ScheduleReduction(Schedule& schedule, const std::string& name, const Target& target) {
  Schedule attempt = schedule;
  if (const Status status = TryScheduleReduction(attempt, name, target, /*takes_epilogue=*/true); !status.ok()) {
    // Its consumer needs more than this sum, as a softmax does: it stays where it is.
    return TryScheduleReduction(schedule, name, target, /*takes_epilogue=*/false);
  }
  schedule = std::move(attempt);
  return OkStatus();
}

namespace {

// So that a window's sum stays in a register.
Status UnrollInnermost(Schedule& schedule, const std::vector<LoopRV>& loops) {
  int64_t steps = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(loops[i]));
    const int64_t* extent = AsIntConst(schedule.LoopOf(row).extent);
    if (extent == nullptr || steps * *extent > kMostUnrolled) break;
    steps *= *extent;
    RETURN_IF_ERROR(Unroll(schedule, loops[i]));
  }
  return OkStatus();
}

Status TryScheduleReduction(Schedule& schedule, const std::string& name, const Target& target, bool takes_epilogue) {
  ASSIGN_OR_RETURN(const BlockRV block, GetBlock(schedule, name, schedule.func().name));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const BlockNode node = schedule.BlockOf(row);
  const std::vector<int> consumers = ConsumersOf(schedule, row);
  const bool has_epilogue = takes_epilogue && consumers.size() == 1 && IsSpatial(schedule.BlockOf(consumers[0])) &&
                            !IsOutputBlock(schedule, row);
  const std::string epilogue = has_epilogue ? schedule.BlockOf(consumers[0]).name : "";
  const std::optional<size_t> vector_iter = IterWithMostLanes(node, target);
  // What is stored by some lanes only stays in memory unless it is promised to be a register.
  const bool is_masked = vector_iter &&
                         ExtentOf(node.iter_vars[*vector_iter]) % LanesFor(node, *vector_iter, target) != 0 &&
                         IsLight(node);
  ASSIGN_OR_RETURN(BlockRV write_back, CacheWrite(schedule, block, 0, is_masked ? "register" : "local"));
  if (has_epilogue) {
    RETURN_IF_ERROR(ComputeInline(schedule, write_back));
    ASSIGN_OR_RETURN(write_back, GetBlock(schedule, epilogue, schedule.func().name));
  }

  // Data-parallel loops, the vector loop last among them, then its lanes inside the reductions.
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  ASSIGN_OR_RETURN(const int tiled_row, schedule.RowOf(block));
  std::vector<LoopRV> spatial, reduce;
  std::optional<LoopRV> lanes;
  const std::vector<int> loop_rows = schedule.LoopsOf(tiled_row);
  std::vector<std::optional<size_t>> iters;
  for (int loop : loop_rows) iters.push_back(IterOfLoop(schedule, tiled_row, loop));
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!iters[i]) return schedule.Error("schedule reduction", tiled_row, "a loop does not feed exactly one iter var");
    if (node.iter_vars[*iters[i]].kind == IterKind::kReduce) {
      reduce.push_back(loops[i]);
    } else if (iters[i] == vector_iter) {
      const Factors factors{std::nullopt, ExprRV(LanesFor(node, *iters[i], target))};
      ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, loops[i], factors));
      spatial.push_back(parts[0]);
      lanes = parts[1];
    } else {
      spatial.push_back(loops[i]);
    }
  }
  if (spatial.empty()) {  // A sum of everything: one loop of one iteration carries it.
    return DecomposeReduction(schedule, block, reduce.front()).status();
  }
  std::vector<LoopRV> order = spatial;
  order.insert(order.end(), reduce.begin(), reduce.end());
  if (lanes) order.push_back(*lanes);
  RETURN_IF_ERROR(Reorder(schedule, order));
  RETURN_IF_ERROR(ReverseComputeAt(schedule, write_back, spatial.back()));
  ASSIGN_OR_RETURN(const int write_back_row, schedule.RowOf(write_back));
  const bool has_own_loops =
      schedule.LoopsOf(write_back_row).size() > spatial.size();  // Else its innermost loop is around the sum as well.
  if (has_own_loops) RETURN_IF_ERROR(VectorizeInnermost(schedule, write_back, target));
  if (lanes) RETURN_IF_ERROR(Vectorize(schedule, *lanes));
  RETURN_IF_ERROR(UnrollInnermost(schedule, reduce));
  ASSIGN_OR_RETURN(const LoopRV outer,
                   Fuse(schedule, std::span(spatial).first(std::max<size_t>(1, spatial.size() - 1))));
  RETURN_IF_ERROR(Parallel(schedule, outer));
  // Last: the update alone is no reduction block any more.
  return reduce.empty() ? OkStatus() : DecomposeReduction(schedule, block, reduce.front()).status();
}

}  // namespace
}  // namespace lathe
