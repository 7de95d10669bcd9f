#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Moves each allocation to the innermost place that holds all uses of the buffer, so that it is small and private to a
// parallel iteration or a lane. It never enters a loop whose iterations hand values to each other through the buffer:
// every read must find what was written before it in the same iteration. A write under a condition (a block's predicate
// as well) counts where the read is under it, too, or where it only keeps the write inside the buffer. An allocation
// inside a loop stands in an opaque block of its own around the loop's body; blocks around it no longer name the buffer
// in their regions. Before LowerInitBlock.
PrimFunc PlanAndUpdateBufferAllocationLocation(PrimFunc func);

}  // namespace lathe
