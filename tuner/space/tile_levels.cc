#include "tuner/space/tile_levels.h"

#include <algorithm>
#include <iterator>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/sampling.h"
#include "compiler/schedule/split.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"

namespace lathe {

StatusOr<std::vector<LoopRV>> SplitBy(Schedule& schedule, LoopRV loop, const std::vector<VarRV>& factors) {
  std::vector<std::optional<ExprRV>> sizes;
  for (VarRV var : factors) sizes.emplace_back(ExprRV(var));
  return Split(schedule, loop, sizes);
}

StatusOr<std::vector<LoopRV>> SplitInner(Schedule& schedule, LoopRV loop, ExprRV inner) {
  const std::vector<std::optional<ExprRV>> sizes{std::nullopt, std::move(inner)};
  return Split(schedule, loop, sizes);
}

Status UnrollAll(Schedule& schedule, const std::vector<LoopRV>& loops) {
  for (LoopRV loop : loops) RETURN_IF_ERROR(Unroll(schedule, loop));
  return OkStatus();
}

bool IsPlainStage(const Schedule& schedule, int row) {
  return schedule.FindBlock(schedule.BlockOf(row).name) == row && IsPlain(schedule, row);
}

StatusOr<BlockRV> BlockNamed(Schedule& schedule, const std::string& name) {
  return GetBlock(schedule, name, schedule.func().name);
}

namespace {

// Rows of a tile of an axis that no size divides (197 rows, prime): fewer than the first reuse too little of what is
// loaded.
constexpr int64_t kRaggedTiles[] = {4, 6, 8, 12, 14};

// Whether no size that a tile may have divides the extent.
bool IsRagged(int64_t extent, int64_t most) {
  for (int64_t size = kRaggedTiles[0]; size <= most; ++size)
    if (extent % size == 0) return false;
  return extent > most;
}

StatusOr<std::vector<LoopRV>> SplitPerfectly(Schedule& schedule, LoopRV loop, int levels, int most) {
  ASSIGN_OR_RETURN(const std::vector<VarRV> sizes, SamplePerfectTile(schedule, loop, levels, most));
  return SplitBy(schedule, loop, sizes);
}

// The innermost of the levels by one of kRaggedTiles; its last tile is smaller, and loop_partition makes code of its
// own for it.
StatusOr<std::vector<LoopRV>> SplitRaggedly(Schedule& schedule, LoopRV loop, int levels, int most) {
  std::vector<int64_t> fitting;
  std::copy_if(std::begin(kRaggedTiles), std::end(kRaggedTiles), std::back_inserter(fitting),
               [&](int64_t size) { return size <= most; });
  const std::vector<double> evenly(fitting.size(), 1.0 / static_cast<double>(fitting.size()));
  ASSIGN_OR_RETURN(const VarRV size, SampleCategorical(schedule, fitting, evenly));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> tiles, SplitInner(schedule, loop, ExprRV(size)));
  ASSIGN_OR_RETURN(std::vector<LoopRV> all, SplitPerfectly(schedule, tiles[0], levels - 1, -1));
  all.push_back(tiles[1]);
  return all;
}

StatusOr<std::vector<LoopRV>> SplitRows(Schedule& schedule, LoopRV loop, int levels, int most) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop));
  const int64_t* extent = AsIntConst(schedule.LoopOf(row).extent);
  const bool is_ragged = levels > 1 && extent != nullptr && most >= kRaggedTiles[0] && IsRagged(*extent, most);
  return is_ragged ? SplitRaggedly(schedule, loop, levels, most) : SplitPerfectly(schedule, loop, levels, most);
}

// The innermost of the levels by `size`, or by 1 where that does not divide the loop.
StatusOr<std::vector<LoopRV>> SplitEvenly(Schedule& schedule, LoopRV loop, int levels, int64_t size) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop));
  const int64_t* extent = AsIntConst(schedule.LoopOf(row).extent);
  const bool divides = extent != nullptr && *extent % size == 0;
  ASSIGN_OR_RETURN(const std::vector<LoopRV> tiles, SplitInner(schedule, loop, ExprRV(divides ? size : int64_t{1})));
  ASSIGN_OR_RETURN(std::vector<LoopRV> all, SplitPerfectly(schedule, tiles[0], levels - 1, -1));
  all.push_back(tiles[1]);
  return all;
}

