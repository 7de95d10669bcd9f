#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Blocks vanish: allocations become AllocBuffer, predicates IfThenElse. Loops of one iteration without annotations
// become their body, unless they are bound to a thread. After ConvertBlocksToOpaque and LowerMatchBuffer.
PrimFunc LowerOpaqueBlock(PrimFunc func);
// As TVM's pass of this name: besides, loops that are bound to threads become "thread_extent" or "virtual_thread"
// attributes, and annotations "pragma_..." of loops and blocks attributes around them.
PrimFunc LowerOpaqueBlockToAttrs(PrimFunc func);

}  // namespace lathe
