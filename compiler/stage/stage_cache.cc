// Stages that stand between others: copies of what is read or written, and halves of a reduction.
#include <algorithm>
#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "compiler/stage/stage_group.h"
#include "compiler/te/reduction.h"
#include "support/status_macros.h"

namespace lathe::te {
namespace {

// `op` with loads from other buffers; the same where it has none of them.
Operation ScanWithInputs(const Operation& op, const ScanOp& scan, const BufferMap& buffers) {
  bool is_changed = false;
  const auto now = [&](std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) {
      const auto found = buffers.find(tensor.buffer().get());
      if (found == buffers.end()) continue;
      tensor = *Tensor::Of(found->second);
      is_changed = true;
    }
    return tensors;
  };
  ScanOp changed = scan;  // Over the same axes.
  changed.init = now(scan.init);
  changed.update = now(scan.update);
  if (!is_changed) return op;
  std::vector<OutputType> outputs;
  for (const Tensor& state : scan.state) outputs.push_back({state.shape(), state.dtype()});
  return OperationNode::Make(op->name(), op->tag(), op->attrs(), outputs, std::move(changed));
}

Operation WithInputs(const Operation& op, const BufferMap& buffers) {
  if (const ScanOp* scan = op->As<ScanOp>()) return ScanWithInputs(op, *scan, buffers);
  const ComputeOp* compute = op->As<ComputeOp>();
  if (compute == nullptr) return op;
  std::vector<Expr> body;
  bool is_changed = false;
  for (const Expr& e : compute->body) {
    const Stmt replaced = Substitute(Stmt(Evaluate{e}), {}, buffers);
    body.push_back(replaced.As<Evaluate>()->value);
    is_changed |= !body.back().same_as(e);
  }
  if (!is_changed) return op;
  return MakeCompute(compute->axis, std::move(body),
                     {.name = op->name(), .tag = op->tag(), .attrs = op->attrs(), .axis_names = {}, .layout_free = {}})
      .value();
}

void MapResults(const Operation& from, const Operation& to, BufferMap& buffers) {
  for (size_t i = 0; i < from->num_outputs(); ++i)
    buffers.insert_or_assign(from->output(i).buffer().get(), to->output(i).buffer());
}

std::vector<Expr> VarsOf(const std::vector<IterVar>& axes) {
  std::vector<Expr> vars;
  for (const IterVar& axis : axes) vars.push_back(axis.var);
  return vars;
}

// What the loops of a reduction say about the axes that it was written with.
struct Factoring {
  VarMap value_of;                               // Of each axis that gave rise to others.
  std::vector<Expr> conditions;                  // Where splits went beyond.
  std::unordered_set<const ExprNode*> is_above;  // The axes that the factored one comes from.
};

void GoUpSplit(const Stage::Step& step, Factoring& found) {
  const auto value = [&](const IterVar& axis) { return Substitute(axis.var, found.value_of); };
  const IterVar &from = step.from[0], &inner = step.to[1];
  const Expr index = value(step.to[0]) * inner.domain.extent + value(inner);
  if (!IsConstInt(FloorMod(from.domain.extent, inner.domain.extent), 0))
    found.conditions.push_back(MakeBinary(BinaryOp::kLT, index, from.domain.extent));
  found.value_of.insert_or_assign(from.var.get(), index);
}

void GoUpFuse(const Stage::Step& step, Factoring& found) {
  Expr rest = Substitute(step.to[0].var, found.value_of);
  for (size_t i = step.from.size(); i-- > 1;) {
    found.value_of.insert_or_assign(step.from[i].var.get(), FloorMod(rest, step.from[i].domain.extent));
    rest = FloorDiv(rest, step.from[i].domain.extent);
  }
  found.value_of.insert_or_assign(step.from[0].var.get(), rest);
}

Factoring GoUp(const std::vector<Stage::Step>& steps, const IterVar& axis) {
  Factoring found;
  found.is_above.insert(axis.var.get());
  for (size_t i = steps.size(); i-- > 0;) {
    const Stage::Step& step = steps[i];
    if (step.kind != Stage::Step::kSplit && step.kind != Stage::Step::kFuse) continue;
    const bool is_above = std::any_of(step.to.begin(), step.to.end(),
                                      [&](const IterVar& to) { return found.is_above.contains(to.var.get()); });
    if (!is_above) continue;
    for (const IterVar& from : step.from) found.is_above.insert(from.var.get());
    step.kind == Stage::Step::kSplit ? GoUpSplit(step, found) : GoUpFuse(step, found);
  }
  return found;
}

// The axes that the factored half still reduces over: whole ones, then the loops beside `axis`.
std::vector<IterVar> RestOf(const Stage& stage, const ComputeOp& compute, const IterVar& axis, const Factoring& found) {
  std::vector<IterVar> rest;
  std::unordered_set<const ExprNode*> beside;  // What comes from the axes above `axis`, or is one of them.
  for (const IterVar& own : compute.reduce_axis) {
    if (!found.is_above.contains(own.var.get())) rest.push_back(own);
  }
  for (const Stage::Step& step : stage.steps()) {
    const bool is_from = std::any_of(step.from.begin(), step.from.end(), [&](const IterVar& from) {
      return found.is_above.contains(from.var.get()) || beside.contains(from.var.get());
    });
    if (!is_from || (step.kind != Stage::Step::kSplit && step.kind != Stage::Step::kFuse)) continue;
    for (const IterVar& to : step.to) beside.insert(to.var.get());
  }
  for (const IterVar& leaf : stage.leaf_iter_vars()) {
    if (beside.contains(leaf.var.get()) && !SameAxis(leaf, axis)) rest.push_back(leaf);
  }
  return rest.empty() ? std::vector<IterVar>{ReduceAxisTo(IntConst(axis.var.dtype(), 1), "rv")} : rest;
}

// The half of a reduction that has a dimension for the loop `leaf`.
StatusOr<Operation> HalfOf(const Stage& stage, const IterVar& leaf, int factor_axis) {
  const Operation& op = stage.op();
  const ComputeOp& compute = *op->As<ComputeOp>();
  const Reduce& reduce = *compute.body[0].As<Reduce>();
  const Factoring found = GoUp(stage.steps(), leaf);
  std::vector<IterVar> axes = compute.axis;
  axes.insert(axes.begin() + factor_axis, {leaf.domain, leaf.var, IterKind::kSpatial, ""});
  std::vector<Expr> source;
  for (const Expr& e : reduce.source) source.push_back(Substitute(e, found.value_of));
  Expr where = Substitute(reduce.condition, found.value_of);
  for (const Expr& condition : found.conditions)
    where = IsConstInt(where, 1) ? condition : MakeBinary(BinaryOp::kAnd, where, condition);
  ASSIGN_OR_RETURN(std::vector<Expr> body,
                   MakeReduce(reduce.combiner, source, RestOf(stage, compute, leaf, found), {}, where, op->name()));
  return MakeCompute(std::move(axes), std::move(body),
                     {.name = op->name() + ".rf", .tag = op->tag(), .attrs = {}, .axis_names = {}, .layout_free = {}});
}

// The other half: it reduces over that dimension.
StatusOr<Operation> TotalOf(const Operation& op, const Operation& half, const IterVar& leaf, int factor_axis) {
  const ComputeOp& compute = *op->As<ComputeOp>();
  const Reduce& reduce = *compute.body[0].As<Reduce>();
  const IterVar over = ReduceAxis(leaf.domain, leaf.var.name() + ".v");
  std::vector<Expr> at = VarsOf(compute.axis), parts;
  at.insert(at.begin() + factor_axis, over.var);
  for (const Tensor& result : half->outputs()) parts.push_back(result(at));
  ASSIGN_OR_RETURN(std::vector<Expr> body,
                   MakeReduce(reduce.combiner, parts, {over}, reduce.init, std::nullopt, op->name()));
  return MakeCompute(compute.axis, std::move(body),
                     {.name = op->name(), .tag = op->tag(), .attrs = op->attrs(), .axis_names = {}, .layout_free = {}});
}

}  // namespace

