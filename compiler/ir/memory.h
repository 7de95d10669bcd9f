// T.allocate and T.allocate_const as what everybody below runs: a buffer over the same variable, filled by stores.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// nullopt: it has a condition. Annotations are hints and fall away.
std::optional<Stmt> AsAllocBuffer(const Allocate& allocate);
Stmt AsAllocBuffer(const AllocateConst& allocate);
// The other way: allocations of buffers as memory and a buffer that is declared over it, as TVM 0.18 has them.
Stmt SplitAllocBuffers(const Stmt& stmt);

}  // namespace lathe
