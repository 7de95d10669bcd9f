#include "compiler/stage/stage_lowering.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/add_unit_loop.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/rewrite_tree.h"
#include "compiler/schedule/rolling_buffer.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/set_axis_separator.h"
#include "compiler/schedule/split.h"
#include "compiler/schedule/tensorize.h"
#include "compiler/schedule/transform_block_layout.h"
#include "compiler/schedule/transform_layout.h"
#include "compiler/stage/stage_places.h"
#include "compiler/stage/tensor_intrin.h"
#include "compiler/te/nest.h"
#include "compiler/te/scan.h"
#include "support/status_macros.h"

namespace lathe::te {

// Walks the stages with a TensorIR schedule of their function.
class StageLowering {
 public:
  explicit StageLowering(lathe::Schedule& schedule) : schedule_(schedule) {}

  // Whether the results of the stage, several, are computed in a nest each: what moves to its reader moves by itself.
  static bool ComesApart(const Stage& stage) {
    return HasSeveralBlocks(*stage.op_) && (stage.place() != nullptr || stage.is_inlined_);
  }

  Status Run(const std::vector<const Stage*>& stages) {
    RETURN_IF_ERROR(FindBlocks(WithoutBodies(stages), schedule_.NewBlockRV(schedule_.RootRow())));
    for (const Stage* stage : stages) {
      if (!stage->is_inlined_) continue;
      for (BlockRV block : blocks_of_.at(stage)) RETURN_IF_ERROR(Of(*stage, lathe::ComputeInline(schedule_, block)));
    }
    for (size_t i = stages.size(); i-- > 0;) {
      if (!stages[i]->is_inlined_) RETURN_IF_ERROR(Of(*stages[i], Apply(*stages[i])));
    }
    for (const Stage* stage : stages)
      if (stage->rolls_ && !stage->is_inlined_)
        RETURN_IF_ERROR(Of(*stage, lathe::RollingBuffer(schedule_, blocks_of_.at(stage)[0], 0)));
    return OkStatus();
  }

