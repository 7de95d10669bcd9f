// A database as tuning leaves it behind, without the measuring: records of random candidates.
#pragma once

#include <string>

#include "compiler/relax/module.h"
#include "compiler/target/target.h"
#include "support/status.h"

namespace lathe {

// Writes `per_task` records for each task of `network` (the result of OptimizeForTuning) into the database. Candidates
// are drawn from the task's space by `seed`; those that do not build are passed over, as tuning would. The times are
// made up.
Status WriteRandomRecords(const relax::IRModule& network, const Target& target, uint64_t seed, int per_task,
                          const std::string& database);

}  // namespace lathe
