#include "tuner/space/sketch_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/sampling.h"
#include "compiler/schedule/set_scope.h"
#include "support/status_macros.h"
#include "tuner/space/auto_inline.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/multi_level_tiling.h"
#include "tuner/space/row_reduction.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

constexpr std::string_view kLevels = "SSRSRS";
constexpr size_t kFirstReduction = 2;  // Position of it in the levels.
constexpr size_t kMostSketches = 64;   // Of a function of many reductions.
constexpr std::array<int64_t, 4> kUnrollSteps{0, 16, 64, 512};

struct TiledStage {
  std::string name;
  BlockRV block;
  LoopRV outer;  // The first level, fused.
  LoopRV steps;  // The outermost reduction.
  std::optional<LaneChoice> lanes;
  std::vector<std::string> producers;  // Blocks that make what it reads, for it alone.
  bool is_register = false;
};

// A function some of whose blocks have been treated.
struct State {
  Schedule schedule;
  std::vector<std::string> stages;  // In order of the text; those from `left` on have been treated.
  size_t left = 0;
  std::vector<TiledStage> tiled = {};
  std::vector<std::string> by_lanes = {};  // Reductions that get an rfactor.
  std::vector<std::string> skipped = {};   // Treated last first.
  bool has_cache = false;                  // The stage that comes next was given one.
  std::string told = {};                   // The rules that were applied, in words.
  std::string note = {};                   // How the last one was, if there are several ways.

  const std::string& stage() const { return stages[left - 1]; }
  int row() const { return schedule.FindBlock(stage()); }
  bool IsTreated(const std::string& name) const {
    return std::find(stages.begin() + static_cast<std::ptrdiff_t>(left), stages.end(), name) != stages.end();
  }
};

void Advance(State& state) {
  --state.left;
  state.has_cache = false;
}

// ---- What a rule asks.

bool IsPlain(const State& state) { return state.row() >= 0 && IsPlainStage(state.schedule, state.row()); }

bool CanBeTiled(const State& state) {
  if (!IsPlain(state)) return false;
  const BlockNode& block = state.schedule.BlockOf(state.row());
  return block.init && HasDataReuse(block);
}

bool CanBeInlined(const State& state, const Target&) {
  return IsPlain(state) && ShouldInline(state.schedule, state.row());
}

// As many steps as there are cores, at least, along neighbours in memory.
bool CanBeReducedByLanes(const State& state, const Target& target) {
  return IsPlain(state) && !state.has_cache && ReducesRows(state.schedule.BlockOf(state.row()), target);
}

bool NeedsCache(const State& state, const Target&) {
  return CanBeTiled(state) && !state.has_cache && !HasEpilogue(state.schedule, state.row());
}

bool CanBeTiledWithConsumer(const State& state, const Target&) {
  return CanBeTiled(state) && (state.has_cache || HasEpilogue(state.schedule, state.row()));
}

bool CanBeTiledAlone(const State& state, const Target&) { return CanBeTiled(state); }

bool CanBeSkipped(const State&, const Target&) { return true; }

// ---- What a rule does.

using States = std::vector<State>;

Status Inline(const State& state, const Target&, States& next) {
  State inlined = state;
  ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(inlined.schedule, inlined.stage()));
  RETURN_IF_ERROR(ComputeInline(inlined.schedule, block));
  Advance(inlined);
  next.push_back(std::move(inlined));
  return OkStatus();
}

Status ReduceByLanes(const State& state, const Target&, States& next) {
  State marked = state;
  marked.by_lanes.push_back(marked.stage());
  marked.skipped.push_back(marked.stage());
  Advance(marked);
  next.push_back(std::move(marked));
  return OkStatus();
}

Status AddCache(const State& state, const Target&, States& next) {
  State cached = state;
  cached.has_cache = true;  // The cache itself: as the tile has its scope.
  next.push_back(std::move(cached));
  return OkStatus();
}

// The axis of most whole vectors whose writes are neighbours, if any one's are; Ansor's tiles have no rest.
std::optional<LaneChoice> WholeLanes(const BlockNode& block, const Target& target) {
  const Vectors vectors = VectorsFor(block, target);
  std::optional<LaneChoice> best;
  for (size_t iter : VectorizableIters(block, vectors)) {
    int64_t lanes = vectors.lanes;
    while (lanes > 1 && ExtentOf(block.iter_vars[iter]) % lanes != 0) lanes /= 2;
    if (lanes > (best ? best->lanes : 1)) best = LaneChoice{iter, lanes};
  }
  return best;
}

