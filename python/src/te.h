// Operations of te as Python holds them.
#pragma once

#include <pybind11/pybind11.h>

#include "compiler/te/operation.h"

namespace lathe::python {

// An instance of the class of its kind.
pybind11::object ToPython(const te::Operation& op);
// An operation, or that of a tensor. Failure of kind kValue: it is neither.
te::Operation ToOperation(pybind11::handle object);

}  // namespace lathe::python
