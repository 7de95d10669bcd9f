// PrimFunc: attributes; the global symbol is one of them, as in TVM.
#include "compiler/script/complete.h"
#include "compiler/transform/specialize.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

constexpr const char* kGlobalSymbol = "global_symbol";

FuncPtr WithAttr(const PrimFunc& func, const std::string& key, const Attr& value) {
  auto copy = std::make_shared<PrimFunc>(func);
  if (key != kGlobalSymbol) {
    copy->attrs.insert_or_assign(key, value);
  } else if (const std::string* name = std::get_if<std::string>(&value)) {
    copy->name = *name;
    copy->attrs.erase(kGlobalSymbol);
    copy->is_private = false;
  } else {
    throw Failure(ErrorKind::kType, "with_attr \"global_symbol\": expected a string");
  }
  return copy;
}

FuncPtr WithoutAttr(const PrimFunc& func, const std::string& key) {
  auto copy = std::make_shared<PrimFunc>(func);
  if (key == kGlobalSymbol) copy->name.clear();
  copy->attrs.erase(key);
  return copy;
}

// params: variables, or buffers, which get a handle each; buffer_map: which handle stands for which buffer.
FuncPtr MakeFunc(const py::sequence& params, const Stmt& body, std::optional<DataType> ret_type,
                 const py::dict& buffer_map) {
  std::vector<Param> all;
  for (const py::handle param : params) {
    if (const Buffer* buffer = UnwrapAs<Buffer>(param))
      all.push_back(*buffer);
    else
      all.push_back(py::cast<Var>(param));
  }
  auto func = std::make_shared<PrimFunc>(MakePrimFunc("", all, body));
  func->ret_type = ret_type;
  std::vector<ParamBuffer> entries;  // In the order of the parameters.
  size_t num_named = 0;
  for (const Var& param : func->params) {
    const py::object key = Wrap(Expr(param));
    if (const Buffer* own = FindBuffer(*func, param)) entries.push_back({param, *own});
    if (!buffer_map.contains(key)) continue;
    if (param.dtype() != DataType::Handle())
      throw Failure(ErrorKind::kTvm, "PrimFunc: expected handles as keys of buffer_map, got \"" + param.name() + "\"");
    ++num_named;
    entries.push_back({param, py::cast<Buffer>(buffer_map[key])});
  }
  if (buffer_map.size() > num_named)
    throw Failure(ErrorKind::kTvm, "PrimFunc: expected parameters as keys of buffer_map");
  func->buffer_map = std::move(entries);
  return func;
}

}  // namespace

AttrMap AttrsOf(const PrimFunc& func) {
  AttrMap attrs = func.attrs;
  if (!func.name.empty() && !func.is_private) attrs.try_emplace(kGlobalSymbol, func.name);
  return attrs;
}

PrimFunc CalledInModule(PrimFunc func, const std::string& name) {
  func.is_private |= func.name.empty();
  if (!func.is_private && func.name != name) func.attrs.try_emplace(kGlobalSymbol, func.name);
  const auto symbol = func.attrs.find(kGlobalSymbol);
  const bool says_more = symbol != func.attrs.end() && !func.is_private && symbol->second != Attr(name);
  if (!says_more) func.attrs.erase(kGlobalSymbol);
  func.name = name;
  return func;
}

void BindFunc(py::module_& module) {
  module.def("PrimFunc", &MakeFunc);
  module.def("func_complete", [](const FuncPtr& func, const std::vector<Buffer>& root_allocs) -> FuncPtr {
    return std::make_shared<PrimFunc>(Complete(*func, root_allocs, LoneBlock::kIsRoot));
  });
  module.def("block_regions", [](const Block& block) {
    AccessRegions regions = DetectAccessRegions(*block);
    return std::pair(std::move(regions.reads), std::move(regions.writes));
  });
  module.def("func_ret_type", [](const FuncPtr& func) { return func->ret_type; });
  module.def("func_attrs", [](const FuncPtr& func) { return ToPython(AttrsOf(*func)); });
  module.def("func_with_attr", [](const FuncPtr& func, const std::string& key, const Attr& value) {
    return WithAttr(*func, key, value);
  });
  module.def("func_specialize", [](const FuncPtr& func, const py::dict& param_map) -> FuncPtr {
    std::vector<Specialization> values;
    for (const auto& [param, value] : param_map) {
      const Buffer* buffer = UnwrapAs<Buffer>(value);
      const Var var = py::cast<Var>(param);
      if (buffer != nullptr)
        values.push_back({var, *buffer});
      else
        values.push_back({var, MakeCast(var.dtype(), py::cast<Expr>(value))});
    }
    StatusOr<PrimFunc> special = Specialize(*func, values);
    const bool is_fixed = special.status().code() == StatusCode::kFailedPrecondition;
    return std::make_shared<PrimFunc>(Value(std::move(special), is_fixed ? ErrorKind::kType : ErrorKind::kValue));
  });
  module.def("func_without_attr", [](const FuncPtr& func, const std::string& key) { return WithoutAttr(*func, key); });
}

}  // namespace lathe::python