// Everybody who read `from` reads `to`.
void StageSchedule::Replace(const Operation& from, const Operation& to) {
  BufferMap buffers;
  MapResults(from, to, buffers);
  for (const std::unique_ptr<Stage>& stage : stages_) {
    if (stage->op_ == to) continue;
    const Operation now = stage->op_ == from ? to : WithInputs(stage->op_, buffers);
    if (now == stage->op_) continue;
    MapResults(stage->op_, now, buffers);
    for (Operation& output : outputs_) {
      if (output == stage->op_) output = now;
    }
    stage->op_ = now;
  }
}

Stage& StageSchedule::Insert(const Operation& op, Side side, const Stage& beside) {
  const auto place =
      std::find_if(stages_.begin(), stages_.end(), [&](const auto& stage) { return stage.get() == &beside; });
  std::unique_ptr<Stage> stage(new Stage(op));
  stage->group_ = beside.group_;
  if (stage->group_ != nullptr) ++stage->group_->num_children_;
  return **stages_.insert(side == Side::kBefore ? place : std::next(place), std::move(stage));
}

Status StageSchedule::CheckComputeStage(const std::string& primitive, const Tensor& tensor) {
  const Stage* stage = Find(tensor.op());
  if (stage == nullptr || stage->op_->As<ComputeOp>() == nullptr)
    return InvalidArgument(primitive + ": tensor \"" + tensor.name() + "\" is computed by no stage of the schedule");
  if (stage->is_inlined_)
    return InvalidArgument(primitive + ": stage \"" + stage->op_->name() +
                           "\" is inlined; say compute_inline after it");
  return OkStatus();
}

