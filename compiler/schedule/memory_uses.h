// How a statement uses memory: through which buffers, and what of it by its address.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "compiler/ir/stmt.h"

namespace lathe {

struct MemoryUses {
  boost::container::small_vector<const BufferNode*, 6> buffers;  // That are loaded or stored; each once.
  boost::container::small_vector<const ExprNode*, 2> pointers;   // To memory that is named otherwise, views; each once.
  uint32_t seen_at = 0;                                          // After so many replacements (RowTable).
};
// Of all below `stmt`. The addresses live as long as it does.
MemoryUses MemoryUsesIn(const Stmt& stmt);
// Of a block, without the loops and blocks in it.
MemoryUses MemoryUsesAroundNests(const Stmt& scope);

// Whether somebody looks at the buffer's memory in another way than by its elements: A.data, another buffer over it, a
// view.
bool IsViewedBy(const MemoryUses& uses, const Buffer& buffer);

}  // namespace lathe
