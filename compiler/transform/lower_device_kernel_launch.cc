#include "compiler/transform/lower_device_kernel_launch.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_set>

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kKernelLaunch = 2;  // TVM's calling convention.
const char* const kDynamicShared = "tir.use_dyn_shared_memory";

// What others call the function.
std::string SymbolOf(const PrimFunc& func) {
  const auto other = func.attrs.find("global_symbol");
  return other == func.attrs.end() ? func.name : std::get<std::string>(other->second);
}

struct Kernel {
  std::string symbol;
  AttrMap target;
  std::vector<Var> params;
  std::vector<Attr> launch_params;  // Thread tags in order of appearance.
  std::vector<Expr> launch_args;
};

class LaunchCollector : public StmtExprVisitor {
 public:
  StatusOr<Kernel> Collect(const PrimFunc& func) {
    const AttrMap* target = TargetOf(func.attrs);
    if (target == nullptr)
      return InvalidArgument(
          fmt::format("LowerDeviceKernelLaunch: @{} has no target; run BindTarget before", func.name));
    kernel_.symbol = SymbolOf(func);
    kernel_.target = WithoutHost(*target);
    kernel_.params = func.params;
    VisitStmt(func.body);
    RETURN_IF_ERROR(status_);
    for (const Attr& tag : kernel_.launch_params)
      kernel_.launch_args.push_back(extents_.at(std::get<std::string>(tag)));
    if (shared_) {
      kernel_.launch_params.push_back(kDynamicShared);
      kernel_.launch_args.push_back(*shared_);
    }
    return kernel_;
  }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) NoteLaunch(*attr);
    if (const Allocate* alloc = stmt.As<Allocate>()) NoteShared(alloc->buffer_var, alloc->dtype, alloc->extents);
    if (const AllocBuffer* alloc = stmt.As<AllocBuffer>())
      NoteShared(alloc->buffer->data, alloc->buffer->dtype, alloc->buffer->shape);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr&) override {}

 private:
  void NoteLaunch(const AttrStmt& attr) {
    const IterVar* axis = attr.attr_key == "thread_extent" ? std::get_if<IterVar>(&attr.node) : nullptr;
    if (axis == nullptr || !seen_.insert(axis->var.get()).second) return;
    if (!extents_.contains(axis->thread_tag)) kernel_.launch_params.push_back(axis->thread_tag);
    extents_.insert_or_assign(axis->thread_tag, attr.value);
  }
  void NoteShared(const Var& data, DataType type, const std::vector<Expr>& extents) {
    if (ScopeOf(data) != "shared.dyn") return;
    if (shared_)
      status_ = InvalidArgument("LowerDeviceKernelLaunch: Only one dynamic shared memory allocation is allowed");
    Expr size = IntConst(extents.empty() ? kIndexType : extents[0].dtype(), 1);
    for (const Expr& extent : extents) size = size * extent;
    shared_ = size * IntConst(size.dtype(), type.bytes());
  }

  Kernel kernel_;
  std::map<std::string, Expr> extents_;
  std::unordered_set<const ExprNode*> seen_;
  std::optional<Expr> shared_;
  Status status_;
};

// A launch says itself whether it succeeded.
class ReturnRemover : public StmtExprMutator {
 public:
  bool returns_other = false;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Evaluate* evaluate = stmt.As<Evaluate>();
    const Call* call = evaluate == nullptr ? nullptr : evaluate->value.As<Call>();
    if (call == nullptr || call->op->name != "ret") return StmtExprMutator::VisitStmt(stmt);
    returns_other |= call->args.size() != 1 || !IsConstInt(call->args[0], 0);
    return Evaluate{0};
  }
};

using Kernels = std::map<std::string, Kernel, std::less<>>;

class CallRewriter : public StmtExprMutator {
 public:
  explicit CallRewriter(const Kernels& kernels) : kernels_(kernels) {}
  std::set<std::string> launched, external;
  Status status;
  Stmt Rewrite(const AttrMap& caller, const Stmt& body) {
    caller_ = &caller;
    return VisitStmt(body);
  }

 protected:
  Expr VisitExpr(const Expr& expr) override {
    const Expr visited = StmtExprMutator::VisitExpr(expr);
    const FuncCall* call = visited.As<FuncCall>();
    if (call == nullptr) return visited;
    const auto found = kernels_.find(call->callee);
    if (found == kernels_.end() || found->second.params.size() != call->args.size()) {
      status = InvalidArgument(fmt::format("LowerDeviceKernelLaunch: no function {} of {} parameters is in the module",
                                           call->callee, call->args.size()));
      return visited;
    }
    const Kernel& kernel = found->second;
    if (Attr(kernel.target) == Attr(*caller_)) return visited;
    const bool is_external = DeviceTypeOf(KindOf(kernel.target)) == DeviceTypeOf(KindOf(*caller_));
    const std::string& called = is_external ? call->callee : kernel.symbol;
    std::vector<Expr> args = {Expr::Make(DataType::Handle(), StringImm{called})};
    args.insert(args.end(), call->args.begin(), call->args.end());
    if (is_external) {
      external.insert(call->callee);
      return Expr::Make(visited.dtype(), Call{FindOp("call_extern"), std::move(args)});
    }
    launched.insert(call->callee);
    VarMap values;
    for (size_t i = 0; i < call->args.size(); ++i) values.emplace(kernel.params[i].get(), call->args[i]);
    for (const Expr& extent : kernel.launch_args) args.push_back(Substitute(extent, values));
    const DataType type = visited.dtype() == DataType::Void() ? DataType::Int(32) : visited.dtype();
    return Expr::Make(type, Call{FindOp("tvm_call_packed"), std::move(args)});
  }

 private:
  const Kernels& kernels_;
  const AttrMap* caller_ = nullptr;
};

Status MakeKernel(PrimFunc& func, const Kernel& kernel) {
  ReturnRemover remover;
  func.body = remover(func.body);
  if (remover.returns_other)
    return InvalidArgument(fmt::format(
        "LowerDeviceKernelLaunch: Device kernel @{} may only contain successful return, T.ret(0)", func.name));
  func.ret_type = std::nullopt;
  func.attrs.insert_or_assign("calling_conv", kKernelLaunch);
  func.attrs.insert_or_assign("tir.kernel_launch_params", kernel.launch_params);
  return OkStatus();
}

}  // namespace

StatusOr<IRModule> LowerDeviceKernelLaunch(IRModule module) {
  Kernels kernels;
  for (const PrimFunc& func : module.prim_funcs) {
    ASSIGN_OR_RETURN(kernels[func.name], LaunchCollector().Collect(func));
  }
  CallRewriter rewriter(kernels);
  for (PrimFunc& func : module.prim_funcs) func.body = rewriter.Rewrite(kernels.at(func.name).target, func.body);
  RETURN_IF_ERROR(rewriter.status);
  for (PrimFunc& func : module.prim_funcs) {
    const bool is_launched = rewriter.launched.contains(func.name), is_external = rewriter.external.contains(func.name);
    if (is_launched && is_external)
      return InvalidArgument(
          fmt::format("LowerDeviceKernelLaunch: @{} is launched and called as an external function", func.name));
    if (!is_launched && !is_external) continue;
    func.attrs.insert_or_assign("tir.is_global_func", true);
    func.is_private = false;
    if (is_launched) RETURN_IF_ERROR(MakeKernel(func, kernels.at(func.name)));
  }
  return module;
}

}  // namespace lathe
