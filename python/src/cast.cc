#include "python/src/cast.h"

#include <fmt/format.h>

#include <limits>

#include "compiler/ir/number_attr.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

py::object Constant(int64_t value) { return Wrap(Expr(value)); }

// An object that stands for its expression: an iter var, a block's or a schedule's variable.
std::optional<Expr> AsNode(py::handle object) {
  const Node* node = Unwrap(object);
  if (node == nullptr) return std::nullopt;
  if (const Expr* e = std::get_if<Expr>(node)) return *e;
  if (const IterVar* iter = std::get_if<IterVar>(node)) return Expr(iter->var);
  return std::nullopt;
}

std::optional<Expr> FromInt(py::handle object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow != 0) return std::nullopt;
  return Expr(int64_t{value});
}

// nullptr, without an error, of what is no integer.
PyObject* AsIndex(PyObject* object) {
  PyObject* index = PyIndex_Check(object) ? PyNumber_Index(object) : nullptr;
  PyErr_Clear();
  return index;
}

// numpy's scalars are no Python numbers, but say what they are worth.
std::optional<Expr> FromNumber(py::handle object) {
  if (py::hasattr(object, "ndim") && !py::object(object.attr("ndim")).equal(py::int_(0))) return std::nullopt;
  if (const auto index = py::reinterpret_steal<py::object>(AsIndex(object.ptr()))) return FromInt(index);
  if (!py::hasattr(object, "dtype") || !py::hasattr(object, "item")) return std::nullopt;
  const py::object value = object.attr("item")();
  if (PyBool_Check(value.ptr())) return IntConst(DataType::Bool(), value.ptr() == Py_True);
  if (!PyFloat_Check(value.ptr())) return std::nullopt;
  const std::optional<DataType> type = ToDataType(object);
  return FloatConst(type && type->is_float() ? *type : DataType::Float(32), PyFloat_AsDouble(value.ptr()));
}

// What becomes an expression where one is wanted: a == b.
std::optional<Expr> FromConvertible(py::handle object) {
  return py::hasattr(object, "asobject") ? AsNode(object.attr("asobject")()) : std::nullopt;
}

// None where an item is no attribute.
std::optional<Attr> DictToAttr(py::handle object, NumberTypes types) {
  AttrMap items;
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(object)) {
    std::optional<Attr> attr = ToAttr(value, types);
    if (!attr || !PyUnicode_Check(key.ptr())) return std::nullopt;
    items.insert_or_assign(py::cast<std::string>(key), *std::move(attr));
  }
  return Attr(std::move(items));
}
std::optional<Attr> ListToAttr(py::handle object, NumberTypes types) {
  std::vector<Attr> items;
  for (py::handle item : object) {
    std::optional<Attr> attr = ToAttr(item, types);
    if (!attr) return std::nullopt;
    items.push_back(*std::move(attr));
  }
  return Attr(std::move(items));
}

Attr WithoutType(const Attr& attr) {
  const Expr* e = std::get_if<Expr>(&attr);
  if (e == nullptr) return attr;
  if (const IntImm* imm = e->As<IntImm>()) return e->dtype().is_bool() ? Attr(imm->value != 0) : Attr(imm->value);
  const FloatImm* imm = e->As<FloatImm>();
  return imm == nullptr ? attr : Attr(imm->value);
}

}  // namespace

py::object ToPython(const Attr& attr) {
  if (const int64_t* value = std::get_if<int64_t>(&attr)) return Constant(*value);
  if (const bool* value = std::get_if<bool>(&attr)) return Wrap(IntConst(DataType::Bool(), *value));
  if (const double* value = std::get_if<double>(&attr)) return Wrap(FloatConst(DataType::Float(32), *value));
  if (const std::string* value = std::get_if<std::string>(&attr)) return py::str(*value);
  if (const Expr* value = std::get_if<Expr>(&attr)) return Wrap(*value);
  if (const AttrMap* value = std::get_if<AttrMap>(&attr)) return ToPython(*value);
  if (const auto* map = std::get_if<std::shared_ptr<const IndexMap>>(&attr))
    return py::cast(std::const_pointer_cast<IndexMap>(*map));
  const auto* list = std::get_if<std::vector<Attr>>(&attr);
  if (list == nullptr) return py::none();
  py::list items;
  for (const Attr& item : *list) items.append(ToPython(item));
  return MakeArray(items);
}

py::object ToPython(const AttrMap& attrs) {
  py::dict items;
  for (const auto& [key, value] : attrs) items[py::str(key)] = ToPython(value);
  const py::object map = MakeMap(items);
  if (!attrs.contains("T.target")) return map;
  return py::module_::import("lathe.target").attr("Target").attr("from_attr")(map);
}

py::object MakeArray(py::list items) { return py::module_::import("lathe.ir.container").attr("Array")(items); }
py::object MakeMap(py::dict items) { return py::module_::import("lathe.ir.container").attr("Map")(items); }
py::object MakeEnum(const char* module, const char* name, int value) {
  return py::module_::import(module).attr(name)(value);
}

std::optional<Expr> ToExpr(py::handle object) {
  if (std::optional<Expr> node = AsNode(object)) return node;
  if (PyBool_Check(object.ptr())) return IntConst(DataType::Bool(), object.ptr() == Py_True);
  if (PyLong_Check(object.ptr())) return FromInt(object);
  if (PyFloat_Check(object.ptr())) return FloatConst(DataType::Float(32), PyFloat_AsDouble(object.ptr()));
  if (PyUnicode_Check(object.ptr()))
    return Expr::Make(DataType::Handle(), StringImm{py::cast<std::string>(py::str(object))});
  if (std::optional<Expr> number = FromNumber(object)) return number;
  return FromConvertible(object);
}

std::optional<Attr> ToAttr(py::handle object, NumberTypes types) {
  if (PyUnicode_Check(object.ptr())) return Attr(py::cast<std::string>(object));
  if (std::optional<Expr> e = ToExpr(object)) return types == NumberTypes::kKept ? AttrOf(*e) : WithoutType(AttrOf(*e));
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) return ListToAttr(object, types);
  if (PyDict_Check(object.ptr())) return DictToAttr(object, types);
  if (py::hasattr(object, "as_attr")) return ToAttr(object.attr("as_attr")(), types);
  return object.is_none() ? std::optional<Attr>(std::monostate()) : std::nullopt;
}

void FailForType(py::handle name) {
  throw Failure(ErrorKind::kLiteral, fmt::format("no type is named \"{}\"", py::cast<std::string>(name)));
}

std::optional<DataType> ToDataType(py::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    StatusOr<DataType> type = DataType::Parse(py::cast<std::string>(object));
    return type.ok() ? std::optional(*type) : std::nullopt;
  }
  if (py::hasattr(object, "dtype") && !PyType_Check(object.ptr())) return ToDataType(object.attr("dtype"));
  if (py::hasattr(object, "name") && py::hasattr(object, "itemsize")) return ToDataType(object.attr("name"));
  return std::nullopt;
}

}  // namespace lathe::python
