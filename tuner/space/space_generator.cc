#include "tuner/space/space_generator.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "support/status_macros.h"
#include "tuner/space/auto_inline.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/elementwise.h"
#include "tuner/space/multi_level_tiling.h"
#include "tuner/space/register_pressure.h"
#include "tuner/space/row_reduction.h"

namespace lathe {
namespace {

constexpr int64_t kMaxUnrolledStores =
    600;  // Statements that unrolling may write out; beyond, register allocation spills.

// A root-scope block that is still as AutoInline left it.
std::vector<std::string> BlocksToSchedule(const Schedule& schedule) {
  std::vector<std::string> names;
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) names.push_back(schedule.BlockOf(row).name);
  return names;
}

bool IsPlain(const Schedule& schedule, int row) {
  const BlockNode& block = schedule.BlockOf(row);
  return WhyNotSchedulable(schedule, row).empty() && IsTriviallyBound(schedule, row) && block.writes.size() == 1 &&
         schedule.ChildBlocksOf(row).empty() && !schedule.LoopsOf(row).empty();
}

// What to lay out anew where the iter has lanes; nullopt: nothing.
std::optional<std::vector<PackedRead>> LayoutsFor(const Schedule& schedule, int row, size_t iter, int64_t lanes,
                                                  const Target& target) {
  const int64_t many_bytes = target.cache_sizes().l2_bytes / 2;  // Rows of it lie on many pages.
  const BlockNode& block = schedule.BlockOf(row);
  auto packed = ReadsToPack(block, iter, lanes, many_bytes);
  const std::vector<int> producers = ProducersOf(schedule, row);
  const auto is_made_so = [&](const PackedRead& read) {
    const Buffer& buffer = block.reads[read.read].buffer;
    return read.apart == 1 && read.lane_dim + 1 == buffer->shape.size() &&
           std::any_of(producers.begin(), producers.end(),
                       [&](int producer) { return schedule.BlockOf(producer).writes[0].buffer.same_as(buffer); });
  };
  if (packed) std::erase_if(*packed, is_made_so);
  return packed && !packed->empty() ? packed : std::nullopt;
}

// Iters with neighbouring writes that can have lanes by another layout, as the columns of a product with the
// transposed.
std::vector<size_t> PackableIters(const Schedule& schedule, int row, const Target& target) {
  const BlockNode& block = schedule.BlockOf(row);
  const Vectors vectors = VectorsFor(block, target);
  const std::vector<size_t> without = VectorizableIters(block, vectors);
  std::vector<size_t> iters;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const bool is_known = std::find(without.begin(), without.end(), i) != without.end();
    const int64_t lanes = ChooseLanes(ExtentOf(block.iter_vars[i]), vectors);
    if (block.iter_vars[i].kind != IterKind::kSpatial || is_known || lanes == 1) continue;
    if (StrideOf(block, block.writes[0], i, lanes) == Stride::kOne && LayoutsFor(schedule, row, i, lanes, target))
      iters.push_back(i);
  }
  return iters;
}

bool IsReused(const Schedule& schedule, int row) {
  const BlockNode& block = schedule.BlockOf(row);
  return schedule.FindBlock(block.name) == row && block.init && IsPlain(schedule, row) && HasDataReuse(block);
}

// As it is, or by an instruction that what it reads is laid out for.
bool HasLanes(const BlockNode& block, const Target& target) {
  return !VectorizableIters(block, VectorsFor(block, target)).empty() || !DotTilingsOf(block, target).empty();
}

bool IsAnchor(const Schedule& schedule, int row, const Target& target) {
  return IsReused(schedule, row) && HasLanes(schedule.BlockOf(row), target);
}

// By another layout, if not as it is.
bool CanBeAnchor(const Schedule& schedule, int row, const Target& target) {
  return IsReused(schedule, row) &&
         (HasLanes(schedule.BlockOf(row), target) || !PackableIters(schedule, row, target).empty());
}

// By rows, where no block is better tiled; nullopt: it is no function of rows.
std::optional<Schedule> TryRows(const Schedule& schedule, const Target& target, Accumulators accumulators) {
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
    const bool is_named = schedule.FindBlock(schedule.BlockOf(row).name) == row;
    if (!is_named || !IsPlain(schedule, row) || IsAnchor(schedule, row, target)) return std::nullopt;
  }
  Schedule attempt = schedule;
  return ScheduleRows(attempt, target, accumulators).ok() ? std::optional(std::move(attempt)) : std::nullopt;
}

