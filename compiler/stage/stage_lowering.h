// From stages to a scheduled function: for StageSchedule alone.
#pragma once

#include <string>
#include <vector>

#include "compiler/stage/stage_schedule.h"

namespace lathe::te {

// `known` in any order; each operation that `args` need has one. Loops are called what the axes are.
StatusOr<PrimFunc> LowerStages(const std::vector<const Stage*>& known, const std::vector<Argument>& args,
                               const std::string& name, const StageForm& form);

}  // namespace lathe::te
