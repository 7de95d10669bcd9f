// What the decisions of a trace are about, in words: for reports.
#pragma once

#include <map>
#include <string>

#include "tuner/search/search_strategy.h"

namespace lathe {

// For each instruction of `trace` that samples: 'tile of loop "j" of "matmul"', 'annotation "pragma_unroll"'. A trace
// that does not replay on the task's workload gives the primitives' names.
std::map<size_t, std::string> NameDecisions(const TuneTask& task, const ScheduleTrace& trace);

// "[4, 1, 2, 16]", or the category that instruction `index` chose; "-" where it has no decision.
std::string DecisionText(const ScheduleTrace& trace, size_t index);

// How many lists of decisions a trace with complete decisions stands for; those that a constraint refuses count.
double CountChoices(const ScheduleTrace& trace);

}  // namespace lathe
