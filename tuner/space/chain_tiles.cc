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

constexpr int kMostOfTile = 16;  // Rows, or vectors of columns.
constexpr int kMostStepsOfTile = 16;

// A product's loops; those of its register tile and lanes are unrolled and vectorized.
struct ProductNest {
  std::vector<LoopRV> around;  // Batches; with tasks also blocks of rows.
  LoopRV tile, steps;          // Around one register tile; the outermost loop inside of it.
};

// Whether the rows have a loop around everything else.
enum class RowBlocks : uint8_t { kNone, kSampled };

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

// A loop of rows in sampled parts; the last ones are those of the register tile, in which `together`, where there is
// such a number, are one loop.
StatusOr<std::vector<LoopRV>> SplitTiledRows(Schedule& schedule, LoopRV rows, int parts,
                                             std::optional<VarRV> together) {
  if (!together) return SplitSampled(schedule, rows, parts, kMostOfTile);
  ASSIGN_OR_RETURN(const std::vector<LoopRV> groups, SplitInner(schedule, rows, ExprRV(*together)));
  ASSIGN_OR_RETURN(std::vector<LoopRV> all, SplitSampled(schedule, groups[0], parts, kMostOfTile / 2));
  all.push_back(groups[1]);
  return all;
}

// In blocks of rows, where each of a task has some.
StatusOr<ProductNest> TileProduct(Schedule& schedule, BlockRV block, const ProductOfRows& product, RowBlocks blocks,
                                  std::optional<VarRV> together) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, OwnLoops(schedule, block));
  const size_t tile = blocks == RowBlocks::kSampled ? 1 : 0;  // Position of the loop around a register tile's rows.
  ASSIGN_OR_RETURN(const std::vector<LoopRV> rows,
                   SplitTiledRows(schedule, loops[product.row], static_cast<int>(tile) + 2, together));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> vectors,
                   SplitInner(schedule, loops[product.column], ExprRV(product.lanes)));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> columns, SplitSampled(schedule, vectors[0], 2, kMostOfTile));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> steps, SplitSampled(schedule, loops[product.step], 2, kMostStepsOfTile));
  ProductNest nest{{}, rows[tile], steps[0]};
  for (size_t i = 0; i < loops.size(); ++i)
    if (i != product.row && i != product.column && i != product.step) nest.around.push_back(loops[i]);
  nest.around.insert(nest.around.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(tile));
  std::vector<LoopRV> unrolled{steps[1]};
  unrolled.insert(unrolled.end(), rows.begin() + static_cast<std::ptrdiff_t>(tile) + 1, rows.end());
  unrolled.push_back(columns[1]);
  std::vector<LoopRV> order = nest.around;
  order.insert(order.end(), {columns[0], nest.tile, steps[0]});
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
  ASSIGN_OR_RETURN(const ProductNest last_nest, TileProduct(schedule, last, chain.last, RowBlocks::kSampled, together));
  RETURN_IF_ERROR(WriteBackAt(schedule, last, result, last_nest.tile, last_lanes, /*is_unrolled=*/true));
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, last_nest.around));
  ASSIGN_OR_RETURN(const BlockRV sums, AddAccumulators(schedule, first, "register"));
  RETURN_IF_ERROR(PlaceRows(schedule, chain, outer, target, together));
  RETURN_IF_ERROR(ComputeAt(schedule, sums, outer, /*preserve_unit_loops=*/true));
  RETURN_IF_ERROR(ComputeAt(schedule, first, outer, /*preserve_unit_loops=*/true));
  ASSIGN_OR_RETURN(const ProductNest first_nest,
                   TileProduct(schedule, first, chain.first, RowBlocks::kNone, std::nullopt));
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
