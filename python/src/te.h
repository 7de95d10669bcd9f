// Operations of te as Python holds them.
#pragma once

#include <pybind11/pybind11.h>

#include "compiler/te/operation.h"

namespace lathe::python {

// An instance of the class of its kind.
pybind11::object ToPython(const te::Operation& op);
// An operation, or that of a tensor. Failure of kind kValue: it is neither.
te::Operation ToOperation(pybind11::handle object);
// The shape that `what` is given: integers, else a Failure.
const std::vector<Expr>& CheckedShape(const char* what, const std::vector<Expr>& shape);

}  // namespace lathe::python
