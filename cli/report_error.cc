#include "cli/report_error.h"

#include <cstdio>

#include "cli/verbs.h"

namespace lathe {

int ReportError(const Status& status) {
  std::fprintf(stderr, "lathe: %s\n", status.message().c_str());
  switch (status.code()) {
    case StatusCode::kUnavailable: return kExitUnavailable;
    case StatusCode::kDeadlineExceeded: return kExitTimeout;
    default: return kExitFailed;
  }
}

}  // namespace lathe
