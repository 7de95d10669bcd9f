// Functions to be scheduled as the nodes that TVM stores (docs/formats/tvm_records.md): what workload_graph.h reads.
#pragma once

#include <string>

#include "compiler/arith/index_map.h"
#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// The graph of an IRModule of 0.27 that holds `func` as "main". Unimplemented, with what it is, where the function
// holds a statement or an expression that no function to be scheduled has.
StatusOr<std::string> WriteTvmModule(const PrimFunc& func);
// Of an index map, as it stands in traces.
StatusOr<std::string> WriteTvmIndexMap(const IndexMap& map);

}  // namespace lathe
