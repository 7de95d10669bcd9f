// What the operators' bindings read from Python's arguments.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

#include "compiler/topi/operand.h"
#include "python/src/node.h"

namespace lathe::python {

// None: empty; a number: itself alone.
std::vector<int64_t> IntsOf(const py::object& value);
std::optional<DataType> TypeOrNone(const py::object& value);
topi::Shape ShapeOf(const py::object& value);

void BindTopiNn(py::module_& module);  // lathe.topi.nn

}  // namespace lathe::python
