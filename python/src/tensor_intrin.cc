// tir.TensorIntrin: the table of tensor intrinsics.
#include "compiler/schedule/tensor_intrin.h"

#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {

using IntrinPtr = std::shared_ptr<TensorIntrin>;  // Never changed: pybind11 holds no pointers to const.

void BindTensorIntrin(py::module_& module) {
  py::class_<TensorIntrin, IntrinPtr>(module, "TensorIntrin")
      .def_property_readonly("desc", [](const TensorIntrin& self) { return FuncPtr(new PrimFunc(self.description)); })
      .def_property_readonly("impl",
                             [](const TensorIntrin& self) { return FuncPtr(new PrimFunc(self.implementation)); });
  module.def("register_tensor_intrin",
             [](const std::string& name, const FuncPtr& desc, const FuncPtr& impl, bool replaces) {
               const auto intrin = Value(MakeTensorIntrin(*desc, *impl), ErrorKind::kValue);
               Check(RegisterTensorIntrin(name, intrin, replaces), ErrorKind::kValue);
             });
  module.def("get_tensor_intrin", [](const std::string& name, bool allow_missing) -> IntrinPtr {
    const StatusOr<std::shared_ptr<const TensorIntrin>> intrin = GetTensorIntrin(name);
    if (!intrin.ok() && allow_missing) return nullptr;
    return std::make_shared<TensorIntrin>(*Value(intrin, ErrorKind::kValue));
  });
}

}  // namespace lathe::python
