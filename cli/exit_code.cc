#include "cli/exit_code.h"

#include <cstdio>

namespace lathe {

int ExitCodeFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kInvalidArgument: return kExitUsage;
    case StatusCode::kNotFound: return kExitMiss;
    case StatusCode::kUnavailable: return kExitUnavailable;
    case StatusCode::kDeadlineExceeded: return kExitTimeout;
    case StatusCode::kCancelled: return kExitInterrupted;
    default: return kExitFailed;
  }
}

int Fail(const Status& status) {
  std::fprintf(stderr, "lathe: %s\n", status.message().c_str());
  if (status.detail() != nullptr) std::fprintf(stderr, "%s\n", status.detail()->Render().c_str());
  return ExitCodeFor(status);
}

}  // namespace lathe
