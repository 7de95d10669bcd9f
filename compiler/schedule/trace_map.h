// Index maps as traces keep them: sampled variables stand in them as variables, so that a changed decision reaches
// them.
#pragma once

#include "compiler/arith/index_map.h"
#include "compiler/schedule/schedule.h"

namespace lathe {

// The variables that `map` uses and does not introduce, each once.
std::vector<Var> FreeVarsOf(const IndexMap& map);
// What a trace calls the sampled variable: "v5"; "_" below 0, where it has no name.
std::string NameOf(VarRV var);
// `map` with other expressions in the place of free variables.
IndexMap Substituted(const IndexMap& map, const VarMap& vars);
// `map` with its sampled variables called so: what is printed.
IndexMap WithNames(const TraceMap& map);
// `map` whose free variables called "v5" are sampled ones. InvalidArgument where another is free.
StatusOr<TraceMap> WithSampled(IndexMap map);
// `map` with numbers in the place of sampled variables.
StatusOr<IndexMap> MapInNumbers(const Schedule& schedule, const TraceMap& map);

}  // namespace lathe
