// Wrapping a statement in a loop of one iteration.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Puts a loop of one iteration around a block, which is no root, or around a loop. Returns it.
//   add_unit_loop(B):  for i { B }  -->  for i { for u in 0..1 { B } }
StatusOr<LoopRV> AddUnitLoop(Schedule& schedule, BlockRV block);
StatusOr<LoopRV> AddUnitLoop(Schedule& schedule, LoopRV loop);

}  // namespace lathe
