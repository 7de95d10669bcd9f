#pragma once

#include "compiler/arith/index_map.h"
#include "compiler/schedule/schedule.h"

namespace lathe {

// Gives the block other iter vars, and loops of its own for them.
//   for i in 0..14 { block B: vi = i; B[vi] = A[vi] }                                        (lambda i: (i // 7, i %
//   7))
//     -->  for ax0 in 0..2, ax1 in 0..7 { block B: v0 = ax0, v1 = ax1; B[v0*7 + v1] = A[v0*7 + v1] }
// Each iter var is bound to a loop and to nothing else, the loops hold only this block and may be reordered, the map is
// bijective on the domains. A new iter var is data-parallel or reduces as all do of which it is made.
Status TransformBlockLayout(Schedule& schedule, BlockRV block, const IndexMap& index_map);

}  // namespace lathe
