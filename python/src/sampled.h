// The numbers that schedules draw: in Python they are variables, and what is computed of them is an expression, as in
// TVM.
#pragma once

#include <functional>

#include "compiler/schedule/schedule.h"
#include "python/src/cast.h"

namespace lathe::python {

int FreshHandleId();  // Of a handle that a program makes itself; no schedule has it.
py::object VarOfSampled(int id);
// The number that a variable stands for. Known: one that VarOfSampled has made, or that SampledOf was asked about.
std::optional<VarRV> KnownSampled(py::handle object);
std::optional<VarRV> SampledOf(py::handle object);  // nullopt: it is no variable.
// What an expression of drawn numbers is worth now. A variable that is none of the schedule's is a Failure.
int64_t ValueOfSampled(const Schedule& schedule, const Expr& value);
// Whether `object` is a list in which such variables stand, here or further in; it as a trace keeps it, other items
// after `change`.
bool HoldsSampled(py::handle object);
TraceItems ItemsOf(py::handle list, const std::function<py::object(py::handle)>& change);
// `object`, or the items of a list or a map, with numbers in the place of what is computed of drawn ones.
py::object WithNumbers(const Schedule& schedule, py::handle object);

}  // namespace lathe::python
