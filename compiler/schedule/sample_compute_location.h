#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Draws where `block` may be computed: a loop around its consumers at which compute_at accepts it, or a mark to leave
// it where it is or to inline it. Data-parallel loops below one that reduces, trailing loops that reduce and loops of
// one iteration are no candidates. The decision is the loop's place among those around the first consumer, -1 to stay,
// -2 to inline; one that is no candidate any more becomes the next lower one.
StatusOr<LoopRV> SampleComputeLocation(Schedule& schedule, BlockRV block, const Decision* decision = nullptr);

}  // namespace lathe
