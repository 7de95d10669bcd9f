// Changing the order of a block's own iter vars.
#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Iter var i of the block becomes what new_order[i] was; `new_order` is a permutation of 0 ... their number - 1.
//   reorder_block_iter_var(C, [1, 0]):  vi, vj = remap("SS", [i, j])  -->  vj, vi = remap("SS", [j, i])
Status ReorderBlockIterVar(Schedule& schedule, BlockRV block, std::span<const int64_t> new_order);

}  // namespace lathe
