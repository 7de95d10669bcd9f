// Makes a failing case small enough to read: calls of the trace and statements of the program are left out while the
// same stage still fails.
#pragma once

#include <functional>

#include "tests/compiler/random_schedule/scheduled_program.h"

namespace lathe {

// Runs `work` in a child process, for 20 s at most; "crash" if it does not come to an answer.
Finding RunInChild(const std::function<Finding()>& work);

using Judge = std::function<Finding(const RandomProgram& program, const Schedule& schedule)>;

// The failing case in words: program, calls, scheduled function, what differs. Each attempt runs in a child process, so
// that crashes can be shrunk, too.
std::string DescribeShrunk(const RandomProgram& program, const ScheduleTrace& trace, const Judge& judge);

}  // namespace lathe
