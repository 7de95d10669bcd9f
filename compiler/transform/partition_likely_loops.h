#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

struct LoopPartitionOptions {  // TVM's names of "tir.LoopPartition".
  bool partition_const_loop = false;
  bool no_unroll_loop_with_extent_one = false;
  bool unroll_loop_with_partition_hint_no_interval = false;
};

// Splits a loop where conditions marked T.likely are decided: before, in and after the iterations in which all that say
// something of the loop hold (else: in which none does), there as constants, and each part again in turn. As TVM's:
//   for i in 0..7 { for j in 0..16 { if likely(i*16 + j < 100) { S } } }
//   -->  for i in 0..6 { for j in 0..16 { if True { S } } }  for j in 0..4 { if True { S[i = 6] } }
//        for j in 0..12 { if False { S[i = 6, j = j + 4] } }
// Loops of symbolic extent; others, and launches of blocks, with `partition_const_loop`. Loops under the attribute
// "pragma_loop_partition_hint" always, and by every condition of statements and choices below them. What is left of
// T.likely and of that attribute falls away.
PrimFunc PartitionLikelyLoops(PrimFunc func, const LoopPartitionOptions& options);

}  // namespace lathe
