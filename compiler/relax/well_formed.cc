#include "compiler/relax/well_formed.h"

#include <fmt/format.h>

#include "compiler/relax/op.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

class Checker {
 public:
  Checker(const IRModule& module, const Function& func) : module_(module), func_(func) {}

  Status Check() {
    for (const Var& param : func_.params) RETURN_IF_ERROR(Define(param));
    for (const BindingBlock& block : func_.body.blocks) {
      for (const Binding& binding : block.bindings) {
        at_ = binding.var.name();
        RETURN_IF_ERROR(CheckValue(binding.value));
        if (!Equal(binding.value.struct_info(), binding.var.struct_info())) {
          return Error(fmt::format("bound to {}, declared as {}", ToText(binding.value.struct_info()),
                                   ToText(binding.var.struct_info())));
        }
        if (binding.var.is_dataflow() && !block.is_dataflow)
          return Error("a dataflow variable outside of a dataflow block");
        RETURN_IF_ERROR(Define(binding.var));
      }
      std::erase_if(defined_, [](const auto& entry) { return entry.second; });
    }
    at_ = "result";
    if (!IsAtom(func_.body.body)) return Error("the result is no atom");
    return CheckUses(func_.body.body);
  }

 private:
  Status Error(std::string_view what) const {
    return InternalError(fmt::format("well-formed @{} {}: {}", func_.name, at_, what));
  }
  Status Define(const Var& var) {
    at_ = var.name();
    if (!defined_.emplace(var.get(), var.is_dataflow()).second) return Error("defined twice");
    if (!names_.insert(var.name()).second) return Error("two variables of one name");
    return OkStatus();
  }
  Status CheckUses(const Expr& e) const {
    Status status;
    VisitVars(e, [&](const Var& var) {
      if (status.ok() && !defined_.contains(var.get()))
        status = Error(fmt::format("uses \"{}\", which is not defined here", var.name()));
    });
    return status;
  }
  Status CheckValue(const Expr& value) const {
    RETURN_IF_ERROR(CheckUses(value));
    const Call* call = value.As<Call>();
    if (call == nullptr) return OkStatus();
    for (const Expr& arg : call->args) {
      if (!IsAtom(arg)) return Error("an argument is no atom");
    }
    if (call->op == nullptr) {
      const GlobalVar* callee = call->args.empty() ? nullptr : call->args[0].As<GlobalVar>();
      if (callee == nullptr || module_.FindFunction(callee->name) == nullptr)
        return Error("calls no function of the module");
    }
    return call->op == &CallTirOp() ? CheckCallTir(*call, value.struct_info()) : OkStatus();
  }
  Status CheckCallTir(const Call& call, const StructInfo& result) const {
    const GlobalVar* callee = call.args[0].As<GlobalVar>();
    const PrimFunc* func = callee == nullptr ? nullptr : module_.Find(callee->name);
    if (func == nullptr) return Error("call_tir of no PrimFunc of the module");
    std::vector<StructInfo> infos;
    for (const Expr& arg : call.args[1].As<TupleExpr>()->fields) infos.push_back(arg.struct_info());
    infos.push_back(result);
    if (infos.size() != func->params.size())
      return Error(fmt::format("@{} has {} parameters, {} given", func->name, func->params.size(), infos.size()));
    for (size_t i = 0; i < infos.size(); ++i) {
      const Buffer* buffer = FindBuffer(*func, func->params[i]);
      if (buffer == nullptr || !Equal(infos[i], MakeTensorInfo((*buffer)->shape, (*buffer)->dtype))) {
        return Error(fmt::format("argument {} of @{} is {}", i, func->name, ToText(infos[i])));
      }
    }
    return OkStatus();
  }

  const IRModule& module_;
  const Function& func_;
  std::string at_ = "parameters";
  std::unordered_map<const ExprNode*, bool> defined_;  // To: is a dataflow variable.
  std::unordered_set<std::string> names_;
};

}  // namespace

Status CheckWellFormed(const IRModule& module) {
  std::unordered_set<std::string> names;
  for (const PrimFunc& func : module.prim_funcs) {
    if (!names.insert(func.name).second)
      return InternalError(fmt::format("well-formed: two functions named \"{}\"", func.name));
  }
  for (const Function& func : module.functions) {
    if (!names.insert(func.name).second)
      return InternalError(fmt::format("well-formed: two functions named \"{}\"", func.name));
    RETURN_IF_ERROR(Checker(module, func).Check());
  }
  return OkStatus();
}

}  // namespace lathe::relax
