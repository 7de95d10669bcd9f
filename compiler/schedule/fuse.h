#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Joins nested loops, outermost first, each the only child of the one before, into one.
//   fuse(i, j):  for i, j in grid(8, 16) { S(i, j) }  -->  for f in 0..128 { S(f // 16, f % 16) }
// The loops are serial, without annotations, start at 0 and have variables of one type, which holds the product of
// their extents; an inner extent does not depend on an outer variable. With
// preserve_unit_iters = false, variables of loops of one iteration are replaced by 0 in the bindings.
StatusOr<LoopRV> Fuse(Schedule& schedule, std::span<const LoopRV> loops, bool preserve_unit_iters = true);

}  // namespace lathe