// A data-parallel loop, of lanes (vectors of them) or not; `is_in_tile`: of an axis of the tile of rows by lanes.
StatusOr<std::vector<LoopRV>> SplitSpatial(Schedule& schedule, LoopRV loop, int levels, const TileShape& shape,
                                           bool is_of_lanes, bool is_in_tile) {
  if (shape.rows) return SplitEvenly(schedule, loop, levels, is_in_tile ? shape.most_spatial : 1);
  return is_of_lanes ? SplitPerfectly(schedule, loop, levels, shape.most_spatial)
                     : SplitRows(schedule, loop, levels, shape.most_spatial);
}

}  // namespace

StatusOr<TiledNest> TileByLevels(Schedule& schedule, BlockRV block, const TileShape& shape) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  std::vector<IterKind> kinds;
  for (const IterVar& iter : schedule.BlockOf(row).iter_vars) kinds.push_back(iter.kind);
  if (loops.size() != kinds.size()) return schedule.Error("tile by levels", row, "its loops are not its iter vars");
  TiledNest nest{.levels = std::vector<std::vector<LoopRV>>(shape.levels.size()), .rows = {}, .lanes = {}, .parts = {}};
  std::optional<size_t> lanes_at;
  for (size_t i = 0; i < loops.size(); ++i) {
    const char kind = kinds[i] == IterKind::kReduce ? 'R' : 'S';
    const auto parts = static_cast<int>(std::count(shape.levels.begin(), shape.levels.end(), kind));
    LoopRV loop = loops[i];
    if (shape.lanes && shape.lanes->iter == i) {
      ASSIGN_OR_RETURN(const std::vector<LoopRV> vectors, SplitInner(schedule, loop, ExprRV(shape.lanes->lanes)));
      loop = vectors[0];
      nest.lanes = vectors[1];
      lanes_at = nest.levels.back().size();
    } else if (shape.parts && shape.parts->iter == i) {
      ASSIGN_OR_RETURN(const std::vector<LoopRV> steps, SplitInner(schedule, loop, ExprRV(shape.parts->lanes)));
      loop = steps[0];
      nest.parts = steps[1];
    } else if (shape.rows && shape.rows->iter == i) {
      ASSIGN_OR_RETURN(const std::vector<LoopRV> tiles_of_rows, SplitInner(schedule, loop, ExprRV(shape.rows->lanes)));
      loop = tiles_of_rows[0];
      nest.rows = tiles_of_rows[1];
    }
    const bool is_of_lanes = shape.lanes && shape.lanes->iter == i;
    const bool is_in_tile = is_of_lanes || (shape.rows && shape.rows->iter == i);
    ASSIGN_OR_RETURN(const std::vector<LoopRV> tiles,
                     kind == 'R' ? SplitPerfectly(schedule, loop, parts, shape.most_reduce)
                                 : SplitSpatial(schedule, loop, parts, shape, is_of_lanes, is_in_tile));
    for (size_t level = 0, part = 0; level < shape.levels.size(); ++level)
      if (shape.levels[level] == kind) nest.levels[level].push_back(tiles[part++]);
  }
  if (lanes_at) {
    std::vector<LoopRV>& tile = nest.levels.back();
    const auto vectors = tile.begin() + static_cast<std::ptrdiff_t>(*lanes_at);
    std::rotate(vectors, vectors + 1, tile.end());
  }
  std::vector<LoopRV> order;
  for (const auto& level : nest.levels) order.insert(order.end(), level.begin(), level.end());
  for (const std::optional<LoopRV>& inner : {nest.rows, nest.lanes, nest.parts})
    if (inner) order.push_back(*inner);
  RETURN_IF_ERROR(Reorder(schedule, order));
  return nest;
}

