#include "tuner/space/chain_tiles.h"

#include <optional>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/sampling.h"
#include "compiler/schedule/split.h"
#include "compiler/schedule/transform_layout.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/product_chain.h"
#include "tuner/space/row_reduction.h"
#include "tuner/space/tile_levels.h"
#include "tuner/space/transposed_tiles.h"

namespace lathe {
namespace {

// Of a register tile: a wider one would have few rows where there are 16 registers. Its steps stay a loop: written out
// by twos or fours they were no faster, and fewer tiles fit.
constexpr int kMostRowsOfTile = 16, kMostVectorsOfTile = 4;

// A product's loops; those of its register tile and lanes are unrolled and vectorized.
struct ProductNest {
  std::vector<LoopRV> around;  // Batches and blocks of rows.
  LoopRV tile, steps;          // Around one register tile; inside of it.
};

// The loops of rows: of blocks of them, if it has any; around register tiles; in a tile.
struct RowLoops {
  std::vector<LoopRV> blocks;
  LoopRV tiles;
  std::vector<LoopRV> tile;
};

// The loops of the block that are its iter vars, in their order; others may be around them.
StatusOr<std::vector<LoopRV>> OwnLoops(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const size_t count = schedule.BlockOf(row).iter_vars.size();
  if (loops.size() < count) return schedule.Error("tile chain", row, "its loops are not its iter vars");
  return std::vector<LoopRV>(loops.end() - static_cast<std::ptrdiff_t>(count), loops.end());
}

StatusOr<std::vector<LoopRV>> SplitSampled(Schedule& schedule, LoopRV loop, int parts, int most_innermost) {
  ASSIGN_OR_RETURN(const std::vector<VarRV> sizes, SamplePerfectTile(schedule, loop, parts, most_innermost));
  return SplitBy(schedule, loop, sizes);
}

// Rows of a register tile, as they are cut for both products; outermost first.
using RowsOfTile = std::vector<VarRV>;

// Samples how the rows are cut; `together`, where there is such a number, of a tile's rows are a loop of their own.
StatusOr<RowLoops> SampleRows(Schedule& schedule, LoopRV rows, std::optional<VarRV> together, RowsOfTile& tile) {
  std::vector<LoopRV> groups{rows};
  if (together) {
    ASSIGN_OR_RETURN(groups, SplitInner(schedule, rows, ExprRV(*together)));
  }
  const int most = together ? kMostRowsOfTile / 2 : kMostRowsOfTile;
  ASSIGN_OR_RETURN(const std::vector<VarRV> sizes, SamplePerfectTile(schedule, groups[0], 3, most));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, SplitBy(schedule, groups[0], sizes));
  RowLoops all{{loops[0]}, loops[1], {loops[2]}};
  tile = {sizes[2]};
  if (!together) return all;
  all.tile.push_back(groups[1]);
  tile.push_back(*together);
  return all;
}

// The rows of a block by the same tile.
StatusOr<RowLoops> CutRows(Schedule& schedule, LoopRV rows, const RowsOfTile& tile) {
  std::vector<std::optional<ExprRV>> sizes{std::nullopt};
  for (const VarRV size : tile) sizes.emplace_back(size);
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, Split(schedule, rows, sizes));
  return RowLoops{{}, loops[0], std::vector<LoopRV>(loops.begin() + 1, loops.end())};
}

// `loops` are the block's own, of which that of rows has been cut.
StatusOr<ProductNest> TileProduct(Schedule& schedule, const ProductOfRows& product, const std::vector<LoopRV>& loops,
                                  const RowLoops& rows) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> vectors,
                   SplitInner(schedule, loops[product.column], ExprRV(product.lanes)));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> columns, SplitSampled(schedule, vectors[0], 2, kMostVectorsOfTile));
  ProductNest nest{{}, rows.tiles, loops[product.step]};
  for (size_t i = 0; i < loops.size(); ++i)
    if (i != product.row && i != product.column && i != product.step) nest.around.push_back(loops[i]);
  nest.around.insert(nest.around.end(), rows.blocks.begin(), rows.blocks.end());
  std::vector<LoopRV> unrolled = rows.tile;
  unrolled.push_back(columns[1]);
  std::vector<LoopRV> order = nest.around;
  order.insert(order.end(), {columns[0], nest.tile, nest.steps});
  order.insert(order.end(), unrolled.begin(), unrolled.end());
  order.push_back(vectors[1]);
  RETURN_IF_ERROR(Reorder(schedule, order));
  RETURN_IF_ERROR(Vectorize(schedule, vectors[1]));
  RETURN_IF_ERROR(UnrollAll(schedule, unrolled));
  return nest;
}

