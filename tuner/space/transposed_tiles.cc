#include "tuner/space/transposed_tiles.h"

#include <algorithm>
#include <optional>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/sampling.h"
#include "compiler/schedule/split.h"
#include "compiler/transform/transpose_tiles.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

constexpr int kMostTiles = 64;  // Of one axis, in a task's inner loops.

// The axes along which neighbours lie in what is read and in what is written, and the side of a square of both.
struct Turn {
  size_t read = 0, write = 0;
  int64_t side = 0;
};

std::optional<size_t> IterOfNeighbours(const BlockNode& block, const BufferRegion& region, int64_t lanes) {
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const bool is_long = ExtentOf(block.iter_vars[i]) >= lanes;
    if (is_long && StrideOf(block, region, i, lanes) == Stride::kOne) return i;
  }
  return std::nullopt;
}

std::optional<Turn> TurnOfSide(const BlockNode& block, int64_t side) {
  const std::optional<size_t> write = IterOfNeighbours(block, block.writes[0], side);
  if (!write || ExtentOf(block.iter_vars[*write]) % side != 0) return std::nullopt;
  for (const BufferRegion& read : block.reads) {
    if (StrideOf(block, read, *write, side) != Stride::kOther) continue;
    const std::optional<size_t> turned = IterOfNeighbours(block, read, side);
    if (turned && ExtentOf(block.iter_vars[*turned]) % side == 0) return Turn{*turned, *write, side};
  }
  return std::nullopt;
}

std::optional<Turn> TurnOf(const BlockNode& block, const Target& target) {
  for (int64_t side = std::min<int64_t>(VectorsFor(block, target).lanes, kMostRowsOfSquare); side >= 4; side /= 2)
    if (const std::optional<Turn> turn = TurnOfSide(block, side)) return turn;
  return std::nullopt;
}

// An axis of the square: outer tiles, tiles of a task, the side.
StatusOr<std::vector<LoopRV>> SplitSide(Schedule& schedule, LoopRV loop, int64_t side, SquaresOfTask squares,
                                        bool is_read) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> sides, SplitInner(schedule, loop, ExprRV(side)));
  std::vector<std::optional<ExprRV>> sizes{std::nullopt, ExprRV(int64_t{1})};
  if (is_read) std::swap(sizes[0], sizes[1]);
  if (squares == SquaresOfTask::kSampled) {
    ASSIGN_OR_RETURN(const std::vector<VarRV> sampled, SamplePerfectTile(schedule, sides[0], 2, kMostTiles));
    sizes = {ExprRV(sampled[0]), ExprRV(sampled[1])};
  }
  ASSIGN_OR_RETURN(std::vector<LoopRV> parts, Split(schedule, sides[0], sizes));
  parts.push_back(sides[1]);
  return parts;
}

}  // namespace

Status TileSquares(Schedule& schedule, const std::string& name, const Target& target, SquaresOfTask squares) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(schedule, name));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const auto turn = IsSpatial(schedule.BlockOf(row)) ? TurnOf(schedule.BlockOf(row), target) : std::nullopt;
  if (!turn) return schedule.Error("tile squares", row, "no square of whole vectors turns what it reads");
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> read,
                   SplitSide(schedule, loops[turn->read], turn->side, squares, /*is_read=*/true));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> write,
                   SplitSide(schedule, loops[turn->write], turn->side, squares, /*is_read=*/false));
  std::vector<LoopRV> outer;
  for (size_t i = 0; i < loops.size(); ++i)
    if (i != turn->read && i != turn->write) outer.push_back(loops[i]);
  outer.insert(outer.end(), {read[0], write[0]});
  std::vector<LoopRV> order = outer;
  order.insert(order.end(), {read[1], write[1], read[2], write[2]});
  RETURN_IF_ERROR(Reorder(schedule, order));
  RETURN_IF_ERROR(Vectorize(schedule, write[2]));
  RETURN_IF_ERROR(Unroll(schedule, read[2]));
  ASSIGN_OR_RETURN(const LoopRV task, Fuse(schedule, outer));
  return Parallel(schedule, task);
}

std::vector<Schedule> TransposedTiles(const Schedule& inlined, const Target& target) {
  const std::vector<int> blocks = inlined.ChildBlocksOf(inlined.RootRow());
  if (blocks.size() != 1 || !IsPlainStage(inlined, blocks[0])) return {};
  Schedule attempt = inlined;
  if (!TileSquares(attempt, inlined.BlockOf(blocks[0]).name, target, SquaresOfTask::kSampled).ok()) return {};
  return {std::move(attempt)};
}

}  // namespace lathe
