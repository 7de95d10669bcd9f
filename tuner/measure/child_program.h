// Runs a program to its end, with a deadline.
#pragma once

#include <string>
#include <vector>

#include "support/clock.h"
#include "support/status.h"

namespace lathe {

// Waits. OK if it exits with 0; else what it said last on stderr, or which signal ended it: FailedPrecondition, DeadlineExceeded.
// Unavailable if it cannot be started. The child is expected to end with the calling thread (PR_SET_PDEATHSIG).
Status RunChildProgram(const std::vector<std::string>& arguments, Duration limit);

// A program installed beside the running one.
std::string ProgramBeside(const std::string& name);

}  // namespace lathe
