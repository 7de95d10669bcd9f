// Primitives that draw: each records what it chose as a decision, which a later replay may change.
#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// `n` numbers whose product is the loop's extent, the last at most `max_innermost_factor` (-1: no limit); all ordered
// factorisations are equally likely. A decision is taken from the innermost factor on, as TVM takes it: one that does
// not divide what is left becomes all of it. A symbolic extent: all but the outermost 1.
StatusOr<std::vector<VarRV>> SamplePerfectTile(Schedule& schedule, LoopRV loop, int n, int max_innermost_factor,
                                               const Decision* decision = nullptr);
// Likewise, and the product of the factors from `partition_pos` on is a multiple of `innerpart_factor`. An extent that
// is no such multiple: [-1, 1, 1 ...], nothing is tiled. A decision that does not fit: [.., innerpart_factor, 1 ...].
StatusOr<std::vector<VarRV>> SamplePartitionedTile(Schedule& schedule, LoopRV loop, int n, int partition_pos,
                                                   int innerpart_factor, const Decision* decision = nullptr);
// candidates[i], with probability probs[i]; the decision is i.
StatusOr<VarRV> SampleCategorical(Schedule& schedule, std::span<const int64_t> candidates,
                                  std::span<const double> probs, const Decision* decision = nullptr);

// A uniformly drawn ordered factorisation of `extent` into `n` factors, innermost <= `max_innermost`. Pure.
std::vector<int64_t> DrawPerfectTile(int64_t extent, int n, int64_t max_innermost, Random& random);
// Prime factors, ascending, with multiplicity. extent >= 1.
std::vector<int64_t> PrimeFactors(int64_t extent);

}  // namespace lathe