std::optional<size_t> DimIndexedBy(const BufferRegion& region, const Var& var) {
  for (size_t d = 0; d < region.region.size(); ++d)
    if (region.region[d].min.same_as(var)) return d;
  return std::nullopt;
}

// (.., step, .., column, ..) -> (.., column // lanes, step, column % lanes)
IndexMap PanelsOfColumns(size_t ndim, size_t step, size_t column, int64_t lanes) {
  IndexMap map = IndexMap::Identity(ndim);
  const std::vector<Expr> from = map.final_indices;
  map.final_indices.clear();
  for (size_t d = 0; d < ndim; ++d)
    if (d != step && d != column) map.final_indices.push_back(from[d]);
  const Expr size = IntConst(from[column].dtype(), lanes);
  for (const Expr& index : {FloorDiv(from[column], size), from[step], FloorMod(from[column], size)})
    map.final_indices.push_back(index);
  return map;
}

// Lays the weights of the first product out in panels, by a copy where nothing makes them; the name of what does then.
// nullopt: they lie so.
StatusOr<std::optional<std::string>> PackWeights(Schedule& schedule, BlockRV block, const ProductChain& chain) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const BlockNode& node = schedule.BlockOf(row);
  const BufferRegion& weights = node.reads[chain.first.weight];
  const auto step = DimIndexedBy(weights, node.iter_vars[chain.first.step].var),
             column = DimIndexedBy(weights, node.iter_vars[chain.first.column].var);
  if (!step || !column) return chain.weight_of_first;
  const IndexMap panels = PanelsOfColumns(weights.region.size(), *step, *column, chain.first.lanes);
  std::optional<BlockRV> maker;
  if (chain.weight_of_first) {
    ASSIGN_OR_RETURN(maker, BlockNamed(schedule, *chain.weight_of_first));
  } else {
    ASSIGN_OR_RETURN(maker, CacheRead(schedule, block, static_cast<int>(chain.first.weight), "global"));
  }
  RETURN_IF_ERROR(TransformLayout(schedule, *maker, 0, BufferSide::kWrite, panels));
  ASSIGN_OR_RETURN(const int made_by, schedule.RowOf(*maker));
  return std::optional(schedule.BlockOf(made_by).name);
}

Status ScheduleMaker(Schedule& schedule, const std::string& name, const Target& target) {
  Schedule attempt = schedule;
  if (!TileSquares(attempt, name, target, SquaresOfTask::kAlongRead).ok())
    return ScheduleElementwise(schedule, name, target);
  schedule = std::move(attempt);
  return OkStatus();
}

// The loop of rows of a block that has just been placed; with several at once, of groups of them.
StatusOr<LoopRV> LoopOfGroups(Schedule& schedule, BlockRV block, std::optional<VarRV> together) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, OwnLoops(schedule, block));
  const LoopRV rows = loops[loops.size() - 2];
  if (!together) return rows;
  ASSIGN_OR_RETURN(const std::vector<LoopRV> groups, SplitInner(schedule, rows, ExprRV(*together)));
  return groups[0];
}

// All that is between the products, in one iteration of `outer`.
Status PlaceRows(Schedule& schedule, const ProductChain& chain, LoopRV outer, const Target& target,
                 std::optional<VarRV> together) {
  std::vector<BlockRV> blocks;
  for (const std::string& name : chain.between) {
    ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(schedule, name));
    blocks.push_back(block);
  }
  RETURN_IF_ERROR(ComputeAt(schedule, blocks.back(), outer, /*preserve_unit_loops=*/true));
  ASSIGN_OR_RETURN(const LoopRV rows, LoopOfGroups(schedule, blocks.back(), together));
  const RowsAtOnce rows_at_once = together ? RowsAtOnce::kSeveral : RowsAtOnce::kOne;
  RETURN_IF_ERROR(MoveToRows(schedule, blocks, rows, target, Accumulators::kSampled, rows_at_once));
  return SampleHowMuchIsWrittenOut(schedule, rows);
}

