#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Puts the given loops, which lie on one chain of single children, into the given order; loops between them keep their
// places.
//   reorder(k, i):  for i { for j { for k { S } } }  -->  for k { for j { for i { S } } }
// Blocks below have data-parallel and reduce iters only, take each step once or compute the same again, and use what
// others of them make in the same iteration only; no bound depends on a loop that would move inside.
Status Reorder(Schedule& schedule, std::span<const LoopRV> ordered_loops);

}  // namespace lathe