std::vector<std::string> OwnProducers(const Schedule& schedule, int row) {
  std::vector<std::string> names;
  for (int producer : ProducersOf(schedule, row)) {
    const bool is_own = IsPlainStage(schedule, producer) && IsSpatial(schedule.BlockOf(producer)) &&
                        ConsumersOf(schedule, producer).size() == 1 && !IsOutputBlock(schedule, producer);
    if (is_own) names.push_back(schedule.BlockOf(producer).name);
  }
  return names;
}

// What the tile writes is kept in `scope` until the consumer takes it under level `at_level`; without one the
// accumulators are the output.
StatusOr<State> Tile(const State& state, const Target& target, std::optional<size_t> at_level) {
  State tiled = state;
  Schedule& schedule = tiled.schedule;
  ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(schedule, tiled.stage()));
  const BlockNode& node = schedule.BlockOf(tiled.row());
  TiledStage stage{tiled.stage(), block, {}, {}, WholeLanes(node, target), OwnProducers(schedule, tiled.row())};
  stage.is_register = at_level == kFirstReduction - 1 && stage.lanes;
  std::optional<BlockRV> write_back;
  if (at_level) {
    ASSIGN_OR_RETURN(write_back, AddAccumulators(schedule, block, stage.is_register ? "register" : "local"));
  }
  ASSIGN_OR_RETURN(const TiledNest nest, TileByLevels(schedule, block, {kLevels, stage.lanes}));
  if (write_back) {
    RETURN_IF_ERROR(
        WriteBackAt(schedule, block, *write_back, nest.levels[*at_level].back(), stage.lanes, stage.is_register));
  }
  if (nest.lanes) RETURN_IF_ERROR(Vectorize(schedule, *nest.lanes));
  RETURN_IF_ERROR(UnrollAll(schedule, nest.levels.back()));
  if (stage.is_register) {  // Registers have no addresses; the depth is what was sampled.
    RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kFirstReduction + 1]));
    RETURN_IF_ERROR(UnrollAll(schedule, nest.levels[kFirstReduction + 2]));
  }
  ASSIGN_OR_RETURN(stage.outer, Fuse(schedule, nest.levels[0]));
  stage.steps = nest.levels[kFirstReduction].front();
  tiled.tiled.push_back(std::move(stage));
  Advance(tiled);
  return tiled;
}

Status TileWithConsumer(const State& state, const Target& target, States& next) {
  Status why;
  for (size_t level = 0; level < kFirstReduction; ++level) {
    StatusOr<State> tiled = Tile(state, target, level);
    if (!tiled.ok()) why = tiled.status();
    if (!tiled.ok()) continue;
    tiled->note = fmt::format(" under level {}", level + 1);
    next.push_back(*std::move(tiled));
  }
  return next.empty() ? why : OkStatus();
}

Status TileAlone(const State& state, const Target& target, States& next) {
  ASSIGN_OR_RETURN(State tiled, Tile(state, target, std::nullopt));
  next.push_back(std::move(tiled));
  return OkStatus();
}

Status Skip(const State& state, const Target&, States& next) {
  State skipped = state;
  if (IsPlain(skipped)) skipped.skipped.push_back(skipped.stage());
  Advance(skipped);
  next.push_back(std::move(skipped));
  return OkStatus();
}

struct Rule {
  const char* name;  // nullptr: not worth telling.
  bool (*meets)(const State& state, const Target& target);
  // Appends the states that it leaves. An error: it did not apply after all.
  Status (*apply)(const State& state, const Target& target, States& next);
  bool skips_rest;  // Where it applied, the rules below are not asked.
};
constexpr Rule kRules[] = {
    {nullptr, CanBeInlined, Inline, true},
    {"rfactor", CanBeReducedByLanes, ReduceByLanes, false},
    {"cache write", NeedsCache, AddCache, false},
    {"multi-level tiling with fusion", CanBeTiledWithConsumer, TileWithConsumer, true},
    {"multi-level tiling", CanBeTiledAlone, TileAlone, true},
    {nullptr, CanBeSkipped, Skip, false},
};

void Tell(const Rule& rule, State& state) {
  if (rule.name != nullptr) state.told += (state.told.empty() ? ": " : ", ") + (rule.name + state.note);
  state.note.clear();
}

