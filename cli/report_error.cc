#include "cli/report_error.h"

#include <cstdio>

#include "cli/verbs.h"

namespace lathe {

int ReportError(const Status& status) {
  std::fprintf(stderr, "lathe: %s\n", status.message().c_str());
  if (status.detail() != nullptr) std::fprintf(stderr, "%s\n", status.detail()->Render().c_str());
  switch (status.code()) {
    case StatusCode::kInvalidArgument: return kExitUsage;
    case StatusCode::kNotFound: return kExitMiss;
    case StatusCode::kUnavailable: return kExitUnavailable;
    case StatusCode::kDeadlineExceeded: return kExitTimeout;
    case StatusCode::kCancelled: return kExitInterrupted;
    default: return kExitFailed;
  }
}

}  // namespace lathe
