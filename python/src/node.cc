#include "python/src/node.h"

#include <string>
#include <unordered_map>

#include "python/src/errors.h"
#include "python/src/reflect.h"

namespace lathe::python {
namespace {

struct NodeObject {
  PyObject_HEAD;
  Node value;
};

PyTypeObject* object_type = nullptr;  // Made once, when the module is loaded; lives as long as the interpreter.
std::unordered_map<std::string_view, PyTypeObject*>& Classes() {
  static auto* classes = new std::unordered_map<std::string_view, PyTypeObject*>();
  return *classes;
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<NodeObject*>(self)->value.~Node();
  type->tp_free(self);
  Py_DECREF(type);
}

// Instances are made by Wrap only: the classes' __new__ ask C++ for a node.
PyObject* New(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s has no constructor", type->tp_name);
  return nullptr;
}
int Init(PyObject*, PyObject*, PyObject*) { return 0; }

Py_hash_t Hash(PyObject* self) {
  size_t hash = 0;
  for (const void* id : Identity(reinterpret_cast<NodeObject*>(self)->value))
    hash = hash * 0x9e3779b97f4a7c15u + (reinterpret_cast<uintptr_t>(id) >> 4);
  return static_cast<Py_hash_t>(hash >> 1);
}

PyObject* RichCompare(PyObject* self, PyObject* other, int op) {
  const Node* b = Unwrap(other);
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  const bool same = b != nullptr && SameNode(reinterpret_cast<NodeObject*>(self)->value, *b);
  return PyBool_FromLong(same == (op == Py_EQ));
}

// What the class has comes first, then the node's fields.
PyObject* GetAttribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    const char* text = PyUnicode_AsUTF8(name);
    py::object field =
        text == nullptr ? py::object() : FieldOf(reinterpret_cast<NodeObject*>(self)->value, std::string_view(text));
    if (field) {
      Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(traceback);
      return field.release().ptr();
    }
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (const Failure& failure) {
    Raise(failure);
    return nullptr;
  }
  PyErr_Restore(type, value, traceback);
  return nullptr;
}

PyTypeObject* MakeObjectType() {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
      {Py_tp_new, reinterpret_cast<void*>(New)},
      {Py_tp_init, reinterpret_cast<void*>(Init)},
      {Py_tp_hash, reinterpret_cast<void*>(Hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(RichCompare)},
      {Py_tp_getattro, reinterpret_cast<void*>(GetAttribute)},
      {0, nullptr},
  };
  static PyType_Spec spec = {"lathe._lib.Object", sizeof(NodeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  return reinterpret_cast<PyTypeObject*>(type);
}

void RegisterClass(const std::string& key, const py::type& cls) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  if (!PyType_IsSubtype(type, object_type)) throw py::type_error("register " + key + ": the class is no Object");
  Classes()[*new std::string(key)] = reinterpret_cast<PyTypeObject*>(py::object(cls).release().ptr());
}

}  // namespace

py::object Wrap(Node node) {
  if (const Expr* e = std::get_if<Expr>(&node)) Check(CheckDepth(*e));
  const auto found = Classes().find(TypeKey(node));
  PyTypeObject* type = found == Classes().end() ? object_type : found->second;
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) throw py::error_already_set();
  new (&reinterpret_cast<NodeObject*>(object)->value) Node(std::move(node));
  return py::reinterpret_steal<py::object>(object);
}

const Node* Unwrap(py::handle object) {
  if (!PyObject_TypeCheck(object.ptr(), object_type)) return nullptr;
  return &reinterpret_cast<NodeObject*>(object.ptr())->value;
}

void BindNode(py::module_& module) {
  object_type = MakeObjectType();
  module.attr("Object") = py::handle(reinterpret_cast<PyObject*>(object_type));
  module.def("register_class", &RegisterClass);
  module.def("same_as", [](py::handle a, py::handle b) {
    const Node *x = Unwrap(a), *y = Unwrap(b);
    return x != nullptr && y != nullptr && SameNode(*x, *y);
  });
  module.def("type_key", [](py::handle object) {
    const Node* node = Unwrap(object);
    if (node == nullptr) throw py::type_error("type_key: the argument is no node");
    return TypeKey(*node);
  });
  module.def("node_field", [](py::handle object, const std::string& name) { return FieldOf(*Unwrap(object), name); });
  module.def("field_names", [](py::handle object) { return FieldNames(*Unwrap(object)); });
}

}  // namespace lathe::python
