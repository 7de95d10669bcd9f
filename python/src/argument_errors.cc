#include "python/src/argument_errors.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

namespace lathe::python {

namespace py = pybind11;

namespace {

using FunctionRecord = py::detail::function_record;

constexpr std::string_view kOfPybind = "The following argument types are supported",
                           kOfCast = "a value cannot be taken";

struct Refusal {
  PyObject* object = nullptr;    // Only to be compared.
  PyTypeObject* type = nullptr;  // Owned.
  const char* wanted = nullptr;
  uint64_t number = 0;  // Of this thread, from 1.
};
thread_local constinit Refusal refusal;

PyCFunctionWithKeywords dispatch_of_pybind = nullptr;  // One for all functions.

std::string WithArticle(std::string_view noun) {
  const bool is_vowel = std::string_view("aeiouAEIO").find(noun.front()) != std::string_view::npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", noun);
}

std::string TypeName(const PyTypeObject* type) {
  const std::string_view name = type->tp_name;
  return std::string(name.substr(name.rfind('.') + 1));
}

// "None", "2.5", "'x'", "a Buffer"
std::string Given(py::handle object) {
  PyObject* const o = object.ptr();
  const bool is_plain = object.is_none() || PyUnicode_Check(o) || PyLong_Check(o) || PyFloat_Check(o);
  return is_plain ? py::cast<std::string>(py::repr(object)).substr(0, 60) : WithArticle(TypeName(Py_TYPE(o)));
}

std::optional<size_t> IndexIn(py::handle list, const PyObject* object) {
  if (!PyList_Check(list.ptr()) && !PyTuple_Check(list.ptr())) return std::nullopt;
  const auto items = py::reinterpret_borrow<py::sequence>(list);
  for (size_t i = 0; i < items.size(); ++i)
    if (py::object(items[i]).ptr() == object) return i;
  return std::nullopt;
}

// "(x: Tensor, axis: int)" of "(self: lathe._lib.T, x: lathe._lib.te.Tensor, axis: int) -> None".
std::string ForReaders(std::string_view signature, bool is_method) {
  std::string text(signature.substr(0, signature.rfind(" -> ")));
  if (const size_t comma = text.find(", "); is_method && comma != std::string::npos) text.replace(1, comma + 1, "");
  for (const std::string_view module : {"lathe._lib.te.", "lathe._lib."})
    for (size_t at = text.find(module); at != std::string::npos; at = text.find(module)) text.erase(at, module.size());
  return text;
}

// The call whose arguments are explained.
struct ExplainedCall {
  const FunctionRecord& record;
  py::tuple args;
  py::dict named;

  bool NamesOperation() const {
    return !record.args.empty() && record.args[0].name != nullptr &&
           std::string_view("operation") == record.args[0].name && args.size() > 0;
  }
  std::string Name() const {
    if (record.is_new_style_constructor) return py::cast<std::string>(record.scope.attr("__name__"));
    return NamesOperation() ? py::cast<std::string>(py::str(args[0])) : record.name;
  }
  size_t NumHidden() const { return NamesOperation() || record.is_method ? 1 : 0; }  // Operation or self.

  // "argument 2", "argument 2[0]", "argument "axis"" of the object, where it is one.
  std::string PlaceOf(const PyObject* object) const {
    for (size_t i = NumHidden(); i < args.size(); ++i) {
      const size_t number = i + 1 - NumHidden();
      if (args[i].ptr() == object) return fmt::format("argument {}", number);
      const std::optional<size_t> item = IndexIn(args[i], object);
      if (item)
        return NamesOperation() ? fmt::format("argument {}", *item + 1) : fmt::format("argument {}[{}]", number, *item);
    }
    for (const auto& [name, value] : named) {
      const std::string text = py::cast<std::string>(name);
      if (value.ptr() == object) return fmt::format("argument \"{}\"", text);
      if (const std::optional<size_t> item = IndexIn(value, object))
        return fmt::format("argument \"{}\"[{}]", text, *item);
    }
    return "a value";
  }

