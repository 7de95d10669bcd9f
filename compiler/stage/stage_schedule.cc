#include "compiler/stage/stage_schedule.h"

#include <algorithm>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/stage/infer_bound.h"
#include "compiler/stage/stage_group.h"
#include "compiler/stage/stage_lowering.h"
#include "support/status_macros.h"

namespace lathe::te {
namespace {

IterKind FusedKind(const std::vector<IterVar>& axes) {
  const bool is_reduced =
      std::any_of(axes.begin(), axes.end(), [](const IterVar& a) { return a.kind == IterKind::kReduce; });
  return is_reduced ? IterKind::kReduce : IterKind::kSpatial;
}

IterVar NewAxis(const std::string& name, const Expr& extent, IterKind kind) {
  return {{IntConst(extent.dtype(), 0), extent}, Var(name, extent.dtype()), kind, ""};
}

void AddOnce(std::vector<IterVar>& axes, const std::vector<IterVar>& more) {
  for (const IterVar& axis : more) {
    if (std::none_of(axes.begin(), axes.end(), [&](const IterVar& a) { return SameAxis(a, axis); }))
      axes.push_back(axis);
  }
}

}  // namespace

bool SameAxis(const IterVar& a, const IterVar& b) { return a.var.same_as(b.var); }

Stage::Stage(Operation op) : op_(op), origin_(op) { Restart(std::move(op)); }

void Stage::Restart(Operation op) {
  op_ = std::move(op);
  leaves_.clear();
  steps_.clear();
  if (const ScanOp* scan = op_->As<ScanOp>()) leaves_ = {scan->scan_axis};
  const ComputeOp* compute = op_->As<ComputeOp>();
  if (compute == nullptr) return;
  leaves_ = compute->axis;
  leaves_.insert(leaves_.end(), compute->reduce_axis.begin(), compute->reduce_axis.end());
}

std::vector<IterVar> Stage::all_iter_vars() const {
  std::vector<IterVar> all;
  if (const ComputeOp* compute = op_->As<ComputeOp>()) {
    all = compute->axis;
    all.insert(all.end(), compute->reduce_axis.begin(), compute->reduce_axis.end());
  }
  for (const Step& step : steps_) {
    if (step.kind == Step::kSplit || step.kind == Step::kFuse || step.kind == Step::kSingleton) AddOnce(all, step.to);
  }
  return all;
}

Stage::AxisAttr Stage::AttrOf(const IterVar& axis) const {
  AxisAttr attr{axis.kind, std::nullopt, {}, {}};
  for (const Step& step : steps_) {
    if (step.from.empty() || !SameAxis(step.from[0], axis)) continue;
    if (step.kind == Step::kSetKind) attr.kind = step.iter_kind;
    if (step.kind == Step::kBind) attr.bind_thread = step.to[0];
    if (step.kind != Step::kPragma) continue;
    attr.pragma_keys.push_back(step.key);
    attr.pragma_values.push_back(step.value);
  }
  return attr;
}

Status Stage::Error(const std::string& primitive, const std::string& why) const {
  return InvalidArgument(primitive + ", stage \"" + op_->name() + "\": " + why);
}

StatusOr<size_t> Stage::Find(const std::string& primitive, const IterVar& axis) const {
  const auto found =
      std::find_if(leaves_.begin(), leaves_.end(), [&](const IterVar& leaf) { return SameAxis(leaf, axis); });
  if (found != leaves_.end()) return static_cast<size_t>(found - leaves_.begin());
  return Error(primitive, "axis \"" + axis.var.name() + "\" is none of its loops now; name one of leaf_iter_vars");
}

StatusOr<std::pair<IterVar, IterVar>> Stage::Split(const IterVar& axis, std::optional<Expr> factor,
                                                   std::optional<Expr> nparts, bool disable_predication) {
  ASSIGN_OR_RETURN(const size_t place, Find("split", axis));
  if (factor.has_value() == nparts.has_value()) return Error("split", "expected either a factor or nparts");
  const Expr number = factor ? *factor : *nparts;
  const int64_t* constant = AsIntConst(number);
  if (constant != nullptr && *constant < 1)
    return Error("split", "expected at least 1, got " + std::to_string(*constant));
  const IterVar& from = leaves_[place];
  const Expr rest = FloorDiv(from.domain.extent + (number - Expr(1)), number);
  const IterVar outer = NewAxis(from.var.name() + ".outer", factor ? rest : number, from.kind);
  const IterVar inner = NewAxis(from.var.name() + ".inner", factor ? number : rest, from.kind);
  steps_.push_back({.kind = Step::kSplit,
                    .from = {from},
                    .to = {outer, inner},
                    .factor = factor,
                    .nparts = nparts,
                    .disable_predication = disable_predication});
  leaves_[place] = outer;
  leaves_.insert(leaves_.begin() + static_cast<int64_t>(place) + 1, inner);
  return std::pair(outer, inner);
}

IterVar Stage::FuseNothing() {
  leaves_.insert(leaves_.begin(), NewAxis("singleton", 1, IterKind::kSpatial));
  steps_.push_back({.kind = Step::kSingleton, .from = {}, .to = {leaves_[0]}});
  return leaves_[0];
}

StatusOr<IterVar> Stage::FusePair(const IterVar& a, const IterVar& b) {
  ASSIGN_OR_RETURN(size_t outer, Find("fuse", a));
  ASSIGN_OR_RETURN(size_t inner, Find("fuse", b));
  if (inner + 1 == outer) std::swap(outer, inner);
  if (outer + 1 != inner) return Error("fuse", "axis \"" + b.var.name() + "\" does not follow the one before it");
  const std::vector<IterVar> from = {leaves_[outer], leaves_[inner]};
  const std::string name = from[0].var.name() + "." + from[1].var.name() + ".fused";
  const IterVar fused = NewAxis(name, from[0].domain.extent * from[1].domain.extent, FusedKind(from));
  steps_.push_back({.kind = Step::kFuse, .from = from, .to = {fused}});
  leaves_.erase(leaves_.begin() + static_cast<int64_t>(inner));
  leaves_[outer] = fused;
  return fused;
}

StatusOr<IterVar> Stage::Fuse(const std::vector<IterVar>& axes) {
  if (axes.empty()) return FuseNothing();
  ASSIGN_OR_RETURN(const size_t first, Find("fuse", axes[0]));
  IterVar fused = leaves_[first];
  for (size_t i = 1; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(fused, FusePair(fused, axes[i]));
  }
  return fused;
}

Status Stage::Reorder(const std::vector<IterVar>& axes) {
  std::vector<size_t> places;
  for (const IterVar& axis : axes) {
    ASSIGN_OR_RETURN(const size_t place, Find("reorder", axis));
    if (std::find(places.begin(), places.end(), place) != places.end())
      return Error("reorder", "axis \"" + axis.var.name() + "\" is named twice");
    places.push_back(place);
  }
  std::vector<IterVar> ordered;
  for (const size_t place : places) ordered.push_back(leaves_[place]);
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < places.size(); ++i) leaves_[places[i]] = ordered[i];
  steps_.push_back({.kind = Step::kReorder, .from = ordered, .to = {}});
  return OkStatus();
}

