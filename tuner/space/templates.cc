#include "tuner/space/templates.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/transform_layout.h"
#include "support/status_macros.h"
#include "tuner/space/auto_inline.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/schedule_template.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

using enum NestLevel;

constexpr int kMostRows = 16, kMostColumns = 8;      // Of a tile of a product; columns in vectors.
constexpr int kMostPixels = 28, kMostImageRows = 4;  // Of a tile of an image.
constexpr int kMostChannelBlocks = 4;
constexpr int kMostSteps = 16;

const BlockNode& BlockOf(const Schedule& schedule, const TemplateTask& task) {
  return schedule.BlockOf(schedule.FindBlock(task.name));
}

// Lanes along the iter, if the block can be computed by neighbours so.
std::optional<LaneChoice> LanesAlong(const BlockNode& block, size_t iter, const Target& target) {
  const Vectors vectors = VectorsFor(block, target);
  const std::vector<size_t> iters = VectorizableIters(block, vectors);
  if (std::find(iters.begin(), iters.end(), iter) == iters.end()) return std::nullopt;
  const LaneChoice choice{iter, ChooseLanes(ExtentOf(block.iter_vars[iter]), vectors)};
  const bool is_gathered = ExtentOf(block.iter_vars[iter]) % choice.lanes != 0 &&
                           std::any_of(block.reads.begin(), block.reads.end(), [&](const BufferRegion& read) {
                             return StrideOf(block, read, iter, choice.lanes) == Stride::kShort;
                           });
  return is_gathered ? std::nullopt : std::optional(choice);
}

std::optional<LaneChoice> LanesAlongLast(const BlockNode& block, const std::vector<size_t>& iters,
                                         const Target& target) {
  return iters.empty() ? std::nullopt : LanesAlong(block, iters.back(), target);
}

std::vector<std::string> ProducersOf(const Schedule& schedule, const TemplateTask& task) {
  std::vector<std::string> names;
  for (int row : lathe::ProducersOf(schedule, schedule.FindBlock(task.name)))
    names.push_back(schedule.BlockOf(row).name);
  return names;
}

void PlaceOthers(TemplateNest& nest, const BlockNode& block, const std::vector<size_t>& placed) {
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (std::find(placed.begin(), placed.end(), i) != placed.end()) continue;
    nest.Place(i, block.iter_vars[i].kind == IterKind::kReduce ? kSteps : kOuter);
  }
}

// ---- dense: C[m, n] += A[m, k] * B, which is [k, n], [n, k], or panels of columns [n // b, k, n % b].

bool IsDense(const BlockNode& block, const ContractionAxes& c) {
  return !c.Has(AxisRole::kWindow) && c.LongOnes(block, AxisRole::kBoth).empty() &&
         c.LongOnes(block, AxisRole::kData).size() == 1 && c.LongOnes(block, AxisRole::kWeight).size() == 1 &&
         c.LongOnes(block, AxisRole::kReduce).size() == 1;
}

bool MatchesDense(const Schedule& schedule, const TemplateTask& task, const Target& target) {
  const BlockNode& block = BlockOf(schedule, task);
  return IsDense(block, task.contraction) &&
         LanesAlongLast(block, task.contraction.LongOnes(block, AxisRole::kWeight), target);
}

Status TileDense(Schedule& schedule, const TemplateTask& task, const LaneChoice& lanes) {
  const BlockNode block = BlockOf(schedule, task);
  const ContractionAxes& c = task.contraction;
  const size_t y = c.LongOnes(block, AxisRole::kData)[0], k = c.LongOnes(block, AxisRole::kReduce)[0];
  ASSIGN_OR_RETURN(TemplateNest nest, TemplateNest::Create(schedule, task.block, lanes));
  PlaceOthers(nest, block, {y, lanes.iter, k});
  RETURN_IF_ERROR(nest.DefineSplit("tile_y", y, {kOuter, kMiddle, kTile}, kMostRows));
  RETURN_IF_ERROR(nest.DefineSplit("tile_x", lanes.iter, {kOuter, kMiddle, kTile}, kMostColumns));
  RETURN_IF_ERROR(nest.DefineSplit("tile_k", k, {kSteps, kUnrolled}, kMostSteps));
  return nest.Finish();
}

