// tir.transform: every pass of compiler/lower.h by TVM's name.
#include <fmt/format.h>

#include "compiler/lower.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

ModulePtr RunOnModule(const std::string& pass, const IRModule& module) {
  auto result = std::make_shared<IRModule>(module);
  for (PrimFunc& func : result->prim_funcs) func = Value(RunPass(pass, func));
  return result;
}

ModulePtr LowerModule(const IRModule& module) {
  auto result = std::make_shared<IRModule>(module);
  for (PrimFunc& func : result->prim_funcs) func = Value(Lower(func));
  return result;
}

}  // namespace

void BindPasses(py::module_& module) {
  module.def("pass_names", [] {
    std::vector<std::string_view> names;
    for (const LowerPass& pass : CpuPasses()) names.push_back(pass.name);
    return names;
  });
  module.def("run_pass", [](const std::string& pass, const ModulePtr& m) { return RunOnModule(pass, *m); });
  module.def("lower", [](const ModulePtr& m) { return LowerModule(*m); });
}

}  // namespace lathe::python