StatusOr<std::vector<std::pair<Operation, Operation>>> StageSchedule::WithCache(const Tensor& source,
                                                                                const Tensor& cache,
                                                                                const std::vector<Operation>& readers) {
  const BufferMap buffers = {{source.buffer().get(), cache.buffer()}};
  std::vector<std::pair<Operation, Operation>> changes;
  for (const Operation& reader : readers) {
    const Stage* stage = Find(reader);
    const Operation now = stage == nullptr ? reader : WithInputs(stage->op_, buffers);
    if (stage == nullptr || now == stage->op_)
      return InvalidArgument("cache_read: operation \"" + reader->name() + "\" does not read \"" + source.name() +
                             "\" in this schedule");
    changes.emplace_back(stage->op_, now);
  }
  if (changes.empty()) return InvalidArgument("cache_read: no readers; name at least one");
  return changes;
}

StatusOr<Tensor> StageSchedule::CacheRead(const Tensor& tensor, const std::string& scope,
                                          const std::vector<Operation>& readers) {
  const Stage* producer = Find(tensor.op());
  if (producer == nullptr)
    return InvalidArgument("cache_read: tensor \"" + tensor.name() + "\" has no stage in this schedule");
  const Tensor source = producer->op_->output(tensor.value_index());
  ComputeOptions options{.name = tensor.name() + "." + scope};
  for (size_t i = 0; i < source.ndim(); ++i) options.axis_names.push_back("ax" + std::to_string(i));
  const Tensor cache = Compute(source.shape(), [&](const std::vector<Expr>& at) { return source(at); }, options);
  ASSIGN_OR_RETURN(const auto changes, WithCache(source, cache, readers));
  Insert(cache.op(), Side::kAfter, *producer).scope_ = scope;
  for (const auto& [from, to] : changes) Replace(from, to);
  return cache;
}

Status StageSchedule::CheckCachedResults(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return InvalidArgument("cache_write: no tensors; name the results of an operation");
  for (const Tensor& tensor : tensors) {
    if (tensor.op() != tensors[0].op())
      return InvalidArgument("cache_write: tensor \"" + tensor.name() + "\" is no result of \"" +
                             tensors[0].op()->name() + "\", as the first one is; cache them one by one");
  }
  RETURN_IF_ERROR(CheckComputeStage("cache_write", tensors[0]));
  const Stage& stage = *Find(tensors[0].op());
  if (stage.place() != nullptr)
    return InvalidArgument("cache_write: stage \"" + stage.op_->name() +
                           "\" already has a place in another; say compute_at after it");
  if (stage.op_->num_outputs() != tensors.size())
    return InvalidArgument("cache_write: operation \"" + stage.op_->name() + "\" has several results, " +
                           std::to_string(stage.op_->num_outputs()) + ", got " + std::to_string(tensors.size()) +
                           "; give a list of all");
  if (!stage.steps_.empty())
    return InvalidArgument("cache_write: the loops of \"" + stage.op_->name() + "\" are scheduled; cache it before");
  return OkStatus();
}