Status ApplyDense(Schedule& schedule, const TemplateTask& task, const Target& target) {
  const BlockNode& block = BlockOf(schedule, task);
  return TileDense(schedule, task, *LanesAlongLast(block, task.contraction.LongOnes(block, AxisRole::kWeight), target));
}

// Which dimension of a matrix the columns run along; nullopt: it is none, or has been laid out already.
std::optional<size_t> ColumnDimension(const BlockNode& block, const ContractionAxes& c) {
  const std::vector<size_t> columns = c.LongOnes(block, AxisRole::kWeight);
  const std::vector<Range>& region = block.reads[c.weight].region;
  if (columns.empty() || region.size() != 2) return std::nullopt;
  for (size_t dim = 0; dim < 2; ++dim)
    if (region[dim].min.same_as(block.iter_vars[columns.back()].var)) return dim;
  return std::nullopt;
}

bool MatchesDensePack(const Schedule& schedule, const TemplateTask& task, const Target& target) {
  const BlockNode& block = BlockOf(schedule, task);
  const ContractionAxes& c = task.contraction;
  if (!IsDense(block, c) || !ColumnDimension(block, c)) return false;
  const size_t x = c.LongOnes(block, AxisRole::kWeight)[0];
  const int64_t lanes = VectorsFor(block, target).lanes;
  return ExtentOf(block.iter_vars[x]) % lanes == 0 && StrideOf(block, block.writes[0], x, lanes) == Stride::kOne &&
         lathe::ProducersOf(schedule, schedule.FindBlock(task.name)).empty();
}

// [k, n] or [n, k] -> [n // lanes, k, n % lanes].
IndexMap Panels(size_t columns, int64_t lanes) {
  IndexMap map = IndexMap::Identity(2);
  const Expr n = map.final_indices[columns], k = map.final_indices[1 - columns];
  const Expr width = IntConst(n.dtype(), lanes);
  map.final_indices = {FloorDiv(n, width), k, FloorMod(n, width)};
  return map;
}

Status ApplyDensePack(Schedule& schedule, const TemplateTask& task, const Target& target) {
  const BlockNode block = BlockOf(schedule, task);
  const LaneChoice lanes{task.contraction.LongOnes(block, AxisRole::kWeight)[0], VectorsFor(block, target).lanes};
  ASSIGN_OR_RETURN(const BlockRV copy,
                   CacheRead(schedule, task.block, static_cast<int>(task.contraction.weight), "global"));
  RETURN_IF_ERROR(TransformLayout(schedule, copy, 0, BufferSide::kWrite,
                                  Panels(*ColumnDimension(block, task.contraction), lanes.lanes)));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(copy));
  RETURN_IF_ERROR(ScheduleElementwise(schedule, schedule.BlockOf(row).name, target));
  return TileDense(schedule, task, lanes);
}

// ---- Convolutions. Their images are padded beforehand, or guarded where they are read.

bool IsConvolution(const BlockNode& block, const ContractionAxes& c, AxisRole channels, size_t rank) {
  return c.output_rank == rank && c.pixels.size() == 2 && c.Has(channels) &&
         (channels == AxisRole::kBoth || c.LongOnes(block, AxisRole::kBoth).empty());
}

// The channels of a block: what the last dimension of the output is indexed by.
std::optional<size_t> BlockedChannel(const BlockNode& block, const ContractionAxes& c, AxisRole channels) {
  const Expr& last = block.writes[0].region.back().min;
  for (size_t i = 0; i < block.iter_vars.size(); ++i)
    if (c.roles[i] == channels && last.same_as(block.iter_vars[i].var)) return i;
  return std::nullopt;
}

template <AxisRole kChannels>
std::optional<LaneChoice> BlockedLanes(const Schedule& schedule, const TemplateTask& task, const Target& target) {
  const BlockNode& block = BlockOf(schedule, task);
  if (!IsConvolution(block, task.contraction, kChannels, 5)) return std::nullopt;
  const std::optional<size_t> channel = BlockedChannel(block, task.contraction, kChannels);
  return channel ? LanesAlong(block, *channel, target) : std::nullopt;
}

