#include "python/src/errors.h"

#include <pybind11/pybind11.h>

#include "python/src/argument_errors.h"
#include "support/check.h"

namespace lathe::python {
namespace py = pybind11;
namespace {

// The message, and on lines of its own what it speaks of.
std::string Text(const Status& status) {
  if (status.detail() == nullptr) return status.message();
  return status.message() + "\n" + status.detail()->Render();
}

const char* ClassOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kTvm:
      return "InternalError";
    case ErrorKind::kMismatch:
      return "MismatchedTypesError";
    case ErrorKind::kLiteral:
      return "LiteralError";
    case ErrorKind::kOperation:
      return "UnknownOperationError";
    case ErrorKind::kSchedule:
      return "ScheduleError";
    case ErrorKind::kStaleHandle:
      return "StaleHandleError";
    case ErrorKind::kUnknownHandle:
      return "UnknownHandleError";
    case ErrorKind::kArgument:
      return "ScheduleArgumentError";
    case ErrorKind::kFunction:
      return "UnknownFunctionError";
    case ErrorKind::kBuffer:
      return "UnknownBufferError";
    case ErrorKind::kCount:
      return "ScheduleValueError";
    case ErrorKind::kAnnotation:
      return "UnknownAnnotationError";
    case ErrorKind::kParse:
      return "ParseError";
    case ErrorKind::kValue:
      return "ValueError";
    case ErrorKind::kType:
      return "TypeError";
    case ErrorKind::kKey:
      return "KeyError";
  }
  return "TVMError";
}

// Of threads that Python started or has called from; on others nobody catches.
void ThrowTowardsPython(const std::string& text) {
  if (PyGILState_GetThisThreadState() == nullptr) return;
  throw Failure(ErrorKind::kTvm, text + "\nthis is a bug of Lathe; please report it with the program that shows it");
}

}  // namespace

Failure::Failure(ErrorKind kind, const Status& status) : std::runtime_error(Text(status)), kind(kind) {}

void Raise(const Failure& failure) {
  const py::object cls = py::module_::import("lathe.error").attr(ClassOf(failure.kind));
  PyErr_SetString(cls.ptr(), failure.what());
}

void BindErrors() {
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const Failure& failure) {
      Raise(failure);
    } catch (const py::cast_error&) {
      RaiseCastError();
    }
  });
  SetCheckHandler(ThrowTowardsPython);
}

}  // namespace lathe::python
