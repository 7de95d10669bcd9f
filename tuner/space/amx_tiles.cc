#include "tuner/space/amx_tiles.h"

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/amx_intrin.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/blockize.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/tensorize.h"
#include "support/status_macros.h"
#include "tuner/space/anchor.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/default_schedule.h"
#include "tuner/space/dot_product.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

constexpr int64_t kLeastRows = 4;
// Of an axis: two by two tiles of sums take each factor's two from memory once, and one is added to while three are.
constexpr int kTilesOfAxis = 2;
constexpr int kMostUnrolledSteps = 4;

enum AmxLevel : size_t { kAmxOuter, kAmxMiddle, kAmxSteps, kAmxInnerSteps, kAmxTiles };  // Of "SSRRS".

struct AmxTiling {
  const AmxProduct* product;
  DotTiling dot;  // Columns are its lanes.
  size_t row_iter = 0;
  int64_t rows = 0, depth = 0;
  AmxIntrins Intrins() const { return AmxIntrinsFor(*product, rows, depth); }
};

const std::vector<DotIntrin>& AmxAsDots() {
  static const std::vector<DotIntrin>* const dots = [] {
    auto* made = new std::vector<DotIntrin>;
    for (const AmxProduct& it : AmxProducts())
      made->push_back({it.instruction, it.feature, it.a, it.b, it.c, kAmxColumns, it.parts});
    return made;
  }();
  return *dots;
}

// The largest of them that divides the extent; 0: none.
int64_t LargestDivisor(int64_t extent, int64_t least, int64_t most, int64_t step) {
  for (int64_t size = most / step * step; size >= least; size -= step)
    if (extent % size == 0) return size;
  return 0;
}

// The iter var of rows: of the result in front of the columns, of the first factor in front of the depth.
std::optional<size_t> RowIter(const BlockNode& block, const DotTiling& dot) {
  const std::vector<Expr>& written = block.body.As<BufferStore>()->indices;
  const BufferRegion& a = block.reads[dot.a_read];
  if (dot.packs_a || written.size() < 2 || a.region.size() < 2) return std::nullopt;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const Var& var = block.iter_vars[i].var;
    if (!written[written.size() - 2].same_as(var)) continue;
    const Expr rest = Analyzer().Simplify(a.region[a.region.size() - 2].min - var);
    const bool is_elsewhere = std::any_of(a.region.begin(), a.region.end() - 2,
                                          [&](const Range& range) { return UsesVar(range.min, var.get()); });
    if (!UsesVar(rest, var.get()) && !is_elsewhere) return i;
  }
  return std::nullopt;
}

std::optional<AmxTiling> TilingOf(const BlockNode& block, const DotTiling& dot) {
  const std::optional<size_t> row_iter = RowIter(block, dot);
  if (!row_iter) return std::nullopt;
  AmxTiling tiling{.product = &AmxProducts()[0], .dot = dot, .row_iter = *row_iter};
  while (tiling.product->instruction != dot.intrin.name) ++tiling.product;
  tiling.rows = LargestDivisor(ExtentOf(block.iter_vars[*row_iter]), kLeastRows, kAmxMostRows, 1);
  tiling.depth = LargestDivisor(ExtentOf(block.iter_vars[dot.reduce_iter]), dot.intrin.parts,
                                tiling.product->most_depth(), dot.intrin.parts);
  return tiling.rows == 0 || tiling.depth == 0 ? std::nullopt : std::optional(tiling);
}

Status Mark(Schedule& schedule, LoopRV loop, const std::string& intrin) {
  ASSIGN_OR_RETURN(const BlockRV block, Blockize(schedule, loop));
  return Annotate(schedule, block, kAutoTensorize, intrin);
}

// The loops of rows and columns innermost, those around them written out: tile registers have no addresses.
Status MarkStore(Schedule& schedule, BlockRV store, const AmxTiling& tiling) {
  ASSIGN_OR_RETURN(std::vector<LoopRV> loops, GetLoops(schedule, store));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(store));
  const size_t count = schedule.BlockOf(row).iter_vars.size();
  if (loops.size() < count || count < 2) return schedule.Error("mark store", row, "its loops are not its iter vars");
  loops.erase(loops.begin(), loops.end() - static_cast<std::ptrdiff_t>(count));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> rows, SplitInner(schedule, loops[count - 2], ExprRV(tiling.rows)));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> columns,
                   SplitInner(schedule, loops[count - 1], ExprRV(int64_t{kAmxColumns})));
  loops[count - 2] = rows[0];
  loops[count - 1] = columns[0];
  std::vector<LoopRV> order = loops;
  order.insert(order.end(), {rows[1], columns[1]});
  RETURN_IF_ERROR(Reorder(schedule, order));
  RETURN_IF_ERROR(UnrollAll(schedule, loops));
  return Mark(schedule, rows[1], tiling.Intrins().store);
}

