#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Lets a sum begin with what its only reader adds to it: `reduction_block` writes what `epilogue_block` wrote, which is
// gone. The sum's own buffer stays allocated, as in TVM.
//   C: init C[v] = 0; C[v] = C[v] + A[v, k]     D: D[v] = C[v] + bias[v]
//     -->  C: init D[v] = bias[v]; D[v] = D[v] + A[v, k]
// Floats are added in another order. The reduction adds, from 0, in one store; the epilogue is one store of a sum with
// the element of the same indices. (TVM takes max and min of the sum, too, in each step, which is another function.)
Status FuseReductionEpilogue(Schedule& schedule, BlockRV reduction_block, BlockRV epilogue_block);

}  // namespace lathe
