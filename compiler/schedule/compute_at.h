// Moving a block under a loop of another: compute_at for producers, reverse_compute_at for consumers.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Moves producer `block` under `loop`, where it computes just what the consumers below that loop need.
//   compute_at(B, i):  for i, j { B[i, j] }  for i, j { C[i, j] = B[i, j] }  -->  for i { for ax { B[i, ax] }  for j {
//   C[i, j] = B[i, j] } }
// Same scope; the block is complete or a reduction, no output of the scope; all its consumers are below the loop, which
// is not around the block itself. Nothing on the way writes what the block reads; no if, while or let is around it. Its
// predicate goes with it, as far as the iter vars' domains do not imply it. `index`: -1 right before the first
// consumer, -2 as early as its own producers allow, else the place among the loop's children. Loops of one iteration
// are left out unless preserve_unit_loops. A mark of sample_compute_location leaves the block where it is or inlines
// it.
Status ComputeAt(Schedule& schedule, BlockRV block, LoopRV loop, bool preserve_unit_loops = false, int index = -1);

// Moves consumer `block` under `loop`, where it uses just what the producers below that loop have made. All its
// producers are below the loop, and what they write is final after one iteration of it. Nothing on the way reads what
// the block writes. A reduction that is spread over the loops takes each step once, the first one first. `index`: -1 as
// late as possible, -2 right after the last producer.
Status ReverseComputeAt(Schedule& schedule, BlockRV block, LoopRV loop, bool preserve_unit_loops = false,
                        int index = -1);

}  // namespace lathe
