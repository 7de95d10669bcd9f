#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Moves each allocation to the innermost place that holds all uses of the buffer, so that it is small and private to a
// parallel iteration. It never enters a loop whose iterations hand values to each other through the buffer: every read
// must find what was written before it in the same iteration for certain, under no predicate but its own. An allocation
// inside a loop stands in an opaque block of its own around the loop's body. Before LowerInitBlock.
PrimFunc PlanAndUpdateBufferAllocationLocation(PrimFunc func);

}  // namespace lathe