// Rows of an image as lanes.
std::optional<LaneChoice> RowLanes(const Schedule& schedule, const TemplateTask& task, const Target& target) {
  const BlockNode& block = BlockOf(schedule, task);
  if (!IsConvolution(block, task.contraction, AxisRole::kWeight, 4)) return std::nullopt;
  return LanesAlong(block, task.contraction.pixels[1], target);
}

// Output channels as lanes, of weights in panels.
std::optional<LaneChoice> ChannelLanes(const Schedule& schedule, const TemplateTask& task, const Target& target) {
  const BlockNode& block = BlockOf(schedule, task);
  if (!IsConvolution(block, task.contraction, AxisRole::kWeight, 4)) return std::nullopt;
  return LanesAlongLast(block, task.contraction.LongOnes(block, AxisRole::kWeight), target);
}

using ChooseLanesOf = std::optional<LaneChoice>(const Schedule&, const TemplateTask&, const Target&);

template <ChooseLanesOf kLanes>
bool MatchesConv(const Schedule& schedule, const TemplateTask& task, const Target& target) {
  return kLanes(schedule, task, target).has_value();
}
template <ChooseLanesOf kLanes>
bool MatchesGuardedConv(const Schedule& schedule, const TemplateTask& task, const Target& target) {
  return !ProducersOf(schedule, task).empty() && kLanes(schedule, task, target);
}

// tile_oc, tile_oh, tile_ow: register tiles of channels, rows and pixels; tile_ic: unrolled steps; unroll_kh,
// unroll_kw.
Status TileConv(Schedule& schedule, const TemplateTask& task, const LaneChoice& lanes) {
  const BlockNode block = BlockOf(schedule, task);
  const ContractionAxes& c = task.contraction;
  ASSIGN_OR_RETURN(TemplateNest nest, TemplateNest::Create(schedule, task.block, lanes));
  std::vector<size_t> placed = c.pixels;
  const std::vector<size_t> inputs = c.LongOnes(block, AxisRole::kReduce);
  const std::vector<size_t> outputs = c.LongOnes(block, AxisRole::kWeight, lanes.iter);
  for (size_t i = 0; i < c.roles.size(); ++i)
    if (c.roles[i] == AxisRole::kWindow) placed.push_back(i);
  if (!inputs.empty()) placed.push_back(inputs.back());
  if (!outputs.empty()) placed.push_back(outputs.front());
  placed.push_back(lanes.iter);
  PlaceOthers(nest, block, placed);
  if (!inputs.empty()) {
    RETURN_IF_ERROR(nest.DefineSplit("tile_ic", inputs.back(), {kSteps, kUnrolled}, kMostSteps));
  }
  for (size_t i = 0, window = 0; i < c.roles.size(); ++i) {
    if (c.roles[i] != AxisRole::kWindow) continue;
    RETURN_IF_ERROR(nest.DefineUnroll(window++ == 0 ? "unroll_kh" : "unroll_kw", i));
  }
  RETURN_IF_ERROR(nest.DefineSplit("tile_oh", c.pixels[0], {kOuter, kTile}, kMostImageRows));
  if (c.pixels[1] != lanes.iter) {
    RETURN_IF_ERROR(nest.DefineSplit("tile_ow", c.pixels[1], {kMiddle, kTile}, kMostPixels));
  }
  if (!outputs.empty()) {
    RETURN_IF_ERROR(nest.DefineSplit("tile_oc", outputs.front(), {kOuter, kTile}, kMostChannelBlocks));
  }
  const bool is_whole_vector = ExtentOf(block.iter_vars[lanes.iter]) <= lanes.lanes;
  if (is_whole_vector) {
    nest.Place(lanes.iter, kOuter);
    return nest.Finish();
  }
  RETURN_IF_ERROR(nest.DefineSplit("tile_lanes", lanes.iter, {kOuter, kTile}, kMostChannelBlocks));
  return nest.Finish();
}

