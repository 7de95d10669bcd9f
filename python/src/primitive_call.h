// Calls of schedule primitives with Python's arguments, as the row of their signature says.
#pragma once

#include <pybind11/pybind11.h>

#include "compiler/schedule/instruction_signature.h"
#include "compiler/schedule/schedule.h"
#include "python/src/errors.h"

namespace lathe::python {

namespace py = pybind11;

// Runs the primitive and returns its handles: None, one, or a list. TypeError where the arguments do not fit the row,
// ScheduleError where the primitive refuses.
py::object CallPrimitive(Schedule& schedule, const Signature& row, const py::args& args, const py::kwargs& kwargs);

// TVM's class for a handle that means nothing: it was removed (IndexError), or what it named is gone (ValueError).
inline ErrorKind KindOfHandleError(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument ? ErrorKind::kUnknownHandle : ErrorKind::kStaleHandle;
}
// What a handle names.
template <typename T>
T Held(StatusOr<T> found) {
  return Value(std::move(found), found.ok() ? ErrorKind::kSchedule : KindOfHandleError(found.status()));
}

}  // namespace lathe::python