StatusOr<std::vector<IterVar>> Stage::Tile(const IterVar& x, const IterVar& y, int64_t x_factor, int64_t y_factor) {
  RETURN_IF_ERROR(Find("tile", y).status());
  if (SameAxis(x, y) || y_factor < 1) return Error("tile", "expected two axes and factors of at least 1");
  ASSIGN_OR_RETURN(const auto xs, Split(x, Expr(x_factor)));
  ASSIGN_OR_RETURN(const auto ys, Split(y, Expr(y_factor)));
  const std::vector<IterVar> tiled = {xs.first, ys.first, xs.second, ys.second};
  RETURN_IF_ERROR(Reorder(tiled));
  return tiled;
}

Status Stage::SetKind(const IterVar& axis, IterKind kind) {
  ASSIGN_OR_RETURN(const size_t place, Find("set_kind", axis));
  if (kind == IterKind::kVectorized && leaves_[place].kind == IterKind::kReduce)
    return Error("vectorize", "axis \"" + axis.var.name() + "\" is reduced over; vectorize one of the result");
  steps_.push_back({.kind = Step::kSetKind, .from = {axis}, .to = {}, .iter_kind = kind});
  return OkStatus();
}

Status Stage::Bind(const IterVar& axis, const IterVar& thread) {
  RETURN_IF_ERROR(Find("bind", axis).status());
  if (thread.kind != IterKind::kThreadIndex && thread.kind != IterKind::kVirtualThread)
    return Error("bind", "\"" + thread.var.name() + "\" is no thread axis; make it by thread_axis");
  steps_.push_back({.kind = Step::kBind, .from = {axis}, .to = {thread}});
  return OkStatus();
}

Status Stage::Pragma(const IterVar& axis, const std::string& key, const Attr& value) {
  RETURN_IF_ERROR(Find("pragma", axis).status());
  if (key == "vectorize") return SetKind(axis, IterKind::kVectorized);
  if (key == "unroll") return SetKind(axis, IterKind::kUnrolled);
  steps_.push_back({.kind = Step::kPragma, .from = {axis}, .to = {}, .key = key, .value = value});
  return OkStatus();
}

Status Stage::Tensorize(const IterVar& axis, std::shared_ptr<const DeclaredIntrin> intrin) {
  RETURN_IF_ERROR(Find("tensorize", axis).status());
  steps_.push_back(
      {.kind = Step::kTensorize, .from = {axis}, .to = {}, .key = {}, .value = {}, .intrin = std::move(intrin)});
  return OkStatus();
}

Status Stage::CheckTakes(const StageGroup* group, const IterVar& axis) const {
  RETURN_IF_ERROR(Find("compute_at", axis).status());
  if (group == nullptr || group->Holds(group_)) return OkStatus();
  return Error("compute_at", "it is outside of the group; what is in one stays there, move the group");
}

