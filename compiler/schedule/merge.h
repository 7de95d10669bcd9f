// Joining loops beside each other into one.
#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Joins loops that lie at the same depth of nests beside each other, each nest a chain of single children with the same
// extents; the bodies follow each other in the order of the text, where the last nest was. Returns the joined loop; the
// loops above it are joined, too.
//   merge(j, l):  for i { for j { A } }  for k { for l { B } }  -->  for i_m { for j_m { A; B } }
// Two or more loops of one scope, serial, without annotations, from 0. What one nest makes and a later one uses is made
// in the same iteration, complete and for good, before it is used; what lies between uses nothing of what moves.
StatusOr<LoopRV> Merge(Schedule& schedule, std::span<const LoopRV> loops);

}  // namespace lathe
