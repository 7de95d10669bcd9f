// How many vector registers a schedule wants to have, before anybody generates code for it.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// Vector registers of the inner loop of the register tile, of several the one that needs the most: its accumulators;
// the vectors and broadcasts that its unrolled statements, in the order in which they are written, meet again; one for
// what is met once; of an unrolled reduction the next step's vectors, which overlap with the last multiplications of
// one; what shuffles and masks take. Code generation keeps the steps of large tiles apart
// (KernelEmitter::KeepStepsApart), so nothing is kept there from one to the next. 0 if the function has no register
// tile.
int64_t RegistersNeeded(const PrimFunc& scheduled, const Target& target);

}  // namespace lathe
