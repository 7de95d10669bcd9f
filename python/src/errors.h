// From Status to Python's exceptions (lathe/error.py).
#pragma once

#include <stdexcept>
#include <string>

#include "support/status.h"

namespace lathe::python {

// Which exception a failure becomes: the operation knows it, not the code.
enum class ErrorKind {
  kTvm,
  kMismatch,
  kLiteral,
  kOperation,
  kSchedule,
  kStaleHandle,
  kUnknownHandle,
  kArgument,
  kFunction,
  kBuffer,
  kCount,
  kAnnotation,
  kParse,
  kValue,
  kType,
  kKey
};

// Thrown towards Python; the translator of BindErrors raises the class of its kind with this text.
class Failure : public std::runtime_error {
 public:
  Failure(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  Failure(ErrorKind kind, const Status& status);
  const ErrorKind kind;
};

inline void Check(const Status& status, ErrorKind kind = ErrorKind::kTvm) {
  if (!status.ok()) throw Failure(kind, status);
}
template <typename T>
T Value(StatusOr<T> result, ErrorKind kind = ErrorKind::kTvm) {
  Check(result.status(), kind);
  return *std::move(result);
}

void Raise(const Failure& failure);  // Sets Python's error.
void BindErrors();

}  // namespace lathe::python
