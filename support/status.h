// Status and StatusOr: how every folder reports what a user, a device or the network caused.
//
// A message is one line, lower case, no full stop: "operation, place: actual and required; next step". Codes are gRPC's
// numbers, so that a code crosses the wire unchanged. No exception crosses a folder border; a bug of our own is a
// CHECK.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/check.h"

namespace lathe {

// gRPC's canonical codes and numbers. The comment says what a caller does with it.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,   // Bad input: never retried; a candidate is dropped.
  kDeadlineExceeded = 4,  // The work itself took too long.
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,   // Memory, disk, quota.
  kFailedPrecondition = 9,  // Legal request, wrong state: a candidate is dropped.
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,  // The feature is known and outside this build.
  kInternal = 13,       // Our bug.
  kUnavailable = 14,    // Retried.
  kDataLoss = 15,
  kUnauthenticated = 16,  // Nobody knows who asks; kPermissionDenied: it is known, and may not.
};

// The code's name as users see it, e.g. "INVALID_ARGUMENT".
std::string_view StatusCodeName(StatusCode code);

// Text that costs something to make (an IR excerpt), rendered only when somebody reads it.
class StatusDetail {
 public:
  virtual ~StatusDetail() = default;
  virtual std::string Render() const = 0;
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK.
  Status(StatusCode code, std::string message, std::shared_ptr<const StatusDetail> detail = nullptr)
      : code_(code), message_(std::move(message)), detail_(std::move(detail)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }  // One line, without the detail.
  const StatusDetail* detail() const { return detail_.get(); }
  // "CODE: message", then the rendered detail on lines of its own, if there is one.
  std::string ToString() const;

  // Adds what was being done, once, where it is known: "context: message". OK stays OK.
  Status WithContext(std::string_view context) const&;

  friend bool operator==(const Status& a, const Status& b) { return a.code_ == b.code_ && a.message_ == b.message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::shared_ptr<const StatusDetail> detail_;
};

inline Status OkStatus() { return Status(); }
inline Status InvalidArgument(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
inline Status NotFound(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
inline Status AlreadyExists(std::string message) { return {StatusCode::kAlreadyExists, std::move(message)}; }
inline Status FailedPrecondition(std::string message) { return {StatusCode::kFailedPrecondition, std::move(message)}; }
inline Status ResourceExhausted(std::string message) { return {StatusCode::kResourceExhausted, std::move(message)}; }
inline Status DeadlineExceeded(std::string message) { return {StatusCode::kDeadlineExceeded, std::move(message)}; }
inline Status Unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }
inline Status Unimplemented(std::string message) { return {StatusCode::kUnimplemented, std::move(message)}; }
inline Status Cancelled(std::string message) { return {StatusCode::kCancelled, std::move(message)}; }
inline Status Aborted(std::string message) { return {StatusCode::kAborted, std::move(message)}; }
inline Status PermissionDenied(std::string message) { return {StatusCode::kPermissionDenied, std::move(message)}; }
inline Status Unauthenticated(std::string message) { return {StatusCode::kUnauthenticated, std::move(message)}; }
inline Status DataLoss(std::string message) { return {StatusCode::kDataLoss, std::move(message)}; }
inline Status InternalError(std::string message) { return {StatusCode::kInternal, std::move(message)}; }

// Either a value or the reason why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
  StatusOr(Status status) : status_(std::move(status)) {
    CHECK(!status_.ok()) << "StatusOr built from an OK status";
  }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  StatusCode code() const { return status_.code(); }
  const T& value() const& {
    Require();
    return *value_;
  }
  T& value() & {
    Require();
    return *value_;
  }
  T value() && {
    Require();
    return *std::move(value_);
  }  // By value: `for (auto& x : *List())` must not dangle.
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  void Require() const { CHECK(value_.has_value()) << "value of a failed StatusOr: " << status_.ToString(); }
  Status status_;
  std::optional<T> value_;
};

}  // namespace lathe
