// Schedules of functions that reduce rows of neighbours in memory: sums of rows, softmax, norms, products of a matrix
// with a vector.
#pragma once

#include <optional>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// All root blocks of a function without tiles, at least one of which reduces the axis along which its input lies in
// memory:
//   parallel [fused rows] { of each block, producers first:
//     a reduction: rest of the row { accumulators (unrolled) { vector lanes } }, then the sum of the accumulators by
//       lanes, then the sum of the lanes;
//     any other block: the row by vector lanes }
// So a row is read from memory once and stays in the cache. How many accumulators: sampled, or what is near 4. Fails,
// and says why, where a block is no such reduction, its row has no multiple of 4 elements, or the rows of two blocks
// are not the same loop.
enum class Accumulators : uint8_t { kFixed, kSampled };
Status ScheduleRows(Schedule& schedule, const Target& target, Accumulators accumulators);

// A copy with ScheduleRows, where no block is better tiled; nullopt: the function is none of rows.
std::optional<Schedule> TryRows(const Schedule& schedule, const Target& target, Accumulators accumulators);

// Rule: TryRows, sampled.
std::vector<Schedule> RowSchedules(const Schedule& inlined, const Target& target);

// The same for one block that reduces rows so: in each iteration of `at`; without one, of the loop of rows around the
// block, which is returned.
bool ReducesRows(const BlockNode& block, const Target& target);
StatusOr<LoopRV> ReduceRow(Schedule& schedule, BlockRV block, const Target& target, std::optional<LoopRV> at,
                           Accumulators accumulators);

}  // namespace lathe
