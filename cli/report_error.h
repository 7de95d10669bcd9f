// How a verb ends when something went wrong.
#pragma once

#include "support/status.h"

namespace lathe {

// Prints "lathe: message" and the detail, if any, on stderr, and returns the exit code that the status stands for.
int ReportError(const Status& status);

}  // namespace lathe
