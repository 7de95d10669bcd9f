#include "tuner/space/schedule_template.h"

#include "compiler/schedule/annotate.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/sampling.h"
#include "support/status_macros.h"

namespace lathe {

StatusOr<TemplateNest> TemplateNest::Create(Schedule& schedule, BlockRV block, const LaneChoice& lanes) {
  ASSIGN_OR_RETURN(const BlockRV write_back, AddAccumulators(schedule, block, "register"));
  TemplateNest nest(schedule, block, write_back, lanes);
  ASSIGN_OR_RETURN(nest.loops_, GetLoops(schedule, block));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  if (nest.loops_.size() != schedule.BlockOf(row).iter_vars.size())
    return schedule.Error("apply template", row, "its loops are not its iter vars");
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, SplitInner(schedule, nest.loops_[lanes.iter], ExprRV(lanes.lanes)));
  nest.loops_[lanes.iter] = parts[0];
  nest.lane_loop_ = parts[1];
  return nest;
}

Status TemplateNest::NameKnob(const char* knob, const std::vector<VarRV>& vars) {
  TraceItems items;
  for (VarRV var : vars) items.push_back({var});
  return Annotate(schedule_, block_, std::string("knob.") + knob, items);
}

Status TemplateNest::DefineSplit(const char* knob, size_t iter, const std::vector<NestLevel>& levels, int most) {
  ASSIGN_OR_RETURN(const std::vector<VarRV> sizes,
                   SamplePerfectTile(schedule_, loops_[iter], static_cast<int>(levels.size()), most));
  RETURN_IF_ERROR(NameKnob(knob, sizes));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, SplitBy(schedule_, loops_[iter], sizes));
  for (size_t i = 0; i < levels.size(); ++i) at(levels[i]).push_back(parts[i]);
  return OkStatus();
}

Status TemplateNest::DefineUnroll(const char* knob, size_t iter) {
  ASSIGN_OR_RETURN(const For* loop, schedule_.Get(loops_[iter]));
  const int64_t* extent = AsIntConst(loop->extent);
  if (extent == nullptr || *extent == 1) {
    Place(iter, NestLevel::kSteps);
    return OkStatus();
  }
  const std::array<int64_t, 2> steps{1, *extent};
  const std::array<double, 2> evenly{0.5, 0.5};
  ASSIGN_OR_RETURN(const VarRV unrolled, SampleCategorical(schedule_, steps, evenly));
  RETURN_IF_ERROR(NameKnob(knob, {unrolled}));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, SplitInner(schedule_, loops_[iter], ExprRV(unrolled)));
  at(NestLevel::kSteps).push_back(parts[0]);
  at(NestLevel::kUnrolled).push_back(parts[1]);
  return OkStatus();
}

Status TemplateNest::Finish() {
  std::vector<LoopRV> order;
  for (const auto& level : levels_) order.insert(order.end(), level.begin(), level.end());
  order.push_back(lane_loop_);
  RETURN_IF_ERROR(Reorder(schedule_, order));
  const std::vector<LoopRV>& middle = at(NestLevel::kMiddle);
  const LoopRV at_tile = middle.empty() ? at(NestLevel::kOuter).back() : middle.back();
  RETURN_IF_ERROR(WriteBackAt(schedule_, block_, write_back_, at_tile, lanes_, /*is_unrolled=*/true));
  RETURN_IF_ERROR(Vectorize(schedule_, lane_loop_));
  RETURN_IF_ERROR(UnrollAll(schedule_, at(NestLevel::kTile)));
  RETURN_IF_ERROR(UnrollAll(schedule_, at(NestLevel::kUnrolled)));
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule_, at(NestLevel::kOuter)));
  RETURN_IF_ERROR(Parallel(schedule_, outer));
  return DecomposeReduction(schedule_, block_, at(NestLevel::kSteps).front()).status();
}

}  // namespace lathe
