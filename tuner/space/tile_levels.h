// Tiles by levels, for generators that say themselves which levels they want.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// The iter var, by position in the block's, that becomes vector lanes, or steps that an instruction takes at once.
struct LaneChoice {
  size_t iter = 0;
  int64_t lanes = 1;
};

struct TileShape {
  std::string_view levels = "SSRSRS";  // Of data-parallel (S) and reduction (R) loops, outermost first.
  std::optional<LaneChoice> lanes;     // Innermost of all.
  std::optional<LaneChoice> parts;     // Of a reduction; inside of the lanes.
  int most_spatial = 16;               // Innermost factor of a data-parallel axis, in vectors where it has lanes.
  int most_reduce = 16;
  // Around the lanes: those of a tile of rows by lanes. Of these two axes `most_spatial` tiles stand innermost, where
  // that divides them, of others none.
  std::optional<LaneChoice> rows;
};

struct TiledNest {
  std::vector<std::vector<LoopRV>> levels;  // As in the shape; of each, the loops in the order of the iter vars.
  std::optional<LoopRV> rows, lanes, parts;
};

// Splits each loop around `block` into sampled factors, one for each level of its kind, and orders them by levels. Of
// rows that no tile of 4 to `most_spatial` divides the innermost factor does not divide them: the last tile is smaller.
// In the innermost level the axis of the lanes comes last: a broadcast meets each vector in turn and is dead.
StatusOr<TiledNest> TileByLevels(Schedule& schedule, BlockRV block, const TileShape& shape);

// Lets reduction `block` work on accumulators in `scope`. The block that writes them back: its one element-wise
// consumer, or a plain copy.
StatusOr<BlockRV> AddAccumulators(Schedule& schedule, BlockRV block, const std::string& scope);
// Whether that consumer is there.
bool HasEpilogue(const Schedule& schedule, int row);

// Moves `write_back`, of the accumulators that `block` fills, under `at`; lanes innermost. `is_unrolled`: the loops
// around them are, so that each register is written back by code that names it.
Status WriteBackAt(Schedule& schedule, BlockRV block, BlockRV write_back, LoopRV at,
                   const std::optional<LaneChoice>& lanes, bool is_unrolled);

// `loop` by factors that exist already.
StatusOr<std::vector<LoopRV>> SplitBy(Schedule& schedule, LoopRV loop, const std::vector<VarRV>& factors);
// By [inferred, inner].
StatusOr<std::vector<LoopRV>> SplitInner(Schedule& schedule, LoopRV loop, ExprRV inner);

Status UnrollAll(Schedule& schedule, const std::vector<LoopRV>& loops);

// A block of a name of its own, with one output and loops that are its iter vars: what a generator can schedule.
bool IsPlainStage(const Schedule& schedule, int row);
StatusOr<BlockRV> BlockNamed(Schedule& schedule, const std::string& name);

// Puts what `block` reads where it is read; an error where the guards of an image's border ask the lanes one by one.
Status InlineReads(Schedule& schedule, BlockRV block, const std::vector<std::string>& producers,
                   const std::optional<LaneChoice>& lanes);

}  // namespace lathe
