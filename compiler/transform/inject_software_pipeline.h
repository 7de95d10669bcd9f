// A loop whose annotations say in which stage and order the statements of its body run becomes a pipeline: statements
// of later stages run for earlier turns. What does not fit into the loop stands before and behind it; memory that lives
// from one stage to a later one has several versions.
//   for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}): a(i);
//   b(i)
//   --> a(0); for i in range(15): a(i + 1); b(i); b(15)
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Blocks are opaque (ConvertBlocksToOpaque), views are lowered (LowerMatchBuffer). InvalidArgument: only one of the two
// annotations, or of other lengths than the body; two statements of one order; an order against what statements read
// from each other; fragments of wmma that need versions; asynchronous stages, which are not supported.
StatusOr<PrimFunc> InjectSoftwarePipeline(PrimFunc func);

}  // namespace lathe
