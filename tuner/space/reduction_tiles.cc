#include "tuner/space/reduction_tiles.h"

#include <algorithm>
#include <optional>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "support/status_macros.h"
#include "tuner/space/anchor.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/default_schedule.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

constexpr int kMostStreamVectors = 8;  // Of a tile, written out.
constexpr int kMostStreamSteps = 16;   // Of one axis, written out.

enum StreamLevel : size_t { kTaskLevel, kStepLevel, kTileLevel, kInnerStepLevel, kVectorLevel };  // Of "SRSRS".

// It reads what comes from outside and streams most of it.
bool Streams(const Schedule& schedule, int row, const Target& target) {
  const bool is_reused =
      IsAnchor(schedule, row, target) && !StreamsOnce(schedule.BlockOf(row), target.cache_sizes().l2_bytes);
  return !is_reused && ProducersOf(schedule, row).empty();
}

// The axis of results that lie side by side, as what they are made of does.
std::optional<LaneChoice> LanesOfResults(const BlockNode& block, const Target& target) {
  const Vectors vectors = VectorsFor(block, target);
  for (size_t iter : VectorizableIters(block, vectors)) {
    const int64_t lanes = ChooseLanes(ExtentOf(block.iter_vars[iter]), vectors);
    const auto is_apart = [&](const BufferRegion& region) {
      return StrideOf(block, region, iter, lanes) == Stride::kShort;
    };
    const bool is_whole = ExtentOf(block.iter_vars[iter]) % lanes == 0;
    const bool are_neighbours = StrideOf(block, block.writes[0], iter, lanes) == Stride::kOne &&
                                std::none_of(block.reads.begin(), block.reads.end(), is_apart);
    if (is_whole && are_neighbours) return LaneChoice{iter, lanes};
  }
  return std::nullopt;
}

Status TileStream(Schedule& schedule, const std::string& name, const LaneChoice& lanes, const Target& target) {
  ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(schedule, name));
  ASSIGN_OR_RETURN(const BlockRV write_back, AddAccumulators(schedule, block, "local"));
  ASSIGN_OR_RETURN(const TiledNest nest,
                   TileByLevels(schedule, block, {"SRSRS", lanes, std::nullopt, kMostStreamVectors, kMostStreamSteps}));
  RETURN_IF_ERROR(
      WriteBackAt(schedule, block, write_back, nest.levels[kTaskLevel].back(), lanes, /*is_unrolled=*/false));
  RETURN_IF_ERROR(Vectorize(schedule, *nest.lanes));
  RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kVectorLevel]));
  RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kInnerStepLevel]));
  ASSIGN_OR_RETURN(const LoopRV task, Fuse(schedule, nest.levels[kTaskLevel]));
  RETURN_IF_ERROR(Parallel(schedule, task));
  ASSIGN_OR_RETURN(const BlockRV init, DecomposeReduction(schedule, block, nest.levels[kStepLevel].front()));
  RETURN_IF_ERROR(VectorizeInnermost(schedule, init, target));
  ScheduleTheRest(schedule, target);
  return OkStatus();
}

}  // namespace

std::vector<Schedule> ReductionTiles(const Schedule& inlined, const Target& target) {
  const std::optional<int> row = SoleReduction(inlined);
  const auto lanes =
      row && Streams(inlined, *row, target) ? LanesOfResults(inlined.BlockOf(*row), target) : std::nullopt;
  if (!lanes) return {};
  Schedule attempt = inlined;
  if (!TileStream(attempt, inlined.BlockOf(*row).name, *lanes, target).ok()) return {};
  std::vector<Schedule> schedules;
  schedules.push_back(std::move(attempt));
  return schedules;
}

}  // namespace lathe
