// Index maps of traces as the nodes that TVM stores (docs/formats/tvm_records.md). Nodes that are shared stay shared,
// so that what was read is written back byte for byte.
#pragma once

#include <string>
#include <string_view>

#include "compiler/arith/index_map.h"
#include "compiler/schedule/trace.h"
#include "support/status.h"

namespace lathe {

// Of v0.18 or 0.27. Sampled variables are free ones, by the names that the trace gives them. Unimplemented, with the
// node, where it holds what no index has; InvalidArgument where it is malformed.
StatusOr<IndexMap> ReadTvmIndexMap(std::string_view graph);

// As v0.18 writes it. Unimplemented where it holds what no index has.
StatusOr<std::string> WriteOldTvmIndexMap(const TraceMap& map);

}  // namespace lathe
