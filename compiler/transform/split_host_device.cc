#include "compiler/transform/split_host_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "compiler/transform/func_analysis.h"
#include "compiler/transform/target_attr.h"

namespace lathe {
namespace {

// Buffers that are used and not introduced, in order of appearance. A mutator, since only it is told where.
class FreeBufferFinder : public StmtExprMutator {
 public:
  std::vector<Buffer> buffers;

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override {
    known_.insert(buffer.get());
    return buffer;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    if (known_.insert(buffer.get()).second) buffers.push_back(buffer);
    return buffer;
  }

 private:
  std::unordered_set<const BufferNode*> known_;
};

class KernelSplitter : public StmtExprMutator {
 public:
  KernelSplitter(const IRModule& module, std::string prefix) : module_(module), prefix_(std::move(prefix)) {}
  std::vector<PrimFunc> kernels;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr == nullptr || attr->attr_key != "target") return StmtExprMutator::VisitStmt(stmt);
    const Attr* node = std::get_if<Attr>(&attr->node);
    const AttrMap* target = node == nullptr ? nullptr : std::get_if<AttrMap>(node);
    return target == nullptr ? StmtExprMutator::VisitStmt(stmt) : Split(attr->body, WithoutHost(*target));
  }

 private:
  Stmt Split(Stmt body, const AttrMap& target) {
    const bool returns = CanReturn(KindOf(target));
    FreeBufferFinder finder;
    finder(body);
    if (returns) body = MakeSeq({body, Evaluate{Expr::Make(DataType::Int(32), Call{FindOp("ret"), {Expr(0)}})}});
    for (size_t i = finder.buffers.size(); i-- > 0;) body = DeclBuffer{finder.buffers[i], std::move(body)};
    const std::vector<Var> params = ParamsOf(body);
    PrimFunc kernel{.name = FreshName(),
                    .params = params,
                    .buffer_map = {},
                    .ret_type = returns ? std::optional(DataType::Int(32)) : std::nullopt,
                    .attrs = {{"target", target}, {"tir.noalias", true}, {"tir.is_global_func", true}},
                    .body = std::move(body),
                    .is_private = true};
    kernels.push_back(Clone(kernel));
    return CallOf(kernel.name, params, returns);
  }
  static bool CanReturn(const std::string& kind) {
    constexpr int kCpu = 1, kExtDev = 12, kHexagon = 14;
    const int type = DeviceTypeOf(kind);
    return type == kCpu || type == kExtDev || type == kHexagon;
  }
  static std::vector<Var> ParamsOf(const Stmt& body) {
    std::vector<Var> params = UndefinedVars(body);
    std::stable_sort(params.begin(), params.end(), [](const Var& a, const Var& b) {
      const bool a_points = a.dtype() == DataType::Handle(), b_points = b.dtype() == DataType::Handle();
      return a_points != b_points ? a_points : a.name() < b.name();
    });
    return params;
  }
  static Stmt CallOf(const std::string& name, const std::vector<Var>& params, bool returns) {
    const std::vector<Expr> args(params.begin(), params.end());
    const DataType type = returns ? DataType::Int(32) : DataType::Void();
    const Expr call = Expr::Make(type, FuncCall{name, args});
    if (!returns) return Evaluate{call};
    const Var code("kernel_error_code", type);
    return LetStmt{call, code, AssertStmt{Equal(code, 0), "Error executing compute kernel", Evaluate{0}}};
  }
  std::string FreshName() const {
    const std::string first = prefix_ + "_kernel";
    std::string name = first;
    const auto is_taken = [&] {
      return module_.Find(name) != nullptr ||
             std::any_of(kernels.begin(), kernels.end(), [&](const PrimFunc& kernel) { return kernel.name == name; });
    };
    for (int i = 1; is_taken(); ++i) name = fmt::format("{}_{}", first, i);
    return name;
  }

  const IRModule& module_;
  const std::string prefix_;
};

}  // namespace

StatusOr<IRModule> SplitHostDevice(IRModule module) {
  const size_t num_funcs = module.prim_funcs.size();
  for (size_t i = 0; i < num_funcs; ++i) {
    KernelSplitter splitter(module, module.prim_funcs[i].name);
    module.prim_funcs[i].body = splitter(module.prim_funcs[i].body);
    for (PrimFunc& kernel : splitter.kernels) module.prim_funcs.push_back(std::move(kernel));
  }
  return module;
}

}  // namespace lathe
