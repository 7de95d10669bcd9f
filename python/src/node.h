// Every node of the compiler as one Python type. A Python class per kind of node (lathe/tir/expr.py ...) derives from
// it and gives it a name; what the node holds stays in C++.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/stmt.h"

namespace lathe::python {

namespace py = pybind11;

using FuncPtr = std::shared_ptr<const PrimFunc>;
using ModulePtr = std::shared_ptr<IRModule>;  // Changed in place by its methods, as TVM's.
using Node = std::variant<Expr, Stmt, Block, Buffer, BufferRegion, MatchBufferRegion, Range, IterVar, CommReducer,
                          const Op*, FuncPtr, ModulePtr>;

// The node as an instance of the class that was registered for its kind.
py::object Wrap(Node node);
// The node in `object`, nullptr if it is none. Valid while `object` lives.
const Node* Unwrap(py::handle object);

// The alternative `T` in `object`, nullptr if it is something else.
template <typename T>
const T* UnwrapAs(py::handle object) {
  const Node* node = Unwrap(object);
  return node == nullptr ? nullptr : std::get_if<T>(node);
}

// TVM's name of the kind: "tir.Add", "tir.For", "IRModule".
std::string_view TypeKey(const Node& node);
// The C++ handles that make the node what it is: two nodes are the same where these are, and attributes of functions.
std::vector<const void*> Identity(const Node& node);
bool SameNode(const Node& a, const Node& b);

// Adds the type `Object` to the module, and what registers classes for it.
void BindNode(py::module_& module);

}  // namespace lathe::python
