#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Shrinks each buffer allocated by a block to the box that is touched inside of that block, where the conditions around
// an access let it happen; accesses are moved by the box's corner. A dimension whose box has no constant extent, or is
// larger than the buffer, stays whole. What storage_align asks for (a block's annotation "buffer_dim_align") becomes
// strides. After ConvertBlocksToOpaque. InvalidArgument: memory of a scope that is none (compiler/ir/storage_scope.h):
// nobody knows which threads share it.
//   alloc T[128]; for j in 0..8 { T[i*8 + j] }  -->  alloc T[8]; for j in 0..8 { T[j] }
StatusOr<PrimFunc> CompactBufferAllocation(PrimFunc func);
// Likewise, but the indices stay as they come out, as TVM's do: T[i*8 + j - i*8].
StatusOr<PrimFunc> CompactBufferAllocationPlainly(PrimFunc func);

}  // namespace lathe