template <ChooseLanesOf kLanes>
Status ApplyConv(Schedule& schedule, const TemplateTask& task, const Target& target) {
  const LaneChoice lanes = *kLanes(schedule, task, target);
  const std::vector<std::string> pads = ProducersOf(schedule, task);
  RETURN_IF_ERROR(TileConv(schedule, task, lanes));
  for (const std::string& pad : pads) RETURN_IF_ERROR(ScheduleElementwise(schedule, pad, target));
  return OkStatus();
}
template <ChooseLanesOf kLanes>
Status ApplyGuardedConv(Schedule& schedule, const TemplateTask& task, const Target& target) {
  const LaneChoice lanes = *kLanes(schedule, task, target);
  RETURN_IF_ERROR(InlineReads(schedule, task.block, ProducersOf(schedule, task), lanes));
  return TileConv(schedule, task, lanes);
}

constexpr ScheduleTemplate kTemplates[] = {
    {"dense", MatchesDense, ApplyDense},
    {"dense_pack", MatchesDensePack, ApplyDensePack},
    {"conv2d_nchwc", MatchesConv<BlockedLanes<AxisRole::kWeight>>, ApplyConv<BlockedLanes<AxisRole::kWeight>>},
    {"conv2d_nchwc_guarded", MatchesGuardedConv<BlockedLanes<AxisRole::kWeight>>,
     ApplyGuardedConv<BlockedLanes<AxisRole::kWeight>>},
    {"depthwise_nchwc", MatchesConv<BlockedLanes<AxisRole::kBoth>>, ApplyConv<BlockedLanes<AxisRole::kBoth>>},
    {"depthwise_nchwc_guarded", MatchesGuardedConv<BlockedLanes<AxisRole::kBoth>>,
     ApplyGuardedConv<BlockedLanes<AxisRole::kBoth>>},
    {"conv2d_nchw_rows", MatchesConv<RowLanes>, ApplyConv<RowLanes>},
    {"conv2d_nchw_channels", MatchesConv<ChannelLanes>, ApplyConv<ChannelLanes>},
};

std::string NamesOfTemplates() {
  std::vector<std::string> names;
  for (const ScheduleTemplate& each : kTemplates) names.emplace_back(each.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

class Templates : public SpaceGenerator {
 public:
  StatusOr<std::vector<Sketch>> Generate(const PrimFunc& workload, const Target& target) const override {
    ASSIGN_OR_RETURN(Schedule base, Schedule::Create(workload));
    RETURN_IF_ERROR(AutoInline(base));
    const std::optional<TemplateTask> task = TaskIn(base);
    std::vector<Sketch> sketches;
    for (const ScheduleTemplate& each : kTemplates) {
      if (!task || !each.matches(base, *task, target)) continue;
      Schedule attempt = base;
      if (each.apply(attempt, *task, target).ok()) AddSketch(attempt, each, sketches);
    }
    if (!sketches.empty()) return sketches;
    return NotFound(fmt::format("no template for @{}: there are {}; take another space with --space", workload.name,
                                NamesOfTemplates()));
  }

 private:
  // The one contraction of a function all other blocks of which are element-wise.
  static std::optional<TemplateTask> TaskIn(Schedule& schedule) {
    std::optional<std::string> name;
    std::optional<ContractionAxes> found;
    for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
      const BlockNode& block = schedule.BlockOf(row);
      if (!IsPlainStage(schedule, row)) return std::nullopt;
      if (IsSpatial(block)) continue;
      if (found) return std::nullopt;
      found = ContractionAxesOf(block);
      if (!found) return std::nullopt;
      name = block.name;
    }
    if (!found) return std::nullopt;
    const StatusOr<BlockRV> block = BlockNamed(schedule, *name);
    return block.ok() ? std::optional(TemplateTask{*block, *name, *found}) : std::nullopt;
  }
  static void AddSketch(const Schedule& schedule, const ScheduleTemplate& from, std::vector<Sketch>& sketches) {
    Sketch sketch{schedule.trace().Simplified(/*remove_postproc=*/true), std::string("templates: ") + from.name};
    sketch.trace.ClearDecisions();
    sketches.push_back(std::move(sketch));
  }
};

}  // namespace

std::span<const ScheduleTemplate> ScheduleTemplates() { return kTemplates; }

std::unique_ptr<SpaceGenerator> MakeTemplates() { return std::make_unique<Templates>(); }

}  // namespace lathe
