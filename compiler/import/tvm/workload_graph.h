// Workloads as TVM stores them: nodes of an IRModule, written as TVMScript and read like any other, so that what comes
// from a graph has passed every check that a text passes.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// The functions of the graph (TvmWorkload::graph), of v0.18 or 0.27. Unimplemented, with the node, where it holds what
// no function to be scheduled does; InvalidArgument where it is malformed. No text ends the process.
StatusOr<IRModule> ReadTvmModule(std::string_view graph);
// The TVMScript in between. Exact: operators that fold nothing, types of constants.
StatusOr<std::string> TvmModuleToScript(std::string_view graph);

}  // namespace lathe