Status MarkInit(Schedule& schedule, BlockRV init, size_t num_tile_loops, const AmxTiling& tiling) {
  constexpr size_t kLoopsOfTile = 2;
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, init));
  const size_t first = loops.size() - kLoopsOfTile;
  for (size_t i = first - num_tile_loops; i < first; ++i) RETURN_IF_ERROR(Unroll(schedule, loops[i]));
  return Mark(schedule, loops[first], tiling.Intrins().zero);
}

// Tiles of sums go to memory, where the block's one element-wise consumer, if there is one, reads them.
Status WriteTilesBackAt(Schedule& schedule, BlockRV store, const std::optional<BlockRV>& epilogue, LoopRV at,
                        const AmxTiling& tiling) {
  RETURN_IF_ERROR(ReverseComputeAt(schedule, store, at, /*preserve_unit_loops=*/true));
  if (epilogue) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(store));
    const LaneChoice columns{schedule.BlockOf(row).iter_vars.size() - 1, kAmxColumns};
    RETURN_IF_ERROR(WriteBackAt(schedule, store, *epilogue, at, columns, /*is_unrolled=*/false));
  }
  return MarkStore(schedule, store, tiling);
}

Status ScheduleInputs(Schedule& schedule, const std::vector<std::string>& producers, const std::vector<BlockRV>& copies,
                      const AmxTiling& tiling, const Target& target) {
  for (const std::string& producer : producers) RETURN_IF_ERROR(ScheduleElementwise(schedule, producer, target));
  return SchedulePacks(schedule, copies, tiling.dot);
}

// parallel [fused outer tiles] { middle tiles { zero tiles; outer steps { inner steps (unrolled) { tiles (unrolled) {
// rows { columns { depth } } } } } store tiles; epilogue } }
Status TileByAmx(Schedule& schedule, const std::string& name, const AmxTiling& tiling, const Target& target) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(schedule, name));
  ASSIGN_OR_RETURN(const int first_row, schedule.RowOf(block));
  std::vector<std::string> producers;
  for (int row : ProducersOf(schedule, first_row)) producers.push_back(schedule.BlockOf(row).name);
  ASSIGN_OR_RETURN(const std::vector<BlockRV> copies, PackForDot(schedule, block, tiling.dot));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  std::optional<BlockRV> epilogue;
  if (HasEpilogue(schedule, row)) {
    ASSIGN_OR_RETURN(epilogue, AddAccumulators(schedule, block, "local"));
  }
  ASSIGN_OR_RETURN(const BlockRV store, CacheWrite(schedule, block, 0, "amx.tmm"));
  const TileShape shape{.levels = "SSRRS",
                        .lanes = LaneChoice{tiling.dot.lane_iter, kAmxColumns},
                        .parts = LaneChoice{tiling.dot.reduce_iter, tiling.depth},
                        .most_spatial = kTilesOfAxis,
                        .most_reduce = kMostUnrolledSteps,
                        .rows = LaneChoice{tiling.row_iter, tiling.rows}};
  ASSIGN_OR_RETURN(const TiledNest nest, TileByLevels(schedule, block, shape));
  RETURN_IF_ERROR(WriteTilesBackAt(schedule, store, epilogue, nest.levels[kAmxMiddle].back(), tiling));
  RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kAmxTiles]));
  RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kAmxInnerSteps]));
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, nest.levels[kAmxOuter]));
  RETURN_IF_ERROR(ScheduleInputs(schedule, producers, copies, tiling, target));
  RETURN_IF_ERROR(Parallel(schedule, outer));
  // Last: the update alone is no reduction block any more.
  ASSIGN_OR_RETURN(const BlockRV init, DecomposeReduction(schedule, block, nest.levels[kAmxSteps].front()));
  RETURN_IF_ERROR(MarkInit(schedule, init, nest.levels[kAmxTiles].size(), tiling));
  return Mark(schedule, *nest.rows, tiling.Intrins().multiply);
}

}  // namespace

std::vector<Schedule> AmxTiles(const Schedule& inlined, const Target& target) {
  const std::optional<int> anchor = FindAnchor(inlined, target);
  if (!anchor) return {};
  std::vector<Schedule> tiled;
  for (const DotTiling& dot : DotTilingsOf(inlined.BlockOf(*anchor), target, AmxAsDots())) {
    const std::optional<AmxTiling> tiling = TilingOf(inlined.BlockOf(*anchor), dot);
    Schedule attempt = inlined;
    if (!tiling || !TileByAmx(attempt, inlined.BlockOf(*anchor).name, *tiling, target).ok()) continue;
    ScheduleTheRest(attempt, target);
    tiled.push_back(std::move(attempt));
  }
  return tiled;
}

}  // namespace lathe
