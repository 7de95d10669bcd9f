// Schedules that the user gives: one Python function for each kernel (docs/formats/trace.md).
#pragma once

#include <string>

#include "compiler/relax/module.h"
#include "support/status.h"
#include "tuner/build/compile_network.h"

namespace lathe {

// Answers for the kernels of `module` that have a function of their name in the file `path`, and asks `otherwise` for
// all others. InvalidArgument if the file has a function that is named like none of them.
StatusOr<ScheduleLookup> LookupGiven(const relax::IRModule& module, const std::string& path, ScheduleLookup otherwise);

}  // namespace lathe
