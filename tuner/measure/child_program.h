// Runs a program to its end, with a deadline.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "support/clock.h"
#include "support/status.h"

namespace lathe {

inline constexpr int kExitDiskFull = 75;  // EX_TEMPFAIL: it could not write what it should, for want of space.

// Waits, until `is_cancelled` at most: then the child is killed, and Cancelled. OK if it exits with 0; else what it
// said last on stderr, or which signal ended it: FailedPrecondition, DeadlineExceeded. Unavailable if it cannot be
// started or somebody else killed it; ResourceExhausted if it exits with kExitDiskFull. Its environment is empty. The
// child is expected to end with the calling thread (PR_SET_PDEATHSIG).
Status RunChildProgram(const std::vector<std::string>& arguments, Duration limit,
                       const std::atomic<bool>& is_cancelled);

// A program installed beside the running one.
std::string ProgramBeside(const std::string& name);

}  // namespace lathe
