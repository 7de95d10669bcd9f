// The parts of the module lathe._lib, a file each.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "compiler/schedule/schedule.h"

namespace lathe::python {

void BindModule(pybind11::module_& module);  // IRModule
void BindFunc(pybind11::module_& module);    // PrimFunc
// Attributes as TVM has them: the global symbol, unless the function is private, is one of them.
AttrMap AttrsOf(const PrimFunc& func);
// `func` as a module calls it: its global symbol stays what it was. One without a symbol is the module's own.
PrimFunc CalledInModule(PrimFunc func, const std::string& name);
void BindScript(pybind11::module_& module);  // TVMScript in and out
void BindStructural(pybind11::module_& module);
void BindSchedule(pybind11::module_& module);
void BindTe(pybind11::module_& module);      // Tensors and what computes them
void BindStages(pybind11::module_& module);  // Their classic schedules; after BindTe
void BindTopi(pybind11::module_& module);    // The operator library
void BindTrace(pybind11::module_& module);
void BindTensorIntrin(pybind11::module_& module);
void BindExpr(pybind11::module_& module);
void BindStmt(pybind11::module_& module);
void BindArith(pybind11::module_& module);
void BindIntConstraints(pybind11::module_& module);
void BindIterMap(pybind11::module_& module);
void BindLayout(pybind11::module_& module);
void BindFunctor(pybind11::module_& module);
void BindAnalysis(pybind11::module_& module);
void BindPasses(pybind11::module_& module);
void BindRuntime(pybind11::module_& module);
void BindBuild(pybind11::module_& module);
// What Schedule says of loops and blocks by place.
void BindState(pybind11::module_& module, pybind11::class_<Schedule, std::shared_ptr<Schedule>>& schedule);

}  // namespace lathe::python
