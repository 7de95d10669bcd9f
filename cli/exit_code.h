// How every verb ends. Scripts may rely on the numbers (docs/formats/cli_json.md).
#pragma once

#include "support/status.h"

namespace lathe {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitMiss = 3;         // What was asked for is not there.
inline constexpr int kExitUnavailable = 4;  // Nobody answers; trying again may help.
inline constexpr int kExitTimeout = 6;
inline constexpr int kExitInterrupted = 130;

int ExitCodeFor(const Status& status);
// Writes "lathe: MESSAGE" and the detail, if any, on stderr; returns the exit code.
int Fail(const Status& status);

}  // namespace lathe
