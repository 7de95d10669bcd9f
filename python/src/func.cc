// PrimFunc: attributes; the global symbol is one of them, as in TVM.
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

constexpr const char* kGlobalSymbol = "global_symbol";

py::object Attrs(const PrimFunc& func) {
  py::dict items;
  if (!func.name.empty()) items[kGlobalSymbol] = py::str(func.name);
  for (const auto& [key, value] : func.attrs) items[py::str(key)] = ToPython(value);
  return MakeMap(items);
}

FuncPtr WithAttr(const PrimFunc& func, const std::string& key, const Attr& value) {
  auto copy = std::make_shared<PrimFunc>(func);
  if (key != kGlobalSymbol) {
    copy->attrs.insert_or_assign(key, value);
  } else if (const std::string* name = std::get_if<std::string>(&value)) {
    copy->name = *name;
  } else {
    throw Failure(ErrorKind::kType, "with_attr \"global_symbol\": expected a string");
  }
  return copy;
}

FuncPtr WithoutAttr(const PrimFunc& func, const std::string& key) {
  auto copy = std::make_shared<PrimFunc>(func);
  if (key == kGlobalSymbol)
    copy->name.clear();
  else
    copy->attrs.erase(key);
  return copy;
}

}  // namespace

void BindFunc(py::module_& module) {
  module.def("func_attrs", [](const FuncPtr& func) { return Attrs(*func); });
  module.def("func_with_attr", [](const FuncPtr& func, const std::string& key, const Attr& value) {
    return WithAttr(*func, key, value);
  });
  module.def("func_without_attr", [](const FuncPtr& func, const std::string& key) { return WithoutAttr(*func, key); });
}

}  // namespace lathe::python
