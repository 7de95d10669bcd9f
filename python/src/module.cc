// IRModule: functions by name.
#include "compiler/ir/module.h"

#include <fmt/format.h>

#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

// A function that comes without a symbol is the module's own.
void Put(IRModule& module, const std::string& name, PrimFunc func) {
  func = CalledInModule(std::move(func), name);
  for (PrimFunc& present : module.prim_funcs) {
    if (present.name == name) {
      present = std::move(func);
      return;
    }
  }
  module.prim_funcs.push_back(std::move(func));
}

FuncPtr Get(const IRModule& module, const std::string& name) {
  const PrimFunc* func = module.Find(name);
  if (func != nullptr) return std::make_shared<const PrimFunc>(*func);
  std::vector<std::string_view> names;
  for (const PrimFunc& present : module.prim_funcs) names.push_back(present.name);
  throw Failure(ErrorKind::kValue,
                fmt::format("IRModule: no function is named \"{}\"; there are: {}", name, fmt::join(names, ", ")));
}

void Remove(IRModule& module, const std::string& name) {
  if (std::erase_if(module.prim_funcs, [&](const PrimFunc& func) { return func.name == name; }) == 0) Get(module, name);
}

std::vector<std::string> Names(const IRModule& module) {
  std::vector<std::string> names;
  for (const PrimFunc& func : module.prim_funcs) names.push_back(func.name);
  return names;
}

}  // namespace

void BindModule(py::module_& module) {
  module.def("module_new", [] { return std::make_shared<IRModule>(); });
  module.def("module_copy", [](const ModulePtr& m) { return std::make_shared<IRModule>(*m); });
  module.def("module_names", [](const ModulePtr& m) { return Names(*m); });
  module.def("module_get", [](const ModulePtr& m, const std::string& name) { return Get(*m, name); });
  module.def("module_has", [](const ModulePtr& m, const std::string& name) { return m->Find(name) != nullptr; });
  module.def("module_put",
             [](const ModulePtr& m, const std::string& name, const FuncPtr& func) { Put(*m, name, *func); });
  module.def("module_remove", [](const ModulePtr& m, const std::string& name) { Remove(*m, name); });
  module.def("module_attrs", [](const ModulePtr& m) { return ToPython(m->attrs); });
  module.def("module_with_attr", [](const ModulePtr& m, const std::string& key, const Attr& value) {
    auto copy = std::make_shared<IRModule>(*m);
    copy->attrs.insert_or_assign(key, value);
    return copy;
  });
  module.def("module_without_attr", [](const ModulePtr& m, const std::string& key) {
    auto copy = std::make_shared<IRModule>(*m);
    copy->attrs.erase(key);
    return copy;
  });
}

}  // namespace lathe::python