  // Takes the starts of reductions out of loops that may have no iteration.
  Status StartRagged() {
    for (const auto& [stage, block] : inner_of_) {
      ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule_, block));
      const Status started = DecomposeReduction(schedule_, block, loops[0]).status();
      RETURN_IF_ERROR(Of(*stage, started));
    }
    return OkStatus();
  }

  // Takes the starts of reductions out of their loops, where the schedule lets it.
  void StartApart(const std::vector<const Stage*>& stages) {
    for (const Stage* stage : stages) {
      const std::optional<LoopRV> first = FirstReduced(*stage, loops_of_[stage]);
      if (!first || inner_of_.contains(stage)) continue;
      const StatusOr<BlockRV> start = DecomposeReduction(schedule_, blocks_of_.at(stage)[0], *first);
      if (start.ok()) starts_.emplace_back(stage, *start);
    }
  }

  // The variables of axes, by those that their loops have now; what starts apart from an axis has a new one.
  VarMap AxisVars() const {
    VarMap vars;
    std::unordered_map<const Stage*, std::unordered_map<std::string, std::string>> by_name;
    for (const auto& [stage, loops] : loops_of_) {
      for (const IterVar& leaf : stage->leaves_) {
        const auto loop = loops.find(leaf.var.get());
        const StatusOr<const For*> node = loop == loops.end() ? NotFound("") : schedule_.Get(loop->second);
        if (!node.ok()) continue;
        const Var now = (*node)->loop_var;
        const bool is_same_type = leaf.var.dtype() == now.dtype();
        vars.insert_or_assign(now.get(), is_same_type ? leaf.var : Var(leaf.var.name(), now.dtype()));
        by_name[stage].insert_or_assign(now.name() + "_init", leaf.var.name() + ".init");
      }
    }
    for (const auto& [stage, start] : starts_) {
      for (const LoopRV loop : GetLoops(schedule_, start).value()) {
        const Var var = (*schedule_.Get(loop))->loop_var;
        const auto name = by_name[stage].find(var.name());
        if (name != by_name[stage].end()) vars.emplace(var.get(), Var(name->second, var.dtype()));
      }
    }
    return vars;
  }

 private:
  using LoopMap = std::unordered_map<const ExprNode*, LoopRV>;  // By the variable of an axis.

  // The outermost loop that a stage reduces over; none where threads share the work, or an intrinsic does it.
  static std::optional<LoopRV> FirstReduced(const Stage& stage, const LoopMap& loops) {
    const auto is_other = [](const Stage::Step& step) {
      return step.kind == Stage::Step::kTensorize ||
             (step.kind == Stage::Step::kBind && step.from[0].kind == IterKind::kReduce);
    };
    if (std::any_of(stage.steps_.begin(), stage.steps_.end(), is_other)) return std::nullopt;
    for (const IterVar& leaf : stage.leaves_) {
      if (leaf.kind != IterKind::kReduce) continue;
      const auto loop = loops.find(leaf.var.get());
      return loop == loops.end() ? std::nullopt : std::optional<LoopRV>(loop->second);
    }
    return std::nullopt;
  }

  static bool HasSeveralBlocks(const OperationNode& op) {
    const ComputeOp* compute = op.As<ComputeOp>();
    return compute != nullptr && !compute->is_reduction() && compute->body.size() > 1;
  }
  static Status Of(const Stage& stage, const Status& status) {
    return status.WithContext("stage \"" + stage.op()->name() + "\"");
  }

  // The blocks below `parent` stand in the order of the stages, several for a compute of several results. A scan has
  // one per result, then that of its steps.
  Status FindBlocks(const std::vector<const Stage*>& stages, BlockRV parent) {
    ASSIGN_OR_RETURN(const std::vector<BlockRV> blocks, GetChildBlocks(schedule_, parent));
    size_t next = 0;
    for (const Stage* stage : stages) {
      const size_t count = HasSeveralBlocks(*stage->op_) ? stage->op_->num_outputs() : 1;
      const bool is_scan = stage->op_->As<ScanOp>() != nullptr;
      if (is_scan) next += stage->op_->num_outputs();
      CHECK(next + count <= blocks.size()) << "stage " << stage->op_->name() << " has no block";
      const size_t apart = ComesApart(*stage) ? count : 1;
      blocks_of_.emplace(stage, std::vector<BlockRV>(blocks.begin() + next, blocks.begin() + next + apart));
      if (is_scan) RETURN_IF_ERROR(FindBlocks(body_of_.at(stage), blocks[next]));
      next += count;
    }
    return OkStatus();
  }

  // Apart: what the steps of scans compute. It stands in their blocks.
  std::vector<const Stage*> WithoutBodies(const std::vector<const Stage*>& stages) {
    for (const Stage* scan : stages) {
      if (scan->op_->As<ScanOp>() == nullptr) continue;
      std::vector<const Stage*>& body = body_of_[scan];
      for (const Operation& op : ScanBody(*scan->op_)) {
        const auto stage = std::find_if(stages.begin(), stages.end(), [&](const Stage* s) { return s->op_ == op; });
        CHECK(stage != stages.end()) << op->name() << " has no stage";
        body.push_back(*stage);
        scan_of_.emplace(*stage, scan);
      }
    }
    std::vector<const Stage*> outside = stages;
    std::erase_if(outside, [&](const Stage* stage) { return scan_of_.contains(stage); });
    return outside;
  }
  const Stage* ScanOf(const Stage* stage) const {
    const auto scan = scan_of_.find(stage);
    return scan == scan_of_.end() ? nullptr : scan->second;
  }

  // Where there are several blocks, the loops of the first are what others are computed at.
  Status Apply(const Stage& stage) {
    const std::vector<BlockRV>& blocks = blocks_of_.at(&stage);
    for (size_t i = blocks.size(); i-- > 0;) RETURN_IF_ERROR(Apply(stage, blocks[i]));
    return OkStatus();
  }
  Status Apply(const Stage& stage, BlockRV block) {
    for (const auto& [key, value] : stage.annotations_) RETURN_IF_ERROR(Annotate(schedule_, block, key, value));
    if (stage.place() != nullptr) RETURN_IF_ERROR(Attach(*stage.place(), block));
    const ComputeOp* compute = stage.op_->As<ComputeOp>();
    if (stage.op_->As<ScanOp>() != nullptr && !stage.steps_.empty())
      return Unimplemented("the steps of a scan stay one loop; schedule what they compute");
    if (compute == nullptr) return OkStatus();
    Simplifier simplifier;
    std::vector<std::vector<IterVar>> levels =
        AxisLevels(*compute, [&](const Expr& e) { return simplifier.Simplify(e); });
    const size_t of_init = LevelOfInit(*compute, levels);
    if (stage.layout_) RETURN_IF_ERROR(LayOut(*stage.layout_, *compute, block, levels[0]));
    if (ScanOf(&stage) != nullptr) levels[0].erase(levels[0].begin());  // The step of the scan, whose loop is around.
    loop_of_ = &loops_of_[&stage];
    RETURN_IF_ERROR(PlaceAxes(levels, of_init, stage, block));
    for (const Stage::Step& step : stage.steps_) {
      RETURN_IF_ERROR(step.kind == Stage::Step::kTensorize ? RunIntrin(stage, step, block) : Do(step, block));
    }
    return OkStatus();
  }

  // Axes that are reduced over may stand in blocks inside, one of which may be where the reduction begins.
  Status PlaceAxes(const std::vector<std::vector<IterVar>>& levels, size_t of_init, const Stage& stage, BlockRV block) {
    for (size_t level = 0; level < levels.size(); ++level) {
      if (level > 0) {
        ASSIGN_OR_RETURN(const std::vector<BlockRV> inside, GetChildBlocks(schedule_, block));
        block = inside.at(0);
      }
      if (level > 0 && level == of_init) inner_of_.emplace(&stage, block);
      ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule_, block));
      const size_t count = levels[level].size();
      CHECK(loops.size() >= count) << "stage " << stage.op_->name() << " lost loops";
      for (size_t i = 0; i < count; ++i) Place(levels[level][i], loops[loops.size() - count + i]);
    }
    return OkStatus();
  }

  // The result by the map, the loops of `axes` by it and as they are where they reduce. `axes` become the new ones.
  Status LayOut(const Stage::Layout& layout, const ComputeOp& compute, BlockRV block, std::vector<IterVar>& axes) {
    RETURN_IF_ERROR(lathe::TransformLayout(schedule_, block, 0, BufferSide::kWrite, layout.map));
    IndexMap loops = layout.map;
    axes.erase(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(compute.axis.size()));
    for (const IterVar& axis : axes) {
      loops.initial_indices.emplace_back(axis.var.name(), axis.var.dtype());
      loops.final_indices.push_back(loops.initial_indices.back());
    }
    loops.inverse_index_map = nullptr;
    axes.insert(axes.begin(), layout.axes.begin(), layout.axes.end());
    RETURN_IF_ERROR(TransformBlockLayout(schedule_, block, loops));
    if (layout.separators.empty()) return OkStatus();
    return SetAxisSeparator(schedule_, block, 0, BufferSide::kWrite, layout.separators);
  }

  // `loop` is what the axis has become.
  void Place(const IterVar& axis, LoopRV loop) { loop_of_->insert_or_assign(axis.var.get(), loop); }

  // Inside of a step everything has its place already: beside what reads it, or before all steps.
  Status Attach(const Stage::Attachment& place, BlockRV block) {
    const Stage* consumer = place.consumer;
    if (ScanOf(consumer) != nullptr || consumer->op_->As<ScanOp>() != nullptr) return OkStatus();
    const auto& loops = loops_of_[consumer];
    const auto loop = loops.find(place.axis.var.get());
    if (loop == loops.end() || !schedule_.Get(loop->second).ok())  // Split since.
      return InvalidArgument("compute_at: axis \"" + place.axis.var.name() + "\" is no loop of stage \"" +
                             consumer->op_->name() + "\" any more");
    return lathe::ComputeAt(schedule_, block, loop->second, true);
  }

  Status Do(const Stage::Step& step, BlockRV block) {
    for (const IterVar& axis : step.from) {
      if (!loop_of_->contains(axis.var.get()))
        return Unimplemented("axis \"" + axis.var.name() + "\" is the step of a scan, which stays one loop");
    }
    switch (step.kind) {
      case Stage::Step::kSplit:
        return Split(step);
      case Stage::Step::kFuse: {
        std::vector<LoopRV> loops = LoopsOf(step.from);
        for (LoopRV& loop : loops) {
          ASSIGN_OR_RETURN(loop, FromZero(loop));
        }
        ASSIGN_OR_RETURN(const LoopRV fused, lathe::Fuse(schedule_, loops));
        Place(step.to[0], fused);
        return OkStatus();
      }
      case Stage::Step::kSingleton: {
        ASSIGN_OR_RETURN(const LoopRV unit, AddLoopAround(block));
        Place(step.to[0], unit);
        return OkStatus();
      }
      case Stage::Step::kReorder:
        return lathe::Reorder(schedule_, LoopsOf(step.from));
      case Stage::Step::kSetKind:
        return SetKind(step);
      case Stage::Step::kBind:
        return Bind(schedule_, LoopsOf(step.from)[0], step.to[0].thread_tag);
      case Stage::Step::kTensorize:
        break;
      case Stage::Step::kPragma:
        return Annotate(schedule_, LoopsOf(step.from)[0], "pragma_" + step.key,
                        std::holds_alternative<std::monostate>(step.value) ? Attr(int64_t{1}) : step.value);
    }
    return OkStatus();
  }

  // Around all loops of the stage at hand.
  StatusOr<LoopRV> AddLoopAround(BlockRV block) {
    std::unordered_set<const For*> own;
    for (const auto& [axis, loop] : *loop_of_) {
      const StatusOr<const For*> node = schedule_.Get(loop);  // Split and fused ones are gone.
      if (node.ok()) own.insert(*node);
    }
    ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule_, block));
    for (const LoopRV loop : loops)
      if (own.contains(schedule_.Get(loop).value())) return AddUnitLoop(schedule_, loop);
    return AddUnitLoop(schedule_, block);
  }

  // The loop with its first iteration at 0, as split and fuse of a schedule want it; what it binds is as before.
  StatusOr<LoopRV> FromZero(LoopRV loop_rv) {
    ASSIGN_OR_RETURN(const int row, schedule_.RowOf(loop_rv));
    For loop = schedule_.LoopOf(row);
    if (IsConstInt(loop.min, 0)) return loop_rv;
    const Var step(loop.loop_var.name(), loop.loop_var.dtype());
    const Range steps{IntConst(step.dtype(), 0), loop.extent};
    Rebinding how{LoopsBetween(schedule_, schedule_.ScopeOf(row), row), true, std::nullopt,
                  schedule_.AnyUsesLoopsDirectly()};
    how.loops.emplace_back(step, steps);
    loop.body = RebindLoops(loop.body, {{loop.loop_var.get(), step + loop.min}},
                            schedule_.BlockOf(schedule_.ScopeOf(row)), std::move(how));
    loop.loop_var = step;
    loop.min = steps.min;
    schedule_.Replace(row, loop);
    return schedule_.NewLoopRV(step);
  }

  Status Split(const Stage::Step& step) {
    std::vector<std::optional<ExprRV>> factors;
    for (const std::optional<Expr>& number : {step.nparts, step.factor}) {
      const int64_t* constant = number ? AsIntConst(*number) : nullptr;
      if (number && constant == nullptr)
        return Unimplemented("split: the factor is no constant; give a number, InferBound alone takes others");
      factors.push_back(constant != nullptr ? std::optional<ExprRV>(*constant) : std::nullopt);
    }
    ASSIGN_OR_RETURN(const LoopRV whole, FromZero(LoopsOf(step.from)[0]));
    ASSIGN_OR_RETURN(const std::vector<LoopRV> parts,
                     lathe::Split(schedule_, whole, factors, true, step.disable_predication));
    for (size_t i = 0; i < parts.size(); ++i) Place(step.to[i], parts[i]);
    return OkStatus();
  }

  // The start of a reduction is taken out before its first loop, or before the intrinsic where that holds the whole
  // reduction, and tensorized, too: an intrinsic without a reset starts what it makes.
  Status RunIntrin(const Stage& stage, const Stage::Step& step, BlockRV block) {
    ASSIGN_OR_RETURN(const IntrinNames names, RegisterIntrin(*step.intrin));
    const LoopRV loop = LoopsOf(step.from)[0];
    if (names.reset) {
      LoopRV first = loop;
      size_t inside = 0;  // Loops of the result in the intrinsic.
      bool is_inside = false, is_found = false;
      for (const IterVar& leaf : stage.leaves_) {
        is_inside |= SameAxis(leaf, step.from[0]);
        const bool is_reduced = leaf.kind == IterKind::kReduce;
        if (is_reduced && !is_inside && !is_found) first = LoopsOf({leaf})[0];
        is_found |= is_reduced;
        inside += is_inside && !is_reduced ? 1 : 0;
      }
      if (!step.intrin->reset && !(first == loop))
        return InvalidArgument(
            fmt::format("tensorize: \"{}\" has no reset and no update, but a reduction axis of it is "
                        "outside of \"{}\"; return (body, reset, update)",
                        step.intrin->name, step.from[0].var.name()));
      ASSIGN_OR_RETURN(const BlockRV start, DecomposeReduction(schedule_, block, first));
      ASSIGN_OR_RETURN(const std::vector<LoopRV> around, GetLoops(schedule_, start));
      RETURN_IF_ERROR(inside == 0 ? lathe::Tensorize(schedule_, start, *names.reset)
                                  : lathe::Tensorize(schedule_, around[around.size() - inside], *names.reset));
    }
    return lathe::Tensorize(schedule_, loop, names.update);
  }

  Status SetKind(const Stage::Step& step) {
    const LoopRV loop = LoopsOf(step.from)[0];
    if (step.iter_kind == IterKind::kVectorized) return Vectorize(schedule_, loop);
    if (step.iter_kind == IterKind::kParallelized) return Parallel(schedule_, loop);
    return Unroll(schedule_, loop);
  }

  std::vector<LoopRV> LoopsOf(const std::vector<IterVar>& axes) const {
    std::vector<LoopRV> loops;
    for (const IterVar& axis : axes) loops.push_back(loop_of_->at(axis.var.get()));
    return loops;
  }

  lathe::Schedule& schedule_;
  std::unordered_map<const Stage*, std::vector<BlockRV>> blocks_of_;
  std::unordered_map<const Stage*, std::vector<const Stage*>> body_of_;  // Of scans.
  std::unordered_map<const Stage*, const Stage*> scan_of_;
  std::unordered_map<const Stage*, BlockRV> inner_of_;  // Of reductions that begin in a block inside.
  std::unordered_map<const Stage*, LoopMap> loops_of_;
  std::vector<std::pair<const Stage*, BlockRV>> starts_;
  LoopMap* loop_of_ = nullptr;  // Of the stage at hand.
};

