#include "compiler/te/nest.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "support/check.h"

namespace lathe::te {
namespace {

// The iter vars of one block, over the loops of a nest.
struct BlockAxes {
  std::vector<IterVar> iters;
  std::vector<Expr> values;  // The loops' variables.
  VarMap iter_of;            // By axis of the operation.
};

void AddAxis(BlockAxes& axes, const IterVar& axis, Range domain, Expr value) {
  const Var iter("v_" + axis.var.name(), axis.var.dtype());
  axes.iters.push_back({std::move(domain), iter, axis.kind, ""});
  axes.values.push_back(std::move(value));
  axes.iter_of.emplace(axis.var.get(), iter);
}

BlockAxes MakeBlockAxes(const std::vector<IterVar>& axes) {
  BlockAxes made;
  for (const IterVar& axis : axes) AddAxis(made, axis, axis.domain, axis.var);
  return made;
}

Stmt MakeBlockRealize(std::string name, BlockAxes axes, AttrMap annotations, std::optional<Stmt> init, Stmt body) {
  BlockNode block{.name = std::move(name), .init = std::move(init), .body = std::move(body)};
  block.iter_vars = std::move(axes.iters);
  block.annotations = std::move(annotations);
  RecomputeRegions(block);
  return BlockRealize{std::move(axes.values), True(), Block(std::move(block))};
}

// Loops named as the axes, with variables of their own: several nests may be made of one operation.
Stmt WrapLoops(const std::vector<IterVar>& axes, Stmt body) {
  VarMap fresh;
  for (const IterVar& axis : axes) fresh.emplace(axis.var.get(), Var(axis.var.name(), axis.var.dtype()));
  body = Substitute(body, fresh);
  for (size_t i = axes.size(); i-- > 0;) {
    const Range& domain = axes[i].domain;
    body = For{Var(fresh.at(axes[i].var.get())),
               Substitute(domain.min, fresh),
               Substitute(domain.extent, fresh),
               ForKind::kSerial,
               "",
               {},
               std::move(body)};
  }
  return body;
}

// A number still has one iteration that is named.
void AddOnlyIteration(BlockAxes& axes) {
  axes.iters.push_back({{0, 1}, Var("vi", kIndexType), IterKind::kSpatial, ""});
  axes.values.emplace_back(0);
}

std::vector<Expr> PointOf(const std::vector<IterVar>& axis, const BlockAxes& axes) {
  std::vector<Expr> point;
  for (const IterVar& iter : axis) point.push_back(axes.iter_of.at(iter.var.get()));
  return point;
}

std::vector<Expr> SubstituteAll(const std::vector<Expr>& exprs, const VarMap& vars) {
  std::vector<Expr> made;
  for (const Expr& e : exprs) made.push_back(Substitute(e, vars));
  return made;
}

// What joins the reduction: nothing where its condition does not hold.
std::vector<Expr> SourcesOf(const Reduce& reduce) {
  std::vector<Expr> sources = reduce.source;
  if (IsConstInt(reduce.condition, 1)) return sources;
  for (size_t i = 0; i < sources.size(); ++i)
    sources[i] = MakeCall(sources[i].dtype(), "if_then_else",
                          {reduce.condition, sources[i], reduce.combiner.identity_element[i]});
  return sources;
}

std::vector<Expr> CombineAt(const Reduce& reduce, const std::vector<Buffer>& results, const std::vector<Expr>& point,
                            const std::vector<Expr>& sources) {
  VarMap operands;
  for (size_t i = 0; i < results.size(); ++i) {
    operands.emplace(reduce.combiner.lhs[i].get(), Load(results[i], point));
    operands.emplace(reduce.combiner.rhs[i].get(), sources[i]);
  }
  return SubstituteAll(reduce.combiner.result, operands);
}

// All values are known before the first is stored: a combination may read what another component changes.
Stmt StoreTogether(const std::vector<Buffer>& results, const std::vector<Expr>& values,
                   const std::vector<Expr>& point) {
  if (results.size() == 1) return MakeStore(results[0], values[0], point);
  std::vector<Var> names;
  std::vector<Stmt> stores;
  for (size_t i = 0; i < results.size(); ++i) {
    names.emplace_back("v_" + results[i]->name, values[i].dtype());
    stores.push_back(MakeStore(results[i], names.back(), point));
  }
  Stmt body = MakeSeq(std::move(stores));
  for (size_t i = results.size(); i-- > 0;) body = LetStmt{values[i], names[i], std::move(body)};
  return body;
}

bool DependsOn(const Range& domain, const std::vector<IterVar>& axes) {
  const auto is_one = [&](const ExprNode* var) {
    return std::any_of(axes.begin(), axes.end(), [&](const IterVar& axis) { return axis.var.get() == var; });
  };
  return UsesVar(domain.min, is_one) || UsesVar(domain.extent, is_one);
}

// The loops and blocks of a reduction, a block per level of its axes. The outermost that reduces initialises: what is
// further in runs again for each of its steps.
class ReductionNest {
 public:
  ReductionNest(const OperationNode& op, const ComputeOp& compute, const std::vector<Buffer>& results,
                const ExprRewrite& rewrite)
      : op_(op), compute_(compute), results_(results), rewrite_(rewrite), levels_(AxisLevels(compute, rewrite)) {}

