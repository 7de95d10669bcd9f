#include "tuner/space/multi_level_tiling.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
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

namespace lathe {
namespace {

constexpr int kMaxRegisterTile = 16;       // Of one axis.
constexpr int kMaxUnrolledReduction = 16;  // Of one axis.

using Factors = std::vector<std::optional<ExprRV>>;

Factors FactorsOf(const std::vector<VarRV>& vars) {
  Factors factors;
  for (VarRV var : vars) factors.emplace_back(ExprRV(var));
  return factors;
}

// The levels of all axes, outermost first.
struct Levels {
  std::vector<LoopRV> outer, middle, reduce_outer, reduce_inner, tile;
  std::optional<LoopRV> lanes, parts;  // Parts: of an instruction that takes several steps of a reduction.
};

Status TileSpatial(Schedule& schedule, LoopRV loop, Levels& levels) {
  ASSIGN_OR_RETURN(const std::vector<VarRV> sizes, SamplePerfectTile(schedule, loop, 3, kMaxRegisterTile));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, Split(schedule, loop, FactorsOf(sizes)));
  levels.outer.push_back(loops[0]);
  levels.middle.push_back(loops[1]);
  levels.tile.push_back(loops[2]);
  return OkStatus();
}

Status TileReduce(Schedule& schedule, LoopRV loop, Levels& levels) {
  ASSIGN_OR_RETURN(const std::vector<VarRV> sizes, SamplePerfectTile(schedule, loop, 2, kMaxUnrolledReduction));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, Split(schedule, loop, FactorsOf(sizes)));
  levels.reduce_outer.push_back(loops[0]);
  levels.reduce_inner.push_back(loops[1]);
  return OkStatus();
}

Status TileVector(Schedule& schedule, LoopRV loop, int64_t lanes, Levels& levels) {
  const Factors by_lanes{std::nullopt, ExprRV(lanes)};
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, loop, by_lanes));
  levels.lanes = parts[1];
  return TileSpatial(schedule, parts[0], levels);
}

Status TileParts(Schedule& schedule, LoopRV loop, int64_t parts, Levels& levels) {
  const Factors by_parts{std::nullopt, ExprRV(parts)};
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, Split(schedule, loop, by_parts));
  levels.parts = loops[1];
  return TileReduce(schedule, loops[0], levels);
}

StatusOr<Levels> TileAxes(Schedule& schedule, BlockRV block, const TilingOptions& options) {
  const size_t vector_iter = options.vector_iter;
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  std::vector<IterKind> kinds;
  for (const IterVar& iter : schedule.BlockOf(row).iter_vars) kinds.push_back(iter.kind);
  if (loops.size() != kinds.size()) return schedule.Error("tile", row, "its loops are not its iter vars");
  Levels levels;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (options.dot && i == options.dot->reduce_iter) {
      RETURN_IF_ERROR(TileParts(schedule, loops[i], options.dot->intrin.parts, levels));
    } else if (kinds[i] == IterKind::kReduce) {
      RETURN_IF_ERROR(TileReduce(schedule, loops[i], levels));
    } else if (i == vector_iter) {
      RETURN_IF_ERROR(TileVector(schedule, loops[i], options.lanes, levels));
    } else {
      RETURN_IF_ERROR(TileSpatial(schedule, loops[i], levels));
    }
  }
  // The vectors of the tile innermost: a broadcast meets each of them in turn and is dead.
  const auto kinds_before = kinds.begin() + static_cast<std::ptrdiff_t>(vector_iter);
  const auto position = std::count(kinds.begin(), kinds_before, IterKind::kSpatial);
  std::rotate(levels.tile.begin() + position, levels.tile.begin() + position + 1, levels.tile.end());
  return levels;
}

std::vector<LoopRV> Concatenate(std::initializer_list<std::vector<LoopRV>> lists) {
  std::vector<LoopRV> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The block that writes the tile back: the one element-wise consumer of `block`, or a plain copy.
StatusOr<BlockRV> AddWriteBack(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const std::vector<int> consumers = ConsumersOf(schedule, row);
  const bool has_epilogue =
      consumers.size() == 1 && IsSpatial(schedule.BlockOf(consumers[0])) && !IsOutputBlock(schedule, row);
  const std::string epilogue = has_epilogue ? schedule.BlockOf(consumers[0]).name : "";
  ASSIGN_OR_RETURN(const BlockRV copy, CacheWrite(schedule, block, 0, "register"));
  if (!has_epilogue) return copy;
  RETURN_IF_ERROR(ComputeInline(schedule, copy));
  return GetBlock(schedule, epilogue, schedule.func().name);
}

// Iter of `write_back` that indexes the same place of the tile as `dim` of the buffer that it reads.
std::optional<size_t> IterOfDim(const Schedule& schedule, int write_back, const Buffer& tile, size_t dim) {
  const BlockNode& block = schedule.BlockOf(write_back);
  for (const BufferRegion& read : block.reads) {
    if (!read.buffer.same_as(tile)) continue;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].var.same_as(read.region[dim].min)) return i;
    }
  }
  return std::nullopt;
}