// Schedules every block that still has a nest of its own and no parallel or vectorized loop.
Status ScheduleTheRest(Schedule& schedule, const Target& target) {
  for (const std::string& name : BlocksToSchedule(schedule)) {
    const int row = schedule.FindBlock(name);
    if (row < 0 || !IsPlain(schedule, row)) continue;
    const std::vector<int> loops = schedule.LoopsOf(row);
    if (schedule.ParentOf(loops.front()) != schedule.RootRow() || schedule.ChildBlocksOf(loops.front()).size() != 1)
      continue;
    const bool touched = std::any_of(loops.begin(), loops.end(),
                                     [&](int loop) { return schedule.LoopOf(loop).kind != ForKind::kSerial; });
    if (touched) continue;
    Schedule attempt = schedule;
    const Status status = schedule.BlockOf(row).init ? ScheduleReduction(attempt, name, target)
                                                     : ScheduleElementwise(attempt, name, target);
    if (status.ok()) schedule = std::move(attempt);
  }
  return OkStatus();
}

class PostOrderApply : public SpaceGenerator {
 public:
  StatusOr<std::vector<Sketch>> Generate(const PrimFunc& workload, const Target& target) const override {
    ASSIGN_OR_RETURN(Schedule base, Schedule::Create(workload));
    RETURN_IF_ERROR(AutoInline(base));
    std::vector<Sketch> sketches;
    const std::optional<std::string> anchor = FindAnchor(base, target);
    if (anchor) {
      for (const TilingOptions& options : TilingsOf(base, *anchor, target)) {
        Schedule attempt = base;
        if (!TileReduction(attempt, *anchor, target, options).ok()) continue;
        RETURN_IF_ERROR(ScheduleTheRest(attempt, target));
        AddSketch(attempt, sketches);
      }
    }
    if (const auto rows = TryRows(base, target, Accumulators::kSampled)) AddSketch(*rows, sketches);
    if (sketches.empty()) {
      ASSIGN_OR_RETURN(const Schedule fallback, DefaultSchedule(workload, target));
      AddSketch(fallback, sketches);
    }
    return sketches;
  }

 private:
  // The block with the most iterations among those that tiling helps.
  static std::optional<std::string> FindAnchor(const Schedule& schedule, const Target& target) {
    std::optional<std::string> anchor;
    int64_t most = 0;
    for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
      if (!CanBeAnchor(schedule, row, target)) continue;
      int64_t iterations = 1;
      for (const IterVar& iter : schedule.BlockOf(row).iter_vars) iterations *= ExtentOf(iter);
      if (iterations > most) {
        most = iterations;
        anchor = schedule.BlockOf(row).name;
      }
    }
    return anchor;
  }
  // Whole vectors; and as long as a register is, the last one with lanes left out, where no whole one is as long (28
  // elements: 4 lanes divide them, two vectors of 16 hold them).
  static std::vector<int64_t> LanesOfTile(int64_t extent, const Vectors& vectors) {
    const int64_t lanes = ChooseLanes(extent, vectors);
    if (lanes >= vectors.lanes || extent <= vectors.masked_lanes) return {lanes};
    return {lanes, vectors.lanes};
  }
  // Which lanes are left out is not always known when code is generated; those that are apart would be gathered then.
  static bool IsGathered(const BlockNode& block, size_t iter, int64_t lanes) {
    return ExtentOf(block.iter_vars[iter]) % lanes != 0 &&
           std::any_of(block.reads.begin(), block.reads.end(),
                       [&](const BufferRegion& read) { return StrideOf(block, read, iter, lanes) == Stride::kShort; });
  }
  // Whether tiles beside each other read some of the same elements, as windows do: a dimension moves by several iters.
  static bool ShareReads(const BlockNode& block, const std::vector<PackedRead>& packed) {
    const auto is_window = [&](const Range& range) {
      return std::count_if(block.iter_vars.begin(), block.iter_vars.end(),
                           [&](const IterVar& iter) { return UsesVar(range.min, iter.var.get()); }) > 1;
    };
    return std::any_of(packed.begin(), packed.end(), [&](const PackedRead& each) {
      const std::vector<Range>& region = block.reads[each.read].region;
      return std::any_of(region.begin(), region.end(), is_window);
    });
  }
  static std::vector<TilingOptions> TilingsOf(const Schedule& schedule, const std::string& anchor,
                                              const Target& target) {
    const int row = schedule.FindBlock(anchor);
    const BlockNode& block = schedule.BlockOf(row);
    const Vectors vectors = VectorsFor(block, target);
    std::vector<TilingOptions> tilings;
    for (const DotTiling& dot : DotTilingsOf(block, target))
      tilings.push_back({dot.lane_iter, dot.intrin.lanes, Inputs::kBeforehand, {}, /*copies_at_outer=*/false, dot});
    for (size_t iter : VectorizableIters(block, vectors)) {
      for (const int64_t lanes : LanesOfTile(ExtentOf(block.iter_vars[iter]), vectors)) {
        const auto packed = LayoutsFor(schedule, row, iter, lanes, target);
        if (packed) tilings.push_back({iter, lanes, Inputs::kBeforehand, *packed, !ShareReads(block, *packed)});
        if (packed && IsGathered(block, iter, lanes)) continue;
        tilings.push_back({iter, lanes});
        if (ProducersOf(schedule, row).empty()) continue;
        for (const Inputs inputs : {Inputs::kAtOuter, Inputs::kInlined}) tilings.push_back({iter, lanes, inputs});
      }
    }
    for (size_t iter : PackableIters(schedule, row, target)) {
      const int64_t lanes = ChooseLanes(ExtentOf(block.iter_vars[iter]), vectors);
      const auto packed = LayoutsFor(schedule, row, iter, lanes, target);
      tilings.push_back({iter, lanes, Inputs::kBeforehand, *packed, !ShareReads(block, *packed)});
    }
    return tilings;
  }
  static void AddSketch(const Schedule& schedule, std::vector<Sketch>& sketches) {
    Sketch sketch{schedule.trace().Simplified(/*remove_postproc=*/true)};
    sketch.trace.ClearDecisions();
    sketches.push_back(std::move(sketch));
  }
};

}  // namespace