// Of the block's rows.
StatusOr<VarRV> SampleTogether(Schedule& schedule, BlockRV block, size_t row_iter) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  return SampleRowsAtOnce(schedule, ExtentOf(schedule.BlockOf(row).iter_vars[row_iter]));
}

Status TileChain(Schedule& schedule, const ProductChain& chain, const Target& target, RowsAtOnce rows_at_once) {
  ASSIGN_OR_RETURN(const BlockRV first, BlockNamed(schedule, chain.first.name));
  ASSIGN_OR_RETURN(const BlockRV last, BlockNamed(schedule, chain.last.name));
  ASSIGN_OR_RETURN(const std::optional<std::string> maker, PackWeights(schedule, first, chain));
  const LaneChoice first_lanes{chain.first.column, chain.first.lanes}, last_lanes{chain.last.column, chain.last.lanes};

  std::optional<VarRV> together;
  if (rows_at_once == RowsAtOnce::kSeveral) {
    ASSIGN_OR_RETURN(together, SampleTogether(schedule, last, chain.last.row));
  }
  ASSIGN_OR_RETURN(const BlockRV result, AddAccumulators(schedule, last, "register"));
  RowsOfTile tile;
  ASSIGN_OR_RETURN(const std::vector<LoopRV> last_loops, OwnLoops(schedule, last));
  ASSIGN_OR_RETURN(const RowLoops rows, SampleRows(schedule, last_loops[chain.last.row], together, tile));
  ASSIGN_OR_RETURN(const ProductNest last_nest, TileProduct(schedule, chain.last, last_loops, rows));
  RETURN_IF_ERROR(WriteBackAt(schedule, last, result, last_nest.tile, last_lanes, /*is_unrolled=*/true));
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, last_nest.around));

  ASSIGN_OR_RETURN(const BlockRV sums, AddAccumulators(schedule, first, "register"));
  RETURN_IF_ERROR(PlaceRows(schedule, chain, outer, target, together));
  RETURN_IF_ERROR(ComputeAt(schedule, sums, outer, /*preserve_unit_loops=*/true));
  RETURN_IF_ERROR(ComputeAt(schedule, first, outer, /*preserve_unit_loops=*/true));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> first_loops, OwnLoops(schedule, first));
  ASSIGN_OR_RETURN(const RowLoops rows_of_block, CutRows(schedule, first_loops[chain.first.row], tile));
  ASSIGN_OR_RETURN(const ProductNest first_nest, TileProduct(schedule, chain.first, first_loops, rows_of_block));
  RETURN_IF_ERROR(WriteBackAt(schedule, first, sums, first_nest.tile, first_lanes, /*is_unrolled=*/true));

  if (maker) RETURN_IF_ERROR(ScheduleMaker(schedule, *maker, target));
  RETURN_IF_ERROR(Parallel(schedule, outer));
  // Last: the updates alone are no reduction blocks any more.
  RETURN_IF_ERROR(DecomposeReduction(schedule, last, last_nest.steps).status());
  return DecomposeReduction(schedule, first, first_nest.steps).status();
}

}  // namespace

std::vector<Schedule> ChainTiles(const Schedule& inlined, const Target& target) {
  const std::optional<ProductChain> chain = ProductChainOf(inlined, target);
  std::vector<Schedule> schedules;
  for (const RowsAtOnce rows_at_once : {RowsAtOnce::kOne, RowsAtOnce::kSeveral}) {
    Schedule attempt = inlined;
    if (chain && TileChain(attempt, *chain, target, rows_at_once).ok()) schedules.push_back(std::move(attempt));
  }
  return schedules;
}

}  // namespace lathe
