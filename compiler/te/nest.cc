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

BlockAxes MakeBlockAxes(const std::vector<IterVar>& axes) {
  BlockAxes made;
  for (const IterVar& axis : axes) {
    const Var iter("v_" + axis.var.name(), axis.var.dtype());
    const Range domain{Substitute(axis.domain.min, made.iter_of), Substitute(axis.domain.extent, made.iter_of)};
    made.iters.push_back({domain, iter, axis.kind, ""});
    made.values.push_back(axis.var);
    made.iter_of.emplace(axis.var.get(), iter);
  }
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

// The block that initialises and updates, over `axes`.
Stmt MakeUpdateBlock(const OperationNode& op, const ComputeOp& compute, const std::vector<Buffer>& results,
                     const ExprRewrite& rewrite, BlockAxes axes) {
  const Reduce& reduce = *compute.body.front().As<Reduce>();
  const std::vector<Expr> point = PointOf(compute.axis, axes);
  const std::vector<Expr>& starts = reduce.init.empty() ? reduce.combiner.identity_element : reduce.init;
  std::vector<Stmt> init;
  for (size_t i = 0; i < results.size(); ++i)
    init.push_back(MakeStore(results[i], rewrite(Substitute(starts[i], axes.iter_of)), point));
  std::vector<Expr> sources = SubstituteAll(SourcesOf(reduce), axes.iter_of);
  std::transform(sources.begin(), sources.end(), sources.begin(), rewrite);
  const Stmt update = StoreTogether(results, CombineAt(reduce, results, point, sources), point);
  return MakeBlockRealize(op.name(), std::move(axes), op.attrs(), MakeSeq(std::move(init)), update);
}

bool DependsOn(const Range& domain, const std::vector<IterVar>& axes) {
  const auto is_one = [&](const ExprNode* var) {
    return std::any_of(axes.begin(), axes.end(), [&](const IterVar& axis) { return axis.var.get() == var; });
  };
  return UsesVar(domain.min, is_one) || UsesVar(domain.extent, is_one);
}

// Iter vars of a block inside one that has `around`: each has the one value that it has there.
BlockAxes RebindAxes(const std::vector<IterVar>& axes, const BlockAxes& around) {
  BlockAxes made;
  for (const IterVar& axis : axes) {
    const Expr& value = around.iter_of.at(axis.var.get());
    const Var iter("v_" + axis.var.name(), axis.var.dtype());
    made.iters.push_back({{value, IntConst(value.dtype(), 1)}, iter, axis.kind, ""});
    made.values.push_back(value);
    made.iter_of.emplace(axis.var.get(), iter);
  }
  return made;
}

// Reduction axes whose extents depend on where the result is stand in a block that knows it.
Stmt MakeNestedReduction(const OperationNode& op, const ComputeOp& compute, const std::vector<Buffer>& results,
                         const ExprRewrite& rewrite, const std::vector<IterVar>& outer, std::vector<IterVar> inner) {
  BlockAxes around = MakeBlockAxes(outer);
  BlockAxes axes = RebindAxes(outer, around);
  for (IterVar& axis : inner) {
    axis.domain = {rewrite(Substitute(axis.domain.min, around.iter_of)),
                   rewrite(Substitute(axis.domain.extent, around.iter_of))};
    const Var iter("v_" + axis.var.name(), axis.var.dtype());
    axes.iters.push_back({axis.domain, iter, axis.kind, ""});
    axes.values.push_back(axis.var);
    axes.iter_of.emplace(axis.var.get(), iter);
  }
  const Stmt loops = WrapLoops(inner, MakeUpdateBlock(op, compute, results, rewrite, std::move(axes)));
  return WrapLoops(outer, MakeBlockRealize(op.name() + "_l1", std::move(around), op.attrs(), std::nullopt, loops));
}

Stmt MakeReduction(const OperationNode& op, const ComputeOp& compute, const std::vector<Buffer>& results,
                   const ExprRewrite& rewrite) {
  std::vector<IterVar> outer = compute.axis, inner;
  for (IterVar axis : compute.reduce_axis) {
    const Range known{rewrite(axis.domain.min), rewrite(axis.domain.extent)};
    const bool depends = DependsOn(axis.domain, compute.axis), stays = DependsOn(known, compute.axis);
    if (depends && !stays) axis.domain = known;  // Windows that are as large everywhere.
    (stays ? inner : outer).push_back(std::move(axis));
  }
  if (!inner.empty()) return MakeNestedReduction(op, compute, results, rewrite, outer, std::move(inner));
  return WrapLoops(outer, MakeUpdateBlock(op, compute, results, rewrite, MakeBlockAxes(outer)));
}

// The blocks of the elements, one per result.
std::vector<Stmt> MakeElements(const OperationNode& op, const ComputeOp& compute, const std::vector<Buffer>& results,
                               const ExprRewrite& rewrite) {
  std::vector<Stmt> blocks;
  for (size_t i = 0; i < results.size(); ++i) {
    BlockAxes axes = MakeBlockAxes(compute.axis);
    const Expr value = rewrite(Substitute(compute.body[i], axes.iter_of));
    const Stmt store = MakeStore(results[i], value, PointOf(compute.axis, axes));
    if (compute.axis.empty()) {  // A number still has one iteration that is named.
      axes.iters.push_back({{0, 1}, Var("vi", kIndexType), IterKind::kSpatial, ""});
      axes.values.emplace_back(0);
    }
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

Stmt MakeNest(const OperationNode& op, const std::vector<Buffer>& results, const ExprRewrite& rewrite,
              const BufferMap& moved) {
  if (const ExternOp* external = op.As<ExternOp>()) return MakeExternBlock(op, *external, results, moved);
  const ComputeOp* compute = op.As<ComputeOp>();
  CHECK(compute != nullptr) << op.name() << " is neither a compute nor an extern";
  if (compute->body.front().As<Reduce>() != nullptr) return MakeReduction(op, *compute, results, rewrite);
  return WrapLoops(compute->axis, MakeSeq(MakeElements(op, *compute, results, rewrite)));
}

std::vector<Stmt> MakeNestsApart(const OperationNode& op, const std::vector<Buffer>& results,
                                 const ExprRewrite& rewrite) {
  const ComputeOp& compute = *op.As<ComputeOp>();
  std::vector<Stmt> nests = MakeElements(op, compute, results, rewrite);
  for (Stmt& nest : nests) nest = WrapLoops(compute.axis, std::move(nest));
  return nests;
}

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
  return Clone(WithUniqueBlockNames(Complete(std::move(func), std::move(between), lone)));
}

}  // namespace lathe::te