  Stmt Make() const { return MakeLevel(0, {}); }

 private:
  Stmt MakeLevel(size_t level, const BlockAxes& around) const {
    std::vector<IterVar> own = levels_[level];
    if (level > 0)
      for (IterVar& axis : own) axis.domain = DomainIn(axis.domain, around);
    BlockAxes axes = AxesIn(own, around);
    const bool is_last = level + 1 == levels_.size();
    const std::string name = is_last ? op_.name() : op_.name() + "_l" + std::to_string(level + 1);
    std::optional<Stmt> init;
    if (level == LevelOfInit(compute_, levels_)) init = Init(axes);
    Stmt body = is_last ? Update(axes) : MakeLevel(level + 1, axes);
    return WrapLoops(own, MakeBlockRealize(name, std::move(axes), op_.attrs(), std::move(init), std::move(body)));
  }

  // Those of a block with loops for `own`, in the order of the operation; what a block around has, has the one value
  // that it has there.
  BlockAxes AxesIn(const std::vector<IterVar>& own, const BlockAxes& around) const {
    BlockAxes axes;
    for (const std::vector<IterVar>* all : {&compute_.axis, &compute_.reduce_axis}) {
      for (const IterVar& axis : *all) {
        const auto is_it = [&](const IterVar& each) { return each.var.same_as(axis.var); };
        const auto found = std::find_if(own.begin(), own.end(), is_it);
        const auto known = around.iter_of.find(axis.var.get());
        if (found != own.end())
          AddAxis(axes, *found, found->domain, found->var);
        else if (known != around.iter_of.end())
          AddAxis(axes, axis, {known->second, IntConst(known->second.dtype(), 1)}, known->second);
      }
    }
    if (compute_.axis.empty() && compute_.reduce_axis.empty()) AddOnlyIteration(axes);
    return axes;
  }

  Range DomainIn(const Range& domain, const BlockAxes& around) const {
    return {rewrite_(Substitute(domain.min, around.iter_of)), rewrite_(Substitute(domain.extent, around.iter_of))};
  }

  Stmt Init(const BlockAxes& axes) const {
    const std::vector<Expr>& starts = reduce_.init.empty() ? reduce_.combiner.identity_element : reduce_.init;
    std::vector<Stmt> init;
    for (size_t i = 0; i < results_.size(); ++i)
      init.push_back(
          MakeStore(results_[i], rewrite_(Substitute(starts[i], axes.iter_of)), PointOf(compute_.axis, axes)));
    return MakeSeq(std::move(init));
  }

  Stmt Update(const BlockAxes& axes) const {
    const std::vector<Expr> point = PointOf(compute_.axis, axes);
    std::vector<Expr> sources = SubstituteAll(SourcesOf(reduce_), axes.iter_of);
    std::transform(sources.begin(), sources.end(), sources.begin(), rewrite_);
    return StoreTogether(results_, CombineAt(reduce_, results_, point, sources), point);
  }