bool HasEpilogue(const Schedule& schedule, int row) {
  const std::vector<int> consumers = ConsumersOf(schedule, row);
  return consumers.size() == 1 && IsSpatial(schedule.BlockOf(consumers[0])) && !IsOutputBlock(schedule, row);
}

StatusOr<BlockRV> AddAccumulators(Schedule& schedule, BlockRV block, const std::string& scope) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const bool has_epilogue = HasEpilogue(schedule, row);
  const std::string epilogue = has_epilogue ? schedule.BlockOf(ConsumersOf(schedule, row)[0]).name : "";
  ASSIGN_OR_RETURN(const BlockRV copy, CacheWrite(schedule, block, 0, scope));
  if (!has_epilogue) return copy;
  RETURN_IF_ERROR(ComputeInline(schedule, copy));
  return BlockNamed(schedule, epilogue);
}

namespace {

// The iter of `write_back` that indexes the accumulators as iter `lane_iter` of `block` does.
std::optional<size_t> LaneIterOf(const BlockNode& block, const BlockNode& write_back, size_t lane_iter) {
  const BufferRegion& tile = block.writes[0];
  for (size_t dim = 0; dim < tile.region.size(); ++dim) {
    if (!tile.region[dim].min.same_as(block.iter_vars[lane_iter].var)) continue;
    for (const BufferRegion& read : write_back.reads) {
      if (!read.buffer.same_as(tile.buffer)) continue;
      for (size_t i = 0; i < write_back.iter_vars.size(); ++i)
        if (write_back.iter_vars[i].var.same_as(read.region[dim].min)) return i;
    }
  }
  return std::nullopt;
}

bool GuardsAsk(const BlockNode& block, const Var& iter) {
  bool found = false;
  PostOrderVisit(block.body, [&](const Expr& e) {
    const Call* choice = AsCall(e, "if_then_else");
    found = found || (choice != nullptr && UsesVar(choice->args[0], iter.get()));
  });
  return found;
}

}  // namespace

Status WriteBackAt(Schedule& schedule, BlockRV block, BlockRV write_back, LoopRV at,
                   const std::optional<LaneChoice>& lanes, bool is_unrolled) {
  RETURN_IF_ERROR(ReverseComputeAt(schedule, write_back, at, /*preserve_unit_loops=*/true));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> all, GetLoops(schedule, write_back));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(write_back));
  ASSIGN_OR_RETURN(const int filler, schedule.RowOf(block));
  const size_t count = schedule.BlockOf(row).iter_vars.size();
  if (all.size() < count) return schedule.Error("write back", row, "its loops are not its iter vars");
  std::vector<LoopRV> order(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
  if (lanes) {
    const auto lane_iter = LaneIterOf(schedule.BlockOf(filler), schedule.BlockOf(row), lanes->iter);
    if (!lane_iter) return schedule.Error("write back", row, "its iter vars do not index the tile");
    ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, SplitInner(schedule, order[*lane_iter], ExprRV(lanes->lanes)));
    order[*lane_iter] = parts[0];
    order.push_back(parts[1]);
    RETURN_IF_ERROR(Reorder(schedule, order));
    RETURN_IF_ERROR(Vectorize(schedule, parts[1]));
    order.pop_back();
  }
  return is_unrolled ? UnrollAll(schedule, order) : OkStatus();
}

Status InlineReads(Schedule& schedule, BlockRV block, const std::vector<std::string>& producers,
                   const std::optional<LaneChoice>& lanes) {
  for (const std::string& producer : producers) {
    ASSIGN_OR_RETURN(const BlockRV input, BlockNamed(schedule, producer));
    RETURN_IF_ERROR(ComputeInline(schedule, input));
  }
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const BlockNode& inlined = schedule.BlockOf(row);
  if (!lanes || !GuardsAsk(inlined, inlined.iter_vars[lanes->iter].var)) return OkStatus();
  return schedule.Error("inline reads", row, "what it reads is guarded for each lane on its own");
}

}  // namespace lathe