const Stage::Attachment* Stage::place() const {
  if (attached_) return &*attached_;
  for (const StageGroup* group = group_; group != nullptr; group = group->parent())
    if (group->attached()) return &*group->attached();
  return nullptr;
}

Status Stage::ComputeAt(const Stage& consumer, const IterVar& axis) {
  RETURN_IF_ERROR(consumer.CheckTakes(group_, axis));
  if (&consumer == this) return Error("compute_at", "a stage cannot be inside itself");
  is_inlined_ = false;
  attached_ = Attachment{&consumer, axis};
  return OkStatus();
}

Status Stage::ComputeInline() {
  const ComputeOp* compute = op_->As<ComputeOp>();
  if (compute == nullptr || compute->is_reduction())
    return Error("compute_inline", "it is no compute without a reduction");
  is_inlined_ = true;
  attached_.reset();
  return OkStatus();
}

void Stage::ComputeRoot() {
  is_inlined_ = false;
  attached_.reset();
}

StatusOr<std::vector<IterVar>> Stage::TransformLayout(IndexMap map, std::vector<int64_t> separators) {
  const ComputeOp* compute = op_->As<ComputeOp>();
  if (compute == nullptr || compute->body.size() != 1)
    return Error("transform_layout", "it is no compute of one result");
  if (!steps_.empty() || layout_) return Error("transform_layout", "its loops are scheduled; transform before");
  std::vector<Range> ranges;
  for (const IterVar& axis : compute->axis) ranges.push_back(axis.domain);
  ASSIGN_OR_RETURN(const std::vector<Range> image, map.MapRanges(ranges, Analyzer()));
  Layout layout{std::move(map), std::move(separators), {}};
  for (size_t i = 0; i < image.size(); ++i)
    layout.axes.push_back(NewAxis("axis" + std::to_string(i), image[i].extent, IterKind::kSpatial));
  leaves_ = layout.axes;
  leaves_.insert(leaves_.end(), compute->reduce_axis.begin(), compute->reduce_axis.end());
  layout_ = std::move(layout);
  return layout_->axes;
}

Status Stage::StorageAlign(const IterVar& axis, int64_t factor, int64_t offset) {
  const ComputeOp* compute = op_->As<ComputeOp>();
  if (compute == nullptr) return Error("storage_align", "it is no compute");
  const auto found =
      std::find_if(compute->axis.begin(), compute->axis.end(), [&](const IterVar& own) { return SameAxis(own, axis); });
  if (found == compute->axis.end()) return Error("storage_align", "\"" + axis.var.name() + "\" is no dimension of it");
  if (factor < 1) return Error("storage_align", "expected a positive factor");
  const int64_t dim = found - compute->axis.begin();
  annotations_.insert_or_assign("buffer_dim_align",
                                std::vector<Attr>{std::vector<Attr>{int64_t{0}, dim, factor, offset}});
  return OkStatus();
}

StageSchedule::StageSchedule() = default;
StageSchedule::~StageSchedule() = default;

StatusOr<std::unique_ptr<StageSchedule>> StageSchedule::Create(std::vector<Operation> outputs) {
  if (outputs.empty()) return InvalidArgument("create_schedule: no operation; give at least one");
  std::unique_ptr<StageSchedule> schedule(new StageSchedule);
  std::vector<Tensor> tensors;
  for (const Operation& op : outputs) tensors.push_back(op->output(0));
  for (const Operation& op : OrderedOperations(tensors, true)) schedule->stages_.emplace_back(new Stage(op));
  schedule->outputs_ = std::move(outputs);
  schedule->GroupSteps();
  return schedule;
}

Stage* StageSchedule::Find(const Operation& op) {
  for (const std::unique_ptr<Stage>& stage : stages_) {
    if (stage->op_ == op || stage->origin_ == op) return stage.get();
  }
  return nullptr;
}

std::vector<Stage*> StageSchedule::stages() {
  std::vector<Stage*> all;
  for (const std::unique_ptr<Stage>& stage : stages_) all.push_back(stage.get());
  return all;
}

std::vector<const Stage*> StageSchedule::ConstStages() const {
  std::vector<const Stage*> all;
  for (const std::unique_ptr<Stage>& stage : stages_) all.push_back(stage.get());
  return all;
}

StatusOr<PrimFunc> StageSchedule::Lower(const std::vector<Argument>& args, const std::string& name,
                                        const StageForm& form) const {
  std::vector<Argument> now = args;
  for (const std::unique_ptr<Stage>& stage : stages_) {
    for (Argument& arg : now) {
      const Tensor* tensor = std::get_if<Tensor>(&arg);
      if (tensor != nullptr && (tensor->op() == stage->origin_ || tensor->op() == stage->op_))
        arg = stage->op_->output(tensor->value_index());
    }
  }
  return LowerStages(ConstStages(), now, name, form);
}

StatusOr<std::vector<std::pair<IterVar, Range>>> StageSchedule::InferBound() const {
  return InferBounds(ConstStages(), outputs_);
}

}  // namespace lathe::te
