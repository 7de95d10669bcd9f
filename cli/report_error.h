// What verbs say on stderr, and how they end when something went wrong.
#pragma once

#include <string>

#include "support/status.h"

namespace lathe {

// Prints "lathe: message" and the detail, if any, on stderr, and returns the exit code that the status stands for.
int ReportError(const Status& status);
// Likewise, and kExitOk where nothing did.
int EndVerb(const Status& status);
// "lathe: text" on stderr.
void LogLine(const std::string& text);

}  // namespace lathe
