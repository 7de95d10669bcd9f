#pragma once

#include <optional>
#include <string>

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
// What a target makes of vectors.
struct VectorTarget {
  std::string name;                      // For messages; empty: there is none.
  bool has_scalable_vectors = false;     // SVE: lanes times T.vscale().
  std::optional<bool> makes_predicates;  // Of conditions "lane < limit"; without a word those with scalable vectors do.
};
// As TVM's pass of this name: what stands under a condition that differs between lanes becomes predicates of its loads
// and stores, where the target makes those, or runs as a serial loop. InvalidArgument: a while inside, or an extent
// that is neither a constant nor T.vscale() times one under a target with scalable vectors.
//   for v in vectorized(T.vscale() * 4) { B[v] = A[v] }  -->  B[ramp(0, 1, T.vscale() * 4)] = A[...]
StatusOr<PrimFunc> VectorizeLoopWithoutMasks(PrimFunc func, const VectorTarget& target);
// The loops as serial ones.
PrimFunc SkipVectorize(PrimFunc func);

}  // namespace lathe
