#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Replaces `loop` by one loop per factor, outermost first.
// A factor is a literal, a sampled variable of this schedule, T.vscale() times a literal, or nullopt (inferred; at most
// one).
//   split(i, [8, 16]):  for i in 0..128 { S(i) }  -->  for i0 in 0..8 { for i1 in 0..16 { S(i0 * 16 + i1) } }
// Where the factors cover more than the extent, the blocks inside get the predicate i0 * 16 + i1 < extent. The loop is
// serial, without annotations and starts at 0; an extent that is no constant needs an inferred factor. With
// preserve_unit_iters = false, loops of one iteration still appear (handles are returned for them), but bindings do not
// mention them. disable_predication: the caller vouches for what lies beyond.
StatusOr<std::vector<LoopRV>> Split(Schedule& schedule, LoopRV loop, std::span<const std::optional<ExprRV>> factors,
                                    bool preserve_unit_iters = true, bool disable_predication = false);

}  // namespace lathe
