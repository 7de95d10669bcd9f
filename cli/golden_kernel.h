// One small kernel built by lathe-builder and run by lathe-runner: does the whole tool chain work here?
#pragma once

#include <string>

#include "cli/machine_checks.h"

namespace lathe {

// `program_folder` holds the two programs. Takes about a second; its files lie in a temporary folder and are removed.
Check CheckGoldenKernel(const std::string& program_folder);

}  // namespace lathe