std::unique_ptr<SpaceGenerator> MakePostOrderApply() { return std::make_unique<PostOrderApply>(); }

StatusOr<Schedule> DefaultSchedule(const PrimFunc& workload, const Target& target) {
  ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(workload));
  RETURN_IF_ERROR(AutoInline(schedule));
  if (auto rows = TryRows(schedule, target, Accumulators::kFixed)) return *std::move(rows);
  // Reductions first: they take their element-wise consumers with them.
  for (const std::string& name : BlocksToSchedule(schedule)) {
    const int row = schedule.FindBlock(name);
    if (row < 0 || !schedule.BlockOf(row).init || !IsPlain(schedule, row)) continue;
    Schedule attempt = schedule;
    if (ScheduleReduction(attempt, name, target).ok()) schedule = std::move(attempt);
  }
  RETURN_IF_ERROR(ScheduleTheRest(schedule, target));
  return schedule;
}

Status CheckConstraints(const Schedule& candidate, const Target& target) {
  const int64_t registers = RegistersNeeded(candidate.func(), target);
  const int64_t available = target.register_file().num_vector_registers;
  if (registers > available) {
    return candidate.Error(
        "check constraints", -1,
        fmt::format("the register tile needs {} vector registers, the target has {}", registers, available));
  }
  int64_t stores = 0;
  const std::function<void(const Stmt&, int64_t)> count = [&](const Stmt& stmt, int64_t copies) {
    if (const For* loop = stmt.As<For>()) {
      const int64_t* extent = AsIntConst(loop->extent);
      return count(loop->body, loop->kind == ForKind::kUnrolled && extent != nullptr ? copies * *extent : copies);
    }
    if (const BlockRealize* realize = stmt.As<BlockRealize>()) return count(realize->block->body, copies);
    if (const Seq* seq = stmt.As<Seq>())
      for (const Stmt& child : seq->stmts) count(child, copies);
    if (stmt.As<BufferStore>() != nullptr) stores += copies;
  };
  count(candidate.func().body, 1);
  if (stores > kMaxUnrolledStores) {
    return candidate.Error(
        "check constraints", -1,
        fmt::format("unrolling writes out {} stores, at most {} are allowed", stores, kMaxUnrolledStores));
  }
  return OkStatus();
}

}  // namespace lathe
