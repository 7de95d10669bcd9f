// One loop as several, one after the other, over parts of its range.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Replaces `loop` by one loop for each factor and one for what is left, in blocks of their own, first iterations first.
//   loop_partition(i, [2, 5]):
//     for i in 0..16 { B: S(i) }  -->  block B_i_common {
//       block B_i0_partition { for i0 in 0..2 { B_i0: S(i0) } }
//       block B_i1_partition { for i1 in 2..7 { B_i1: S(i1) } }
//       block B_i2_partition { for i2 in 7..16 { B_i2: S(i2) } } }
// A factor is a positive literal, a sampled variable of this schedule, or nullopt (inferred; at most one: then nothing
// is left). The loop starts at 0, has a constant extent above the sum of the factors, no annotation and no thread, and
// one block directly below. The new blocks around the loops declare no regions, as in TVM; the schedule knows what they
// touch (Schedule::MarkHiding). An iter var bound to the loop alone gets the part as its domain; one that reduces keeps
// its own, since its init runs once (TVM's would run in each part).
StatusOr<std::vector<LoopRV>> LoopPartition(Schedule& schedule, LoopRV loop,
                                            std::span<const std::optional<ExprRV>> factors,
                                            bool preserve_unit_iters = true);

}  // namespace lathe