namespace {

// Loops get other variables, each one loop: after rfactor two stages have the same axes.
class LoopRenamer : public StmtExprMutator {
 public:
  explicit LoopRenamer(VarMap vars) : vars_(std::move(vars)) {}

 protected:
  Var VisitVarDef(const Var& var) override {
    const auto found = vars_.find(var.get());
    if (found == vars_.end()) return var;
    const Var own(found->second);
    if (!given_.insert(own.get()).second) found->second = Var(own.name(), own.dtype());
    return Var(found->second);
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }

 private:
  VarMap vars_;
  std::unordered_set<const ExprNode*> given_;
};

// The stages of these operations, in their order.
std::vector<const Stage*> InOrder(const std::vector<const Stage*>& stages, const std::vector<Operation>& operations) {
  std::vector<const Stage*> ordered;
  for (const Operation& op : operations) {
    const auto found =
        std::find_if(stages.begin(), stages.end(), [&](const Stage* stage) { return stage->op() == op; });
    if (found != stages.end()) ordered.push_back(*found);
  }
  return ordered;
}

// The schedule of a function, and its stages in order.
struct Prepared {
  lathe::Schedule schedule;
  std::vector<const Stage*> stages;
};

StatusOr<Prepared> Prepare(const std::vector<const Stage*>& known, const std::vector<Argument>& args,
                           const std::string& name) {
  std::vector<Tensor> tensors;
  for (const Argument& arg : args) {
    if (const Tensor* tensor = std::get_if<Tensor>(&arg)) tensors.push_back(*tensor);
  }
  std::vector<const Stage*> stages = InOrder(known, OrderedOperations(tensors));
  std::unordered_map<const OperationNode*, const Stage*> stage_of;
  for (const Stage* stage : stages) stage_of.emplace(stage->op().get(), stage);
  const StagePlaces places(stages);
  const StageForms forms{
      .is_apart = [&](const Operation& op) { return StageLowering::ComesApart(*stage_of.at(op.get())); },
      .scope_of = [&](const Operation& op) { return places.ScopeOf(*stage_of.at(op.get())); }};
  ASSIGN_OR_RETURN(PrimFunc func, CreatePrimFunc(args, name, forms));
  ASSIGN_OR_RETURN(lathe::Schedule schedule, lathe::Schedule::Create(std::move(func)));
  return Prepared{std::move(schedule), std::move(stages)};
}

}  // namespace

StatusOr<PrimFunc> LowerStages(const std::vector<const Stage*>& known, const std::vector<Argument>& args,
                               const std::string& name, const StageForm& form) {
  ASSIGN_OR_RETURN(Prepared prepared, Prepare(known, args, name));
  StageLowering lowering(prepared.schedule);
  RETURN_IF_ERROR(lowering.Run(prepared.stages));
  RETURN_IF_ERROR(lowering.StartRagged());
  if (form.starts_apart) lowering.StartApart(prepared.stages);
  PrimFunc func = prepared.schedule.func();
  func.body = LoopRenamer(lowering.AxisVars())(func.body);
  return func;
}

}  // namespace lathe::te
