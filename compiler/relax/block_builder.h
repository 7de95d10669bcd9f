// Makes Relax functions binding by binding, in A-normal form, with struct info inferred as each call is made.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe::relax {

// Serves one function. Not thread-safe.
class BlockBuilder {
 public:
  // A parameter of the function; `name` is made unique and a valid identifier.
  Var Param(const std::string& name, StructInfo info);
  // A parameter or variable made elsewhere, kept as it is.
  void AddParam(const Var& param);
  // Binds `value` to a fresh variable, "lv" and a number unless a name is wished.
  Var Emit(const Expr& value, const std::string& name = "");
  // MakeCall, then Emit.
  StatusOr<Var> EmitCall(std::string_view op, std::vector<Expr> args, AttrMap attrs = {}, const std::string& name = "");
  void EmitBinding(Binding binding);
  // What `var` is bound to here; nullptr for parameters and strangers.
  const Expr* Lookup(const Expr& var) const;
  // The function that returns `result`, an atom or a tuple of atoms. Its variables are dataflow variables but for the
  // returned ones.
  Function Finish(std::string name, const Expr& result, AttrMap attrs = {});

 private:
  std::string FreshName(const std::string& wish);
  std::vector<Var> params_;
  std::vector<Binding> bindings_;
  std::unordered_map<const ExprNode*, size_t> position_;
  std::unordered_set<std::string> names_;
  int next_number_ = 0;
};

// Adds PrimFuncs to a module, each distinct one once: two that are structurally equal are one.
class PrimFuncTable {
 public:
  explicit PrimFuncTable(lathe::IRModule& module);
  // The name under which the module holds a function equal to `func`: its own, or with "_1", "_2" ... where that is
  // taken.
  std::string Add(PrimFunc func);

 private:
  lathe::IRModule& module_;
  std::unordered_multimap<uint64_t, size_t> by_hash_;
  std::unordered_set<std::string> names_;
};

// `name` as an identifier: every other character becomes '_'; never empty, never starting with a digit.
std::string ToIdentifier(std::string_view name);

}  // namespace lathe::relax