StatusOr<std::vector<Tensor>> StageSchedule::CacheWrite(const std::vector<Tensor>& tensors, const std::string& scope) {
  RETURN_IF_ERROR(CheckCachedResults(tensors));
  Stage& stage = *Find(tensors[0].op());
  const Operation op = stage.op_;
  const ComputeOp& compute = *op->As<ComputeOp>();
  // The computation over axes of its own; what it was copies.
  std::vector<IterVar> axes;
  VarMap fresh;
  for (const IterVar& axis : compute.axis) {
    axes.push_back({axis.domain, Var(axis.var.name() + ".c", axis.var.dtype()), axis.kind, ""});
    fresh.emplace(axis.var.get(), axes.back().var);
  }
  std::vector<Expr> values, copies;
  for (const Expr& body : compute.body) values.push_back(Substitute(body, fresh));
  ASSIGN_OR_RETURN(
      const Operation cached,
      MakeCompute(
          axes, std::move(values),
          {.name = op->name() + "." + scope, .tag = op->tag(), .attrs = {}, .axis_names = {}, .layout_free = {}}));
  for (const Tensor& result : cached->outputs()) copies.push_back(result(VarsOf(compute.axis)));
  ASSIGN_OR_RETURN(
      const Operation copy,
      MakeCompute(compute.axis, std::move(copies),
                  {.name = op->name(), .tag = op->tag(), .attrs = op->attrs(), .axis_names = {}, .layout_free = {}}));
  Insert(cached, Side::kBefore, stage).scope_ = scope;
  Replace(op, copy);
  stage.Restart(copy);
  return cached->outputs();
}

StatusOr<std::vector<Tensor>> StageSchedule::RFactor(const Tensor& tensor, const IterVar& axis, int factor_axis) {
  RETURN_IF_ERROR(CheckComputeStage("rfactor", tensor));
  Stage& stage = *Find(tensor.op());
  const Operation op = stage.op_;
  const ComputeOp& compute = *op->As<ComputeOp>();
  ASSIGN_OR_RETURN(const size_t place, stage.Find("rfactor", axis));
  const IterVar leaf = stage.leaves_[place];
  if (leaf.kind != IterKind::kReduce) return stage.Error("rfactor", "\"" + axis.var.name() + "\" is not reduced over");
  const auto is_axis = [&](const ExprNode* var) {
    const auto has = [&](const std::vector<IterVar>& axes) {
      return std::any_of(axes.begin(), axes.end(), [&](const IterVar& own) { return own.var.get() == var; });
    };
    return has(compute.axis) || has(compute.reduce_axis);
  };
  if (UsesVar(leaf.domain.min, is_axis) || UsesVar(leaf.domain.extent, is_axis))
    return stage.Error("rfactor", "the extent of \"" + axis.var.name() +
                                      "\" depends on another axis; split it by a number and factor the inner loop");
  const int ndim = static_cast<int>(compute.axis.size());
  if (factor_axis < 0) factor_axis += ndim + 1;
  if (factor_axis < 0 || factor_axis > ndim)
    return stage.Error("rfactor", "factor_axis " + std::to_string(factor_axis) + " is beyond the results' " +
                                      std::to_string(ndim) + " dimensions");
  ASSIGN_OR_RETURN(const Operation half, HalfOf(stage, leaf, factor_axis));
  ASSIGN_OR_RETURN(const Operation total, TotalOf(op, half, leaf, factor_axis));
  Insert(half, Side::kBefore, stage);
  Replace(op, total);
  stage.Restart(total);
  return half->outputs();
}

}  // namespace lathe::te
