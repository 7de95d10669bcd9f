// Memory and the buffers over it: T.allocate and T.allocate_const as what everybody below runs, a buffer over the same
// variable, filled by stores; and allocations of buffers as TVM 0.18 has them, memory with a buffer declared over it.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// nullopt: it has a condition. Annotations are hints and fall away.
std::optional<Stmt> AsAllocBuffer(const Allocate& allocate);
Stmt AsAllocBuffer(const AllocateConst& allocate);
// The memory, with a declaration of the buffer in it.
Stmt SplitAllocBuffer(const AllocBuffer& alloc);
Stmt SplitAllocBuffers(const Stmt& stmt);
// The other way: what SplitAllocBuffers makes becomes the allocation of a buffer again. `for_text`: only where
// T.decl_buffer without data says it all, memory of the buffer's name and shape.
Stmt JoinAllocations(const Stmt& stmt, bool for_text = false);

}  // namespace lathe
