#include "compiler/relax/block_builder.h"

#include "compiler/ir/structural.h"
#include "compiler/relax/op.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {

std::string ToIdentifier(std::string_view name) {
  std::string result;
  for (const char c : name.substr(0, 200)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    result += is_plain ? c : '_';
  }
  if (result.empty() || (result[0] >= '0' && result[0] <= '9')) result.insert(0, "v_");
  return result;
}

std::string BlockBuilder::FreshName(const std::string& wish) {
  if (wish.empty()) {
    std::string name;
    do {
      name = next_number_ == 0 ? "lv" : "lv" + std::to_string(next_number_);
      ++next_number_;
    } while (!names_.insert(name).second);
    return name;
  }
  const std::string base = ToIdentifier(wish);
  std::string name = base;
  for (int i = 1; !names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

Var BlockBuilder::Param(const std::string& name, StructInfo info) {
  params_.emplace_back(FreshName(name.empty() ? "input" : name), std::move(info));
  return params_.back();
}

void BlockBuilder::AddParam(const Var& param) {
  names_.insert(param.name());
  params_.push_back(param);
}

Var BlockBuilder::Emit(const Expr& value, const std::string& name) {
  Var var(FreshName(name), value.struct_info(), true);
  EmitBinding({var, value});
  return var;
}

StatusOr<Var> BlockBuilder::EmitCall(std::string_view op, std::vector<Expr> args, AttrMap attrs,
                                     const std::string& name) {
  ASSIGN_OR_RETURN(const Expr call, MakeCall(op, std::move(args), std::move(attrs)));
  return Emit(call, name);
}

void BlockBuilder::EmitBinding(Binding binding) {
  names_.insert(binding.var.name());
  position_.emplace(binding.var.get(), bindings_.size());
  bindings_.push_back(std::move(binding));
}

const Expr* BlockBuilder::Lookup(const Expr& var) const {
  const auto found = position_.find(var.get());
  return found == position_.end() ? nullptr : &bindings_[found->second].value;
}

Function BlockBuilder::Finish(std::string name, const Expr& result, AttrMap attrs) {
  std::unordered_set<const ExprNode*> returned;
  VisitVars(result, [&](const Var& var) { returned.insert(var.get()); });
  ExprMap renamed;
  std::vector<Binding> bindings;
  for (Binding& binding : bindings_) {
    Expr value = Substitute(binding.value, renamed);
    const bool is_dataflow = !returned.contains(binding.var.get());
    Var var = binding.var;
    if (var.is_dataflow() != is_dataflow) {
      var = Var(binding.var.name(), value.struct_info(), is_dataflow);
      renamed.emplace(binding.var.get(), var);
    }
    bindings.push_back({var, std::move(value)});
  }
  return {std::move(name), params_, {{{true, std::move(bindings)}}, Substitute(result, renamed)}, std::move(attrs)};
}

PrimFuncTable::PrimFuncTable(lathe::IRModule& module) : module_(module) {
  for (size_t i = 0; i < module.prim_funcs.size(); ++i) {
    names_.insert(module.prim_funcs[i].name);
    by_hash_.emplace(StructuralHash(module.prim_funcs[i]), i);
  }
}

std::string PrimFuncTable::Add(PrimFunc func) {
  const uint64_t hash = StructuralHash(func);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (StructuralEqual(module_.prim_funcs[it->second], func)) return module_.prim_funcs[it->second].name;
  }
  const std::string base = func.name;
  for (int i = 1; !names_.insert(func.name).second; ++i) func.name = base + "_" + std::to_string(i);
  by_hash_.emplace(hash, module_.prim_funcs.size());
  module_.prim_funcs.push_back(std::move(func));
  return module_.prim_funcs.back().name;
}

}  // namespace lathe::relax
