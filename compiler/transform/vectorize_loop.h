#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Replaces each kVectorized loop by vector statements; its variable becomes a Ramp. A condition that differs between
// lanes becomes a vector condition (lanes that are off neither load nor store). What has no vector form runs as a
// serial loop of its own: allocations, while, inner loops whose bounds differ between lanes. A loop that is no vector
// at all (an extent that is no constant or above 1024, one element written by several lanes) becomes serial as a whole.
// After FlattenBuffer.
//   for v in vectorized(4) { B[i*4 + v] = A[v]*2 }  -->  B[ramp(i*4, 1, 4)] = A[ramp(0, 1, 4)]*broadcast(2, 4)
PrimFunc VectorizeLoop(PrimFunc func);
// As TVM's pass of this name: a statement under a condition that differs between lanes runs as a serial loop.
// InvalidArgument: a while inside, or an extent that is no constant.
StatusOr<PrimFunc> VectorizeLoopWithoutMasks(PrimFunc func);
// The loops as serial ones.
PrimFunc SkipVectorize(PrimFunc func);

}  // namespace lathe
