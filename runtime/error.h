// RuntimeError and RuntimeResult: how runtime/ reports what a user, a file or the system caused, with nothing but
// libstdc++.
//
// The numbers are support/status.h's (gRPC's), so a caller above turns an error into a Status by a cast of the code.
// Message form: "operation, place: actual and required; next step", one line, lower case, no full stop.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace lathe {

enum class RuntimeCode : int {
  kOk = 0,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

struct [[nodiscard]] RuntimeError {
  RuntimeCode code = RuntimeCode::kOk;
  std::string message;

  bool ok() const { return code == RuntimeCode::kOk; }
};

// Either a value or the error why there is none. Reading the value of a failure is a bug of the caller and aborts.
template <typename T>
class [[nodiscard]] RuntimeResult {
 public:
  RuntimeResult(T value) : value_(std::move(value)) {}            // NOLINT: implicit on purpose
  RuntimeResult(RuntimeError error) : error_(std::move(error)) {  // NOLINT: implicit on purpose
    if (error_.ok()) std::abort();
  }

  bool ok() const { return value_.has_value(); }
  const RuntimeError& error() const { return error_; }
  T& operator*() & { return Value(); }
  const T& operator*() const& { return const_cast<RuntimeResult*>(this)->Value(); }
  T&& operator*() && { return std::move(Value()); }
  T* operator->() { return &Value(); }
  const T* operator->() const { return &const_cast<RuntimeResult*>(this)->Value(); }

 private:
  T& Value() {
    if (!value_.has_value()) std::abort();
    return *value_;
  }
  RuntimeError error_;
  std::optional<T> value_;
};

// printf into a string: text without fmt, which a board's programs do not link.
[[gnu::format(printf, 1, 2)]] std::string FormatText(const char* format, ...);

// The error text of errno `number`, e.g. "No such file or directory (ENOENT)".
std::string ErrnoText(int number);

}  // namespace lathe

#define RUNTIME_RETURN_IF_ERROR(expr)              \
  do {                                             \
    ::lathe::RuntimeError runtime_error = (expr);  \
    if (!runtime_error.ok()) return runtime_error; \
  } while (false)

#define RUNTIME_CONCAT_INNER(a, b) a##b
#define RUNTIME_CONCAT(a, b) RUNTIME_CONCAT_INNER(a, b)
#define RUNTIME_ASSIGN_OR_RETURN(lhs, expr) \
  RUNTIME_ASSIGN_OR_RETURN_IMPL(RUNTIME_CONCAT(runtime_or_, __LINE__), lhs, expr)
#define RUNTIME_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) return tmp.error();                  \
  lhs = *std::move(tmp)