States Derive(State state, const Target& target) {
  States open, done;
  open.push_back(std::move(state));
  while (!open.empty() && done.size() < kMostSketches) {
    const State now = std::move(open.back());
    open.pop_back();
    if (now.left == 0) {
      done.push_back(now);
      continue;
    }
    States next;
    for (const Rule& rule : kRules) {
      States left;
      if (!rule.meets(now, target) || !rule.apply(now, target, left).ok()) continue;
      for (State& state : left) Tell(rule, state);
      std::move(left.begin(), left.end(), std::back_inserter(next));
      if (rule.skips_rest) break;
    }
    std::move(next.rbegin(), next.rend(), std::back_inserter(open));  // The first comes out first.
  }
  return done;
}

// ---- Annotation.

Status SampleUnrolling(Schedule& schedule, LoopRV around) {
  const std::vector<double> evenly(kUnrollSteps.size(), 1.0 / kUnrollSteps.size());
  ASSIGN_OR_RETURN(const VarRV steps, SampleCategorical(schedule, kUnrollSteps, evenly));
  return Annotate(schedule, around, "pragma_auto_unroll_max_step", steps);
}

Status FinishTiles(State& state, const Target& target, Inputs inputs) {
  Schedule& schedule = state.schedule;
  for (TiledStage& stage : state.tiled) {
    if (inputs == Inputs::kInlined) RETURN_IF_ERROR(InlineReads(schedule, stage.block, stage.producers, stage.lanes));
    for (const std::string& name : stage.producers) {
      if (inputs != Inputs::kAtOuter) break;
      ASSIGN_OR_RETURN(const BlockRV input, BlockNamed(schedule, name));
      RETURN_IF_ERROR(ComputeAt(schedule, input, stage.outer));
      RETURN_IF_ERROR(VectorizeInnermost(schedule, input, target));
    }
    RETURN_IF_ERROR(Parallel(schedule, stage.outer));
    if (!stage.is_register) RETURN_IF_ERROR(SampleUnrolling(schedule, stage.outer));
    RETURN_IF_ERROR(DecomposeReduction(schedule, stage.block, stage.steps).status());
  }
  return OkStatus();
}

bool IsByLanes(const State& state, const std::string& name) {
  return std::find(state.by_lanes.begin(), state.by_lanes.end(), name) != state.by_lanes.end();
}

bool IsTouched(const Schedule& schedule, int row) {
  const std::vector<int> loops = schedule.LoopsOf(row);
  return schedule.ChildBlocksOf(loops.front()).size() != 1 || std::any_of(loops.begin(), loops.end(), [&](int loop) {
           return schedule.LoopOf(loop).kind != ForKind::kSerial;
         });
}

// A nest of its own; one that a reduction before has taken with it has none.
Status FinishInPlace(State& state, const std::string& name, const Target& target) {
  Schedule& schedule = state.schedule;
  const int row = schedule.FindBlock(name);
  if (row < 0 || !IsPlainStage(schedule, row) || IsTouched(schedule, row)) return OkStatus();
  if (!schedule.BlockOf(row).init) return ScheduleElementwise(schedule, name, target);
  ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(schedule, name));
  if (!IsByLanes(state, name)) {
    RETURN_IF_ERROR(ScheduleReduction(schedule, name, target));
    ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
    return SampleUnrolling(schedule, loops.front());
  }
  RETURN_IF_ERROR(ReduceRow(schedule, block, target, std::nullopt, Accumulators::kSampled).status());
  ASSIGN_OR_RETURN(std::vector<LoopRV> loops, GetLoops(schedule, block));
  loops.pop_back();
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, loops));
  return Parallel(schedule, outer);
}

// Reductions before what is element-wise: they take it with them where they can.
Status FinishInPlaces(State& state, const Target& target) {
  const std::vector<std::string> names = state.skipped;
  for (const bool reduces : {true, false}) {
    for (const std::string& name : names) {
      const int row = state.schedule.FindBlock(name);
      if (row < 0 || state.schedule.BlockOf(row).init.has_value() != reduces) continue;
      State attempt = state;
      if (FinishInPlace(attempt, name, target).ok()) state = std::move(attempt);
    }
  }
  return OkStatus();
}

