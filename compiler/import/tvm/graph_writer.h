// Functions to be scheduled as the nodes that TVM stores (docs/formats/tvm_records.md): what workload_graph.h reads.
#pragma once

#include <string>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/trace.h"
#include "support/status.h"

namespace lathe {

// The graph of an IRModule of 0.27 that holds `func` as "main". Unimplemented, with what it is, where the function
// holds a statement or an expression that no function to be scheduled has.
StatusOr<std::string> WriteTvmModule(const PrimFunc& func);
// Of an index map, as 0.27 writes it into a record.
StatusOr<std::string> WriteTvmIndexMap(const TraceMap& map);
// A constant that stands as one node wherever it is used: TVM has a node for each use.
bool IsCommonConstant(const Expr& e);

}  // namespace lathe
