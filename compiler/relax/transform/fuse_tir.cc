#include "compiler/relax/transform/fuse_tir.h"

#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "compiler/relax/op.h"
#include "compiler/relax/transform/annotate_tir_op_pattern.h"
#include "compiler/relax/transform/fuse_ops.h"
#include "compiler/relax/visitor.h"
#include "compiler/script/complete.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// Replaces a function's parameter buffers by others, in uses and regions alike.
Stmt InlineBody(const PrimFunc& func, const std::vector<Buffer>& buffers, std::vector<Buffer>& allocs) {
  const PrimFunc fresh = Clone(func);
  BufferMap map;
  for (size_t i = 0; i < buffers.size(); ++i) map.emplace(BufferParam(fresh, i).get(), buffers[i]);
  const Stmt body = lathe::Substitute(fresh.body, {}, map);
  const BlockRealize* root = body.As<BlockRealize>();
  if (root == nullptr || root->block->name != "root") return body;
  allocs.insert(allocs.end(), root->block->alloc_buffers.begin(), root->block->alloc_buffers.end());
  return root->block->body;
}

class Fuser {
 public:
  explicit Fuser(const IRModule& module) : module_(module) {}

  StatusOr<PrimFunc> Fuse(const Function& group) {
    for (const Var& param : group.params) {
      const TensorStructInfo& info = *param.struct_info().As<TensorStructInfo>();
      buffers_.emplace(param.get(), MakeBuffer(param.name(), *info.shape, info.dtype));
      params_.emplace_back(buffers_.at(param.get()));
    }
    Status status;
    VisitBindings(group, [&](const Binding& binding) {
      if (status.ok()) status = AddBinding(binding, group.body.body.same_as(binding.var));
    });
    RETURN_IF_ERROR(status);
    PrimFunc fused = MakePrimFunc(BaseName(group.name), params_, MakeSeq(std::move(bodies_)));
    return WithUniqueBlockNames(Complete(std::move(fused), std::move(allocs_)));
  }

 private:
  Status AddBinding(const Binding& binding, bool is_result) {
    const Call& call = *binding.value.As<Call>();
    const PrimFunc* func = module_.Find(call.args[0].As<GlobalVar>()->name);
    if (func == nullptr) return InternalError("FuseTIR: call_tir of an unknown function");
    std::vector<Buffer> args;
    for (const Expr& arg : call.args[1].As<TupleExpr>()->fields) args.push_back(buffers_.at(arg.get()));
    const BufferNode& old = *BufferParam(*func, func->params.size() - 1);
    const Buffer out = MakeBuffer(old.name, old.shape, old.dtype);
    buffers_.emplace(binding.var.get(), out);
    args.push_back(out);
    if (is_result) {
      params_.emplace_back(out);
    } else {
      allocs_.push_back(out);
    }
    bodies_.push_back(InlineBody(*func, args, allocs_));
    return OkStatus();
  }

  const IRModule& module_;
  std::unordered_map<const ExprNode*, Buffer> buffers_;
  std::vector<Param> params_;
  std::vector<Buffer> allocs_;
  std::vector<Stmt> bodies_;
};

// The PrimFunc for one call: without op_pattern, its weights marked.
PrimFunc WithConstants(PrimFunc func, const std::vector<Expr>& args) {
  func.attrs.erase(kOpPatternAttr);
  std::vector<int64_t> positions;
  for (size_t i = 0; i < args.size(); ++i) {
    if (AsConstant(args[i]) != nullptr) positions.push_back(static_cast<int64_t>(i));
  }
  if (!positions.empty()) func.attrs[kConstantParamsAttr] = MakeIntsAttr(positions);
  func.name = BaseName(func.name);
  return func;
}

}  // namespace

StatusOr<IRModule> FuseTIR(IRModule module) {
  IRModule result;
  PrimFuncTable table(result);
  const auto rewrite = [&](const Binding&, const Expr& value, BlockBuilder&) -> StatusOr<Expr> {
    const Call* call = value.As<Call>();
    if (call == nullptr) return value;
    if (call->op == &CallTirOp()) {
      const PrimFunc* func = module.Find(call->args[0].As<GlobalVar>()->name);
      if (func == nullptr) return InternalError("FuseTIR: call_tir of an unknown function");
      const std::vector<Expr>& args = call->args[1].As<TupleExpr>()->fields;
      return MakeCallTir(table.Add(WithConstants(*func, args)), args, value.struct_info(), call->attrs);
    }
    const Function* group = call->op == nullptr ? module.FindFunction(call->args[0].As<GlobalVar>()->name) : nullptr;
    if (group == nullptr || !group->attrs.contains(kPrimitiveAttr)) return value;
    ASSIGN_OR_RETURN(PrimFunc fused, Fuser(module).Fuse(*group));
    std::vector<Expr> args(call->args.begin() + 1, call->args.end());
    return MakeCallTir(table.Add(WithConstants(std::move(fused), args)), args, value.struct_info());
  };
  for (const Function& func : module.functions) {
    if (func.attrs.contains(kPrimitiveAttr)) continue;
    ASSIGN_OR_RETURN(Function rewritten, RewriteBindings(func, rewrite));
    result.functions.push_back(std::move(rewritten));
  }
  return result;
}

}  // namespace lathe::relax