// Lanes innermost, the rest unrolled: each register is written back by code that names it.
Status ScheduleWriteBack(Schedule& schedule, BlockRV write_back, LoopRV at, size_t lane_iter, int64_t lanes) {
  RETURN_IF_ERROR(ReverseComputeAt(schedule, write_back, at, /*preserve_unit_loops=*/true));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> all, GetLoops(schedule, write_back));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(write_back));
  const size_t count = schedule.BlockOf(row).iter_vars.size();
  if (all.size() < count) return schedule.Error("tile", row, "its loops are not its iter vars");
  const std::vector<LoopRV> loops(all.end() - count, all.end());
  const Factors by_lanes{std::nullopt, ExprRV(lanes)};
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, loops[lane_iter], by_lanes));
  std::vector<LoopRV> order;
  for (size_t i = 0; i < count; ++i) order.push_back(i == lane_iter ? parts[0] : loops[i]);
  order.push_back(parts[1]);
  RETURN_IF_ERROR(Reorder(schedule, order));
  RETURN_IF_ERROR(Vectorize(schedule, parts[1]));
  order.pop_back();
  for (LoopRV loop : order) RETURN_IF_ERROR(Unroll(schedule, loop));
  return OkStatus();
}

}  // namespace

namespace {

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

bool IsGuardedBy(const BlockNode& block, const Var& iter) {
  bool found = false;
  PostOrderVisit(block.body, [&](const Expr& e) {
    const Call* choice = AsCall(e, "if_then_else");
    found = found || (choice != nullptr && UsesVar(choice->args[0], iter.get()));
  });
  return found;
}

// Computes what the block reads where it is read.
Status InlineInputs(Schedule& schedule, BlockRV block, const std::vector<std::string>& producers, size_t lane_iter) {
  for (const std::string& producer : producers) {
    ASSIGN_OR_RETURN(const BlockRV input, GetBlock(schedule, producer, schedule.func().name));
    RETURN_IF_ERROR(ComputeInline(schedule, input));
  }
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const BlockNode& inlined = schedule.BlockOf(row);
  if (!IsGuardedBy(inlined, inlined.iter_vars[lane_iter].var)) return OkStatus();
  return schedule.Error("tile", row, "what it reads is guarded for each lane on its own");
}

}  // namespace

Status TileReduction(Schedule& schedule, const std::string& name, const Target& target, const TilingOptions& options) {
  ASSIGN_OR_RETURN(const BlockRV block, GetBlock(schedule, name, schedule.func().name));
  ASSIGN_OR_RETURN(const int first_row, schedule.RowOf(block));
  std::vector<std::string> producers;
  for (int row : ProducersOf(schedule, first_row)) producers.push_back(schedule.BlockOf(row).name);
  if (options.inputs == Inputs::kInlined) {
    RETURN_IF_ERROR(InlineInputs(schedule, block, std::exchange(producers, {}), options.vector_iter));
  }
  ASSIGN_OR_RETURN(const int inlined_row, schedule.RowOf(block));
  const BlockNode before = schedule.BlockOf(inlined_row);

  ASSIGN_OR_RETURN(const std::vector<BlockRV> copies, PackReads(schedule, block, options, producers));
  ASSIGN_OR_RETURN(const BlockRV write_back, AddWriteBack(schedule, block));
  ASSIGN_OR_RETURN(Levels levels, TileAxes(schedule, block, options));
  std::vector<LoopRV> order =
      Concatenate({levels.outer, levels.middle, levels.reduce_outer, levels.reduce_inner, levels.tile});
  order.push_back(*levels.lanes);
  if (levels.parts) order.push_back(*levels.parts);
  RETURN_IF_ERROR(Reorder(schedule, order));

  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const BufferRegion tile = schedule.BlockOf(row).writes[0];
  size_t lane_dim = 0;
  for (size_t dim = 0; dim < tile.region.size(); ++dim) {
    if (tile.region[dim].min.same_as(before.iter_vars[options.vector_iter].var)) lane_dim = dim;
  }
  ASSIGN_OR_RETURN(const int write_back_row, schedule.RowOf(write_back));
  const std::optional<size_t> lane_iter = IterOfDim(schedule, write_back_row, tile.buffer, lane_dim);
  if (!lane_iter) return schedule.Error("tile", write_back_row, "its iter vars do not index the tile");
  RETURN_IF_ERROR(ScheduleWriteBack(schedule, write_back, levels.middle.back(), *lane_iter, options.lanes));

  if (!options.dot) RETURN_IF_ERROR(Vectorize(schedule, *levels.lanes));
  for (LoopRV loop : levels.tile) RETURN_IF_ERROR(Unroll(schedule, loop));
  for (LoopRV loop : levels.reduce_inner) RETURN_IF_ERROR(Unroll(schedule, loop));

  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, levels.outer));
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
  ASSIGN_OR_RETURN(const BlockRV init, DecomposeReduction(schedule, block, levels.reduce_outer.front()));
  if (!options.dot) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<LoopRV> init_loops, GetLoops(schedule, init));
  RETURN_IF_ERROR(Vectorize(schedule, init_loops.back()));
  return MarkDot(schedule, *levels.lanes, *options.dot);
}

}  // namespace lathe
