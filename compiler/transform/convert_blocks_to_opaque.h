#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Replaces every iter var by its value; blocks keep their name, regions, allocations and predicate. After
// LowerInitBlock (an init would lose the reduction iter vars that it is guarded by).
PrimFunc ConvertBlocksToOpaque(PrimFunc func);

}  // namespace lathe
