// Rule: some rows at once of a product, of what reduces these rows, and of a product of that: attention.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// Schedules of a ProductChain, whose sums between the products stay in the cache:
//   parallel [weights of the first product, in panels of one vector of columns]
//   parallel [fused batches, blocks of rows] {
//     tiles of columns { tiles of rows { steps { register tile } write back } }      the first product
//     rows { as ScheduleRows has them }                                              by one row and by several
//     tiles of columns { tiles of rows { steps { register tile } write back } }      the last product
//   }
// Sizes are sampled.
std::vector<Schedule> ChainTiles(const Schedule& inlined, const Target& target);

}  // namespace lathe
