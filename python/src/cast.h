// How values cross the border between Python and C++: pybind11's casters for nodes, types, attributes and lists.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/src/argument_errors.h"
#include "python/src/node.h"

namespace lathe::python {

// ---- To Python. Lists become lathe.ir.Array, attribute maps lathe.ir.Map: neither can be changed.
py::object ToPython(const Attr& attr);
py::object ToPython(const AttrMap& attrs);
py::object MakeArray(py::list items);
py::object MakeMap(py::dict items);
// A member of the Python enumeration that mirrors a C++ one: lathe.tir.ForKind.
py::object MakeEnum(const char* module, const char* name, int value);

// ---- From Python. What Python programs write where TVM takes an expression: numbers, strings, nodes, iter vars.
std::optional<Expr> ToExpr(py::handle object);
// Primitives take numbers of any type as numbers; annotations and attributes keep what is no int32 or float32.
enum class NumberTypes { kDropped, kKept };
std::optional<Attr> ToAttr(py::handle object, NumberTypes types = NumberTypes::kDropped);
std::optional<DataType> ToDataType(py::handle object);
[[noreturn]] void FailForType(py::handle name);  // For a text that names none.

}  // namespace lathe::python

namespace pybind11::detail {

// Nodes: a wrapped one only. IntImm and the like have Expr's own caster below.
template <typename T>
struct NodeCaster {
  // Loaded values are kept as a copy of the handle: one count.
  template <typename>
  using cast_op_type = const T&;
  operator const T&() { return *value; }
  static handle cast(const T& node, return_value_policy, handle) { return lathe::python::Wrap(node).release(); }
  bool load(handle object, bool) {
    const T* node = lathe::python::UnwrapAs<T>(object);
    if (node != nullptr) value.emplace(*node);
    if (node == nullptr) lathe::python::NoteRefusal(object, type_caster<T>::kWanted);
    return node != nullptr;
  }
  std::optional<T> value;
};

#define LATHE_NODE_CASTER(Type, Name)                 \
  template <>                                         \
  struct type_caster<Type> : NodeCaster<Type> {       \
    static constexpr auto name = const_name("" Name); \
    static constexpr const char* kWanted = "" Name;   \
  }

LATHE_NODE_CASTER(lathe::Stmt, "Stmt");
LATHE_NODE_CASTER(lathe::Block, "Block");
LATHE_NODE_CASTER(lathe::Buffer, "Buffer");
LATHE_NODE_CASTER(lathe::BufferRegion, "BufferRegion");
LATHE_NODE_CASTER(lathe::MatchBufferRegion, "MatchBufferRegion");
LATHE_NODE_CASTER(lathe::Range, "Range");
LATHE_NODE_CASTER(lathe::IterVar, "IterVar");
LATHE_NODE_CASTER(lathe::CommReducer, "CommReducer");
LATHE_NODE_CASTER(lathe::python::FuncPtr, "PrimFunc");
LATHE_NODE_CASTER(lathe::python::ModulePtr, "IRModule");
#undef LATHE_NODE_CASTER

template <>
struct type_caster<lathe::Expr> {
  static constexpr auto name = const_name("PrimExpr");
  template <typename>
  using cast_op_type = const lathe::Expr&;
  operator const lathe::Expr&() { return *value; }
  static handle cast(const lathe::Expr& e, return_value_policy, handle) { return lathe::python::Wrap(e).release(); }
  bool load(handle object, bool) {
    value = lathe::python::ToExpr(object);
    if (!value) lathe::python::NoteRefusal(object, "expression");
    return value.has_value();
  }
  std::optional<lathe::Expr> value;
};

template <>
struct type_caster<lathe::Var> {
  static constexpr auto name = const_name("Var");
  template <typename>
  using cast_op_type = const lathe::Var&;
  operator const lathe::Var&() { return *value; }
  static handle cast(const lathe::Var& var, return_value_policy, handle) {
    return lathe::python::Wrap(lathe::Expr(var)).release();
  }
  bool load(handle object, bool) {
    const std::optional<lathe::Expr> e = lathe::python::ToExpr(object);
    if (e && lathe::IsVar(*e)) value.emplace(*e);
    if (!value) lathe::python::NoteRefusal(object, "variable");
    return value.has_value();
  }
  std::optional<lathe::Var> value;
};

template <>
struct type_caster<lathe::DataType> {
  PYBIND11_TYPE_CASTER(lathe::DataType, const_name("dtype"));
  static handle cast(lathe::DataType type, return_value_policy, handle) { return str(type.ToString()).release(); }
  bool load(handle object, bool) {
    const std::optional<lathe::DataType> type = lathe::python::ToDataType(object);
    if (type) value = *type;
    if (!type && PyUnicode_Check(object.ptr())) lathe::python::FailForType(object);
    if (!type) lathe::python::NoteRefusal(object, "dtype");
    return type.has_value();
  }
};

template <>
struct type_caster<lathe::Attr> {
  PYBIND11_TYPE_CASTER(lathe::Attr, const_name("attribute"));
  static handle cast(const lathe::Attr& attr, return_value_policy, handle) {
    return lathe::python::ToPython(attr).release();
  }
  bool load(handle object, bool) {
    std::optional<lathe::Attr> attr = lathe::python::ToAttr(object, lathe::python::NumberTypes::kKept);
    if (attr) value = *std::move(attr);
    if (!attr) lathe::python::NoteRefusal(object, "number, a text, an expression or a list of these");
    return attr.has_value();
  }
};

}  // namespace pybind11::detail