// The loop of rows of the last block, which carries all others.
StatusOr<LoopRV> LoopOfRows(State& state, BlockRV last, const Target& target) {
  if (IsByLanes(state, state.skipped.front()))
    return ReduceRow(state.schedule, last, target, std::nullopt, Accumulators::kSampled);
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(state.schedule, last));
  if (loops.size() < 2) return FailedPrecondition("finish rows: it has one row only");
  return loops[loops.size() - 2];
}

Status MoveToRow(State& state, const std::string& name, const Target& target, LoopRV at) {
  Schedule& schedule = state.schedule;
  ASSIGN_OR_RETURN(const BlockRV block, BlockNamed(schedule, name));
  if (IsByLanes(state, name)) return ReduceRow(schedule, block, target, at, Accumulators::kSampled).status();
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const bool reduces = schedule.BlockOf(row).init.has_value();
  RETURN_IF_ERROR(SetScope(schedule, block, 0, "local"));
  RETURN_IF_ERROR(ComputeAt(schedule, block, at));
  return reduces ? OkStatus() : VectorizeInnermost(schedule, block, target);
}

// All blocks in one nest, row by row.
Status FinishInRows(State& state, const Target& target) {
  Schedule& schedule = state.schedule;
  if (state.skipped.size() < 2 || state.skipped.size() != schedule.ChildBlocksOf(schedule.RootRow()).size())
    return FailedPrecondition("finish rows: not all blocks can be moved");
  ASSIGN_OR_RETURN(const BlockRV last, BlockNamed(schedule, state.skipped.front()));
  ASSIGN_OR_RETURN(const LoopRV at, LoopOfRows(state, last, target));
  ASSIGN_OR_RETURN(std::vector<LoopRV> rows, GetLoops(schedule, last));
  rows.pop_back();
  for (size_t i = 1; i < state.skipped.size(); ++i) RETURN_IF_ERROR(MoveToRow(state, state.skipped[i], target, at));
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(last));
  if (IsSpatial(schedule.BlockOf(row)) && !IsByLanes(state, state.skipped.front()))
    RETURN_IF_ERROR(VectorizeInnermost(schedule, last, target));
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, rows));
  return Parallel(schedule, outer);
}

void AddSketch(const State& state, std::string_view places, std::vector<Sketch>& sketches) {
  Sketch sketch{state.schedule.trace().Simplified(/*remove_postproc=*/true),
                fmt::format("sketches{}{}", state.told, places)};
  sketch.trace.ClearDecisions();
  const bool is_known = std::any_of(sketches.begin(), sketches.end(),
                                    [&](const Sketch& other) { return other.trace.ToJson() == sketch.trace.ToJson(); });
  if (!is_known) sketches.push_back(std::move(sketch));
}

class SketchRules : public SpaceGenerator {
 public:
  StatusOr<std::vector<Sketch>> Generate(const PrimFunc& workload, const Target& target) const override {
    ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(workload));
    std::vector<std::string> stages;
    for (int row : schedule.ChildBlocksOf(schedule.RootRow())) stages.push_back(schedule.BlockOf(row).name);
    const size_t count = stages.size();
    std::vector<Sketch> sketches;
    for (const State& state : Derive({std::move(schedule), std::move(stages), count}, target)) {
      for (const auto& [inputs, words] : PlacesOf(state)) {
        State attempt = state;
        if (FinishTiles(attempt, target, inputs).ok() && FinishInPlaces(attempt, target).ok())
          AddSketch(attempt, words, sketches);
      }
      State rows = state;
      if (state.tiled.empty() && FinishInRows(rows, target).ok()) AddSketch(rows, ", in one nest", sketches);
    }
    if (sketches.empty()) return FailedPrecondition("derive sketches: no rule leaves a schedule");
    return sketches;
  }

 private:
  // Where what a tiled block reads may be made. A choice of the sketch: what comes after a sampled place could not be
  // annotated, since a trace does the same whatever was sampled.
  static std::vector<std::pair<Inputs, const char*>> PlacesOf(const State& state) {
    const bool has_producers = std::any_of(state.tiled.begin(), state.tiled.end(),
                                           [](const TiledStage& stage) { return !stage.producers.empty(); });
    if (!has_producers) return {{Inputs::kBeforehand, ""}};
    return {
        {Inputs::kBeforehand, ""}, {Inputs::kAtOuter, ", inputs in each tile"}, {Inputs::kInlined, ", inputs inlined"}};
  }
};

}  // namespace

std::unique_ptr<SpaceGenerator> MakeSketchRules() { return std::make_unique<SketchRules>(); }

}  // namespace lathe
