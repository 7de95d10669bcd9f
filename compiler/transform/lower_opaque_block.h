#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Blocks vanish: allocations become AllocBuffer, predicates IfThenElse. Loops of one iteration without annotations
// become their body, unless they are bound to a thread. After ConvertBlocksToOpaque and LowerMatchBuffer.
PrimFunc LowerOpaqueBlock(PrimFunc func);

}  // namespace lathe
