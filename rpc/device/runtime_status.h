// Errors of runtime/, which knows no Status, as everybody else has them.
#pragma once

#include "runtime/error.h"
#include "support/status.h"

namespace lathe {

// The codes of both have gRPC's numbers.
inline Status FromRuntime(const RuntimeError& error) {
  return Status(static_cast<StatusCode>(error.code), error.message);
}

}  // namespace lathe
