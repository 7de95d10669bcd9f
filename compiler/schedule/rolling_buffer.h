// A tile of an intermediate buffer that keeps what the next tile needs again.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Makes the write_index-th buffer that `block` writes a ring along the outermost loop whose tiles overlap, and lets the
// block compute only what is new in a tile.
//   for i { for a in 0..3 { B[i+a] = A[i+a] }  C[i] = B[i] + B[i+1] + B[i+2] }
//     -->  for i { for a in 0..3 { where i < 1 or 2 <= a:  B[(i+a) % 3] = A[i+a] }  C[i] = B[i % 3] + ... }
// The loop around the block and all readers computes in each iteration what is read in it; a tile begins at v, v * c or
// v * c // d of a loop variable v, in a dimension that an iter var at the same position indexes. The loops from the
// ring's down to there run in order, none at once (TVM does not look), and what the block reads stays as it was made.
// As in TVM, the iter vars at the ring's position become opaque in every block of the scope: their loops keep their
// order.
Status RollingBuffer(Schedule& schedule, BlockRV block, int write_index);

}  // namespace lathe