  const OperationNode& op_;
  const ComputeOp& compute_;
  const std::vector<Buffer>& results_;
  const ExprRewrite& rewrite_;
  const Reduce& reduce_ = *compute_.body.front().As<Reduce>();
  const std::vector<std::vector<IterVar>> levels_;
};

// The blocks of the elements, one per result.
std::vector<Stmt> MakeElements(const OperationNode& op, const ComputeOp& compute, const std::vector<Buffer>& results,
                               const ExprRewrite& rewrite) {
  std::vector<Stmt> blocks;
  for (size_t i = 0; i < results.size(); ++i) {
    BlockAxes axes = MakeBlockAxes(compute.axis);
    const Expr value = rewrite(Substitute(compute.body[i], axes.iter_of));
    const Stmt store = MakeStore(results[i], value, PointOf(compute.axis, axes));
    if (compute.axis.empty()) AddOnlyIteration(axes);
    blocks.push_back(MakeBlockRealize(results[i]->name, std::move(axes), op.attrs(), std::nullopt, store));
  }
  return blocks;
}

// What the statement's buffers point to is the tensors' memory.
void MapBuffer(const Buffer& from, const Buffer& to, VarMap& vars, BufferMap& buffers) {
  if (from.same_as(to)) return;
  buffers.emplace(from.get(), to);
  vars.emplace(from->data.get(), to->data);
  for (size_t i = 0; i < from->shape.size(); ++i) {
    if (IsVar(from->shape[i])) vars.emplace(from->shape[i].get(), to->shape[i]);
  }
  if (IsVar(from->elem_offset)) vars.emplace(from->elem_offset.get(), to->elem_offset);
}

Stmt MakeExternBlock(const OperationNode& op, const ExternOp& external, const std::vector<Buffer>& results,
                     const BufferMap& moved) {
  const auto memory = [&](const Buffer& buffer) {
    const auto found = moved.find(buffer.get());
    return found == moved.end() ? buffer : found->second;
  };
  VarMap vars;
  BufferMap buffers;
  for (size_t i = 0; i < external.inputs.size(); ++i)
    MapBuffer(external.input_buffers[i], memory(external.inputs[i].buffer()), vars, buffers);
  for (size_t i = 0; i < results.size(); ++i) MapBuffer(external.output_buffers[i], memory(results[i]), vars, buffers);
  BlockNode block{.name = op.name(), .body = Clone(Substitute(external.body, vars, buffers))};
  for (const Tensor& input : op.InputTensors()) block.reads.push_back(FullRegion(memory(input.buffer())));
  for (const Buffer& result : results) block.writes.push_back(FullRegion(memory(result)));
  block.annotations = op.attrs();
  return BlockRealize{{}, True(), Block(std::move(block))};
}

}  // namespace

std::vector<std::vector<IterVar>> AxisLevels(const ComputeOp& compute, const ExprRewrite& rewrite) {
  std::vector<std::vector<IterVar>> levels{compute.axis};
  for (IterVar axis : compute.reduce_axis) {
    const Range known{rewrite(axis.domain.min), rewrite(axis.domain.extent)};
    size_t level = 0;
    bool depends = false;
    for (size_t i = 0; i < levels.size(); ++i) {
      depends |= DependsOn(axis.domain, levels[i]);
      if (DependsOn(known, levels[i])) level = i + 1;
    }
    if (depends && level == 0) axis.domain = known;  // Windows that are as large everywhere.
    if (level == levels.size()) levels.emplace_back();
    levels[level].push_back(std::move(axis));
  }
  return levels;
}

size_t LevelOfInit(const ComputeOp& compute, const std::vector<std::vector<IterVar>>& levels) {
  const bool is_outermost = levels.size() == 1 || levels[0].size() > compute.axis.size();
  return is_outermost ? 0 : 1;
}

Stmt MakeNest(const OperationNode& op, const std::vector<Buffer>& results, const ExprRewrite& rewrite,
              const BufferMap& moved) {
  if (const ExternOp* external = op.As<ExternOp>()) return MakeExternBlock(op, *external, results, moved);
  const ComputeOp* compute = op.As<ComputeOp>();
  CHECK(compute != nullptr) << op.name() << " is neither a compute nor an extern";
  if (compute->is_reduction()) return ReductionNest(op, *compute, results, rewrite).Make();
  return WrapLoops(compute->axis, MakeSeq(MakeElements(op, *compute, results, rewrite)));
}

std::vector<Stmt> MakeNestsApart(const OperationNode& op, const std::vector<Buffer>& results,
                                 const ExprRewrite& rewrite) {
  const ComputeOp& compute = *op.As<ComputeOp>();
  std::vector<Stmt> nests = MakeElements(op, compute, results, rewrite);
  for (Stmt& nest : nests) nest = WrapLoops(compute.axis, std::move(nest));
  return nests;
}

namespace {

// Buffers and what the body defines are the function's alone; lengths and other variables of the program stay these.
PrimFunc WithOwnBuffers(PrimFunc func) {
  BufferMap moved;
  for (ParamBuffer& entry : func.buffer_map) {
    BufferNode node = *entry.buffer;
    node.data = node.data.CopyWithName(node.data.name());
    const Buffer own(std::move(node));
    moved.emplace(entry.buffer.get(), own);
    entry.buffer = own;
  }
  func.body = Clone(Substitute(func.body, {}, moved));
  return func;
}

}  // namespace

PrimFunc AssembleFunc(std::string name, const std::vector<Param>& params, const std::vector<Stmt>& nests,
                      std::span<const Buffer> computed, AttrMap attrs, LoneBlock lone) {
  std::vector<Buffer> between;
  for (const Buffer& buffer : computed) {
    const bool is_param = std::any_of(params.begin(), params.end(), [&](const Param& param) {
      const Buffer* given = std::get_if<Buffer>(&param);
      return given != nullptr && given->same_as(buffer);
    });
    if (!is_param) between.push_back(buffer);
  }
  const Stmt body = nests.empty() ? Stmt(Evaluate{0}) : MakeSeq(nests);
  PrimFunc func = MakePrimFunc(std::move(name), params, body, std::move(attrs));
  return WithOwnBuffers(WithUniqueBlockNames(Complete(std::move(func), std::move(between), lone)));
}

}  // namespace lathe::te
