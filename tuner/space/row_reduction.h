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
// So a row is read from memory once and stays in the cache. How many accumulators: sampled, or what is near 4; where
// they are sampled, so is how much of a row is written out. With several rows at once, 2 to 8, each block does all of
// them before the next one begins, so that the sum of one row's lanes does not wait for another's. The last vector of a
// row leaves lanes out where the target has mask registers. Fails, and says why, where a block is no such reduction,
// its row has neither those nor a multiple of 4 elements, or the rows of two blocks are not the same loop; for several
// rows also where the last block reduces, or where they are odd.
enum class Accumulators : uint8_t { kFixed, kSampled };
enum class RowsAtOnce : uint8_t { kOne, kSeveral };
Status ScheduleRows(Schedule& schedule, const Target& target, Accumulators accumulators, RowsAtOnce rows_at_once);

// The same for blocks of the root, producers first, the last of which stays where it is: moves all others to `at`, its
// loop of rows (with several rows at once: of groups of them).
Status MoveToRows(Schedule& schedule, const std::vector<BlockRV>& blocks, LoopRV at, const Target& target,
                  Accumulators accumulators, RowsAtOnce rows_at_once);
// How many of so many rows at once: 2, 4 or 8, what divides them; fails where they are odd.
StatusOr<VarRV> SampleRowsAtOnce(Schedule& schedule, int64_t rows);
// Lets a search say how much of what is in `around` is written out: what a short row has between two of its blocks
// stays in registers where both are.
Status SampleHowMuchIsWrittenOut(Schedule& schedule, LoopRV around);

// A copy with ScheduleRows, where no block is better tiled; nullopt: the function is none of rows.
std::optional<Schedule> TryRows(const Schedule& schedule, const Target& target, Accumulators accumulators,
                                RowsAtOnce rows_at_once);

// Rule: TryRows, sampled, by one row and by several.
std::vector<Schedule> RowSchedules(const Schedule& inlined, const Target& target);

// The same for one block that reduces rows so: in each iteration of `at`; without one, of the loop of rows around the
// block, which is returned.
bool ReducesRows(const BlockNode& block, const Target& target);
StatusOr<LoopRV> ReduceRow(Schedule& schedule, BlockRV block, const Target& target, std::optional<LoopRV> at,
                           Accumulators accumulators, RowsAtOnce rows_at_once = RowsAtOnce::kOne);

}  // namespace lathe
