#include "tuner/space/multi_level_tiling.h"

#include <utility>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/transform_layout.h"
#include "support/status_macros.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

constexpr int kMaxRegisterTile = 16;       // Of one axis.
constexpr int kMaxUnrolledReduction = 16;  // Of one axis.

enum TileLevel : size_t { kOuterTiles, kMiddleTiles, kOuterSteps, kInnerSteps, kRegisterTile };  // Of "SSRRS".

// Lanes last: (a, lane, b) -> (a, b, lane); of lanes that are two apart (a, lane) -> (a, lane % 2, lane // 2).
IndexMap LanesLast(size_t ndim, const PackedRead& packed) {
  IndexMap map = IndexMap::Identity(ndim);
  const Expr lane = map.final_indices[packed.lane_dim], apart = IntConst(lane.dtype(), packed.apart);
  map.final_indices.erase(map.final_indices.begin() + static_cast<std::ptrdiff_t>(packed.lane_dim));
  if (packed.apart > 1) map.final_indices.push_back(FloorMod(lane, apart));
  map.final_indices.push_back(packed.apart > 1 ? FloorDiv(lane, apart) : lane);
  return map;
}

// What fills the last row where lanes apart do not divide it: nobody reads it.
IndexMap Zero(size_t ndim, DataType type) {
  IndexMap zero = IndexMap::Identity(ndim);
  zero.final_indices = {type.is_float() ? FloatConst(type, 0) : IntConst(type, 0)};
  return zero;
}

// Lays out what the block reads. The new block that makes a copy; nullopt: `producers` have one that makes it anyway.
StatusOr<std::optional<BlockRV>> Pack(Schedule& schedule, BlockRV block, const PackedRead& packed,
                                      const std::vector<std::string>& producers) {
  ASSIGN_OR_RETURN(const int reader, schedule.RowOf(block));
  const Buffer buffer = schedule.BlockOf(reader).reads[packed.read].buffer;
  std::optional<BlockRV> maker;
  for (const std::string& name : producers) {
    if (!schedule.BlockOf(schedule.FindBlock(name)).writes[0].buffer.same_as(buffer)) continue;
    ASSIGN_OR_RETURN(maker, GetBlock(schedule, name, schedule.func().name));
  }
  const bool is_copy = !maker;
  if (is_copy) {
    ASSIGN_OR_RETURN(maker, CacheRead(schedule, block, static_cast<int>(packed.read), "global"));
  }
  const size_t ndim = buffer->shape.size();
  if (packed.lane_dim + 1 < ndim || packed.apart > 1) {
    const int64_t* extent = AsIntConst(buffer->shape[packed.lane_dim]);
    const bool fills = extent != nullptr && *extent % packed.apart == 0;
    const std::optional<IndexMap> padding = fills ? std::nullopt : std::optional(Zero(ndim + 1, buffer->dtype));
    RETURN_IF_ERROR(TransformLayout(schedule, *maker, 0, BufferSide::kWrite, LanesLast(ndim, packed), padding));
  }
  return is_copy ? maker : std::nullopt;
}

// Lays out all that the options say; the blocks that make copies.
StatusOr<std::vector<BlockRV>> PackReads(Schedule& schedule, BlockRV block, const TilingOptions& options,
                                         const std::vector<std::string>& producers) {
  if (options.dot) return PackForDot(schedule, block, *options.dot);
  std::vector<BlockRV> copies;
  for (const PackedRead& packed : options.packed) {
    ASSIGN_OR_RETURN(const std::optional<BlockRV> copy, Pack(schedule, block, packed, producers));
    if (copy) copies.push_back(*copy);
  }
  return copies;
}

// Schedules what PackReads has made.
Status ScheduleCopies(Schedule& schedule, const std::vector<BlockRV>& copies, LoopRV outer, const Target& target,
                      const TilingOptions& options) {
  if (options.dot) return SchedulePacks(schedule, copies, *options.dot);
  for (const BlockRV copy : copies) {
    if (options.copies_at_outer) {
      RETURN_IF_ERROR(ComputeAt(schedule, copy, outer));
      RETURN_IF_ERROR(VectorizeInnermost(schedule, copy, target));
    } else {
      ASSIGN_OR_RETURN(const int row, schedule.RowOf(copy));
      RETURN_IF_ERROR(ScheduleElementwise(schedule, schedule.BlockOf(row).name, target));
    }
  }
  return OkStatus();
}

}  // namespace

Status TileReduction(Schedule& schedule, const std::string& name, const Target& target, const TilingOptions& options) {
  ASSIGN_OR_RETURN(const BlockRV block, GetBlock(schedule, name, schedule.func().name));
  ASSIGN_OR_RETURN(const int first_row, schedule.RowOf(block));
  const LaneChoice lanes{options.vector_iter, options.lanes};
  std::vector<std::string> producers;
  for (int row : ProducersOf(schedule, first_row)) producers.push_back(schedule.BlockOf(row).name);
  if (options.inputs == Inputs::kInlined) {
    RETURN_IF_ERROR(InlineReads(schedule, block, std::exchange(producers, {}), lanes));
  }

  ASSIGN_OR_RETURN(const std::vector<BlockRV> copies, PackReads(schedule, block, options, producers));
  ASSIGN_OR_RETURN(const BlockRV write_back, AddAccumulators(schedule, block, "register"));
  TileShape shape{"SSRRS", lanes, std::nullopt, kMaxRegisterTile, kMaxUnrolledReduction};
  if (options.dot) shape.parts = LaneChoice{options.dot->reduce_iter, options.dot->intrin.parts};
  ASSIGN_OR_RETURN(const TiledNest nest, TileByLevels(schedule, block, shape));
  RETURN_IF_ERROR(
      WriteBackAt(schedule, block, write_back, nest.levels[kMiddleTiles].back(), lanes, /*is_unrolled=*/true));

  if (!options.dot) RETURN_IF_ERROR(Vectorize(schedule, *nest.lanes));
  RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kRegisterTile]));
  RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kInnerSteps]));

  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, nest.levels[kOuterTiles]));
  for (const std::string& producer : producers) {
    ASSIGN_OR_RETURN(const BlockRV input, GetBlock(schedule, producer, schedule.func().name));
    if (options.inputs == Inputs::kAtOuter) {
      RETURN_IF_ERROR(ComputeAt(schedule, input, outer));
      RETURN_IF_ERROR(VectorizeInnermost(schedule, input, target));
    } else {
      RETURN_IF_ERROR(ScheduleElementwise(schedule, producer, target));
    }
  }
  RETURN_IF_ERROR(ScheduleCopies(schedule, copies, outer, target, options));
  RETURN_IF_ERROR(Parallel(schedule, outer));
  // Last: the update alone is no reduction block any more.
  ASSIGN_OR_RETURN(const BlockRV init, DecomposeReduction(schedule, block, nest.levels[kOuterSteps].front()));
  if (!options.dot) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<LoopRV> init_loops, GetLoops(schedule, init));
  RETURN_IF_ERROR(Vectorize(schedule, init_loops.back()));
  return MarkDot(schedule, *nest.lanes, *options.dot);
}

}  // namespace lathe