  std::string Types() const {
    std::string types;
    for (size_t i = NumHidden(); i < args.size(); ++i) types += (types.empty() ? "" : ", ") + Given(args[i]);
    for (const auto& [name, value] : named)
      types += fmt::format("{}{}={}", types.empty() ? "" : ", ", py::cast<std::string>(name), Given(value));
    return types;
  }
  std::string Signatures() const {
    std::string all;
    for (const FunctionRecord* each = &record; each != nullptr; each = each->next)
      all += (all.empty() ? "" : " or ") + ForReaders(each->signature, record.is_method);
    return all;
  }

  std::string OfSignatures() const {
    return fmt::format("{}: ({}) is given; {} is required", Name(), Types(), Signatures());
  }
  std::string OfRefusal() const {
    const std::string place = PlaceOf(refusal.object);
    const std::string given = place == "a value" ? WithArticle(TypeName(refusal.type)) : Given(refusal.object);
    return fmt::format("{}: {} is {}; {} is required", Name(), place, given, WithArticle(refusal.wanted));
  }
};

bool IsToBeExplained() {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  py::error_already_set error;
  const std::string text = py::cast<std::string>(py::str(error.value()));
  error.restore();
  return text.find(kOfPybind) != std::string::npos || text == kOfCast;
}

PyObject* Dispatch(PyObject* self, PyObject* args, PyObject* named) {
  const uint64_t refused_before = refusal.number;
  PyObject* result = dispatch_of_pybind(self, args, named);
  if (result != nullptr || !IsToBeExplained()) return result;
  PyErr_Clear();
  const auto* record = static_cast<const FunctionRecord*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
  const ExplainedCall call{*record, py::reinterpret_borrow<py::tuple>(args),
                           named == nullptr ? py::dict() : py::reinterpret_borrow<py::dict>(named)};
  const bool is_refused = refusal.number > refused_before && record->next == nullptr;
  PyErr_SetString(PyExc_TypeError, (is_refused ? call.OfRefusal() : call.OfSignatures()).c_str());
  return nullptr;
}

// Of a function, a method or a static one; nullptr if it is none of pybind11's.
PyMethodDef* DefinitionOf(py::handle object) {
  PyObject* function = object.ptr();
  if (PyInstanceMethod_Check(function)) function = PyInstanceMethod_GET_FUNCTION(function);
  if (Py_TYPE(function) == &PyStaticMethod_Type) function = py::object(object.attr("__func__")).ptr();
  if (!PyCFunction_Check(function) || PyCFunction_GET_SELF(function) == nullptr) return nullptr;
  const bool is_pybinds = PyCapsule_CheckExact(PyCFunction_GET_SELF(function)) != 0;
  return is_pybinds ? reinterpret_cast<PyCFunctionObject*>(function)->m_ml : nullptr;
}

void ExplainIn(const py::dict& names) {
  for (const auto& [name, object] : names) {
    if (PyMethodDef* definition = DefinitionOf(object)) {
      if (dispatch_of_pybind == nullptr)
        dispatch_of_pybind = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void*>(definition->ml_meth));
      definition->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Dispatch));
    } else if (PyType_Check(object.ptr()) || PyModule_Check(object.ptr())) {
      ExplainIn(py::dict(object.attr("__dict__")));
    }
  }
}

}  // namespace

void NoteRefusal(py::handle object, const char* wanted) {
  PyTypeObject* type = Py_TYPE(object.ptr());
  Py_INCREF(type);
  Py_XDECREF(refusal.type);
  refusal = {object.ptr(), type, wanted, refusal.number + 1};
}

void RaiseCastError() { PyErr_SetString(PyExc_TypeError, std::string(kOfCast).c_str()); }

void ExplainArguments(py::module_& module) { ExplainIn(py::dict(module.attr("__dict__"))); }

}  // namespace lathe::python
