#include "cli/report_error.h"

#include <cstdio>

#include "cli/verbs.h"

namespace lathe {

int ReportError(const Status& status) {
  LogLine(status.message());
  if (status.detail() != nullptr) std::fprintf(stderr, "%s\n", status.detail()->Render().c_str());
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return kExitUsage;
    case StatusCode::kNotFound:
      return kExitMiss;
    case StatusCode::kUnavailable:
      return kExitUnavailable;
    case StatusCode::kUnauthenticated:
    case StatusCode::kPermissionDenied:
      return kExitNotAllowed;
    case StatusCode::kDeadlineExceeded:
      return kExitTimeout;
    case StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitFailed;
  }
}

int EndVerb(const Status& status) { return status.ok() ? static_cast<int>(kExitOk) : ReportError(status); }

void LogLine(const std::string& text) { std::fprintf(stderr, "lathe: %s\n", text.c_str()); }

}  // namespace lathe
