#include "tuner/space/row_reduction.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/rfactor.h"
#include "compiler/schedule/sampling.h"
#include "compiler/schedule/set_scope.h"
#include "compiler/schedule/split.h"
#include "support/status_macros.h"
#include "tuner/space/anchor.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/elementwise.h"

namespace lathe {
namespace {

constexpr int64_t kMostAccumulators = 8;
constexpr int64_t kUsualAccumulators = 4;
constexpr int64_t kMostRowsAtOnce = 8;

using Factors = std::vector<std::optional<ExprRV>>;

// How the row of a reduction is cut.
struct RowCut {
  int64_t lanes = 0;
  // Numbers of vectors, more than one, with more than one step, that leave no more over than one vector does; may be
  // empty.
  std::vector<int64_t> accumulators;
};

// The lanes of a vector of the row, which has several. The last one leaves some out where that costs a mask register;
// elsewhere all are whole. 0: there are none.
int64_t LanesOfRow(int64_t extent, int element_bits, const Target& target) {
  const RegisterFile& registers = target.register_file();
  int64_t lanes = registers.lanes(element_bits);
  if (registers.num_mask_registers > 0 && extent > lanes) return lanes;
  while (lanes >= 4 && (extent % lanes != 0 || extent <= lanes)) lanes /= 2;
  return lanes >= 4 ? lanes : 0;
}

// Nullopt: the block reduces something else than neighbours, or a row that has no vectors.
std::optional<RowCut> RowCutOf(const BlockNode& block, const Target& target) {
  std::optional<size_t> reduced;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::kSpatial) continue;
    if (reduced) return std::nullopt;
    reduced = i;
  }
  if (!block.init || !reduced || block.writes.size() != 1) return std::nullopt;
  const int64_t extent = ExtentOf(block.iter_vars[*reduced]);
  RowCut cut{LanesOfRow(extent, block.writes[0].buffer->dtype.bits, target), {}};
  if (cut.lanes == 0) return std::nullopt;
  bool moves = false;
  for (const BufferRegion& read : block.reads) {
    const Stride stride = StrideOf(block, read, *reduced, cut.lanes);
    if (stride == Stride::kOther || stride == Stride::kShort) return std::nullopt;
    moves = moves || stride == Stride::kOne;
  }
  if (!moves) return std::nullopt;
  const int64_t vectors = (extent + cut.lanes - 1) / cut.lanes;
  for (int64_t n = 2; n <= kMostAccumulators && n < vectors; ++n)
    if (vectors % n == 0 || extent % cut.lanes != 0) cut.accumulators.push_back(n);
  return cut;
}

StatusOr<std::optional<ExprRV>> ChooseAccumulators(Schedule& schedule, const RowCut& cut, Accumulators how) {
  if (cut.accumulators.empty()) return std::optional<ExprRV>();
  if (how == Accumulators::kFixed) {
    const auto is_nearer = [](int64_t a, int64_t b) {
      return std::abs(a - kUsualAccumulators) < std::abs(b - kUsualAccumulators);
    };
    return std::optional<ExprRV>(
        ExprRV(*std::min_element(cut.accumulators.begin(), cut.accumulators.end(), is_nearer)));
  }
  const std::vector<double> evenly(cut.accumulators.size(), 1.0 / static_cast<double>(cut.accumulators.size()));
  ASSIGN_OR_RETURN(const VarRV number, SampleCategorical(schedule, cut.accumulators, evenly));
  return std::optional<ExprRV>(ExprRV(number));
}

// The two innermost loops of a block: what its rfactor made spatial, and what it still reduces.
StatusOr<std::pair<LoopRV, LoopRV>> InnermostTwo(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  if (loops.size() < 3) return FailedPrecondition("schedule rows: a reduction lost its loops");
  return std::pair(loops[loops.size() - 2], loops.back());
}

// partial[row, accumulator and lane] over the row; then folds[row, lane] over the accumulators, where there are any,
// and over the halves of half as many lanes each.
struct Partials {
  BlockRV partial;
  std::vector<BlockRV> folds;
};

// Of `parts` parts of so many lanes each, which the block's innermost loop goes through, their sum by lanes.
StatusOr<BlockRV> Fold(Schedule& schedule, BlockRV block, std::optional<ExprRV> parts, int64_t lanes, int rank) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  const Factors factors{std::move(parts), ExprRV(lanes)};
  ASSIGN_OR_RETURN(const std::vector<LoopRV> halves, Split(schedule, loops.back(), factors));
  ASSIGN_OR_RETURN(const BlockRV fold, RFactor(schedule, halves[1], rank));
  RETURN_IF_ERROR(SetScope(schedule, fold, 0, "local"));
  return fold;
}

StatusOr<Partials> Factor(Schedule& schedule, BlockRV block, const RowCut& cut, const std::optional<ExprRV>& count,
                          RowsAtOnce rows_at_once) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const int rank = static_cast<int>(schedule.BlockOf(row).writes[0].region.size());
  const bool is_light = IsLight(schedule.BlockOf(row));
  ASSIGN_OR_RETURN(std::vector<LoopRV> loops, GetLoops(schedule, block));
  Factors factors{std::nullopt, ExprRV(cut.lanes)};
  if (count) factors.insert(factors.begin() + 1, *count);
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, loops.back(), factors));
  LoopRV kept = parts[1];
  if (count) {
    ASSIGN_OR_RETURN(kept, Fuse(schedule, std::span(parts).subspan(1)));
  }
  Partials partials;
  ASSIGN_OR_RETURN(partials.partial, RFactor(schedule, kept, rank));
  // Single lanes are read from it only where nothing is between; of several rows there may be too many.
  const bool is_register = count && is_light && rows_at_once == RowsAtOnce::kOne;
  RETURN_IF_ERROR(SetScope(schedule, partials.partial, 0, is_register ? "register" : "local"));
  for (int64_t lanes = count ? cut.lanes : cut.lanes / 2; lanes > 1; lanes /= 2) {
    const bool is_first = lanes == cut.lanes;
    ASSIGN_OR_RETURN(const BlockRV fold, Fold(schedule, block, is_first ? *count : ExprRV(int64_t{2}), lanes, rank));
    partials.folds.push_back(fold);
  }
  return partials;
}

// By lanes, `count` vectors (or one) at a time; the loop that is left reduces.
Status ReduceByLanes(Schedule& schedule, BlockRV block, const RowCut& cut, const std::optional<ExprRV>& count) {
  ASSIGN_OR_RETURN(const auto innermost, InnermostTwo(schedule, block));
  const auto [kept, steps] = innermost;
  std::vector<LoopRV> order{steps, kept};
  if (count) {
    const Factors factors{*count, ExprRV(cut.lanes)};
    ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, kept, factors));
    order = {steps, parts[0], parts[1]};
  }
  RETURN_IF_ERROR(Reorder(schedule, order));
  RETURN_IF_ERROR(Vectorize(schedule, order.back()));
  if (count) RETURN_IF_ERROR(Unroll(schedule, order[1]));
  return DecomposeReduction(schedule, block, steps).status();
}

// Vector by vector.
Status SumParts(Schedule& schedule, BlockRV fold) {
  ASSIGN_OR_RETURN(const auto innermost, InnermostTwo(schedule, fold));
  const auto [lanes, vectors] = innermost;
  RETURN_IF_ERROR(Reorder(schedule, std::vector{vectors, lanes}));
  RETURN_IF_ERROR(Vectorize(schedule, lanes));
  RETURN_IF_ERROR(Unroll(schedule, vectors));
  return DecomposeReduction(schedule, fold, vectors).status();
}

}  // namespace

namespace {

// The block's loops in `at`.
StatusOr<std::vector<LoopRV>> LoopsIn(Schedule& schedule, BlockRV block, LoopRV at) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  ASSIGN_OR_RETURN(const int at_row, schedule.RowOf(at));
  const std::vector<int> rows = schedule.LoopsOf(row);
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  return std::vector<LoopRV>(loops.begin() + (std::find(rows.begin(), rows.end(), at_row) - rows.begin() + 1),
                             loops.end());
}

// Whether the loop goes through the rows of an iteration of `at`.
StatusOr<bool> IsOfRows(const Schedule& schedule, BlockRV block, LoopRV loop, LoopRV at) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  ASSIGN_OR_RETURN(const int loop_row, schedule.RowOf(loop));
  ASSIGN_OR_RETURN(const int at_row, schedule.RowOf(at));
  const std::vector<Expr>& values = schedule.RealizeOf(row).iter_values;
  return std::any_of(values.begin(), values.end(), [&](const Expr& value) {
    return UsesVar(value, schedule.LoopOf(loop_row).loop_var.get()) &&
           UsesVar(value, schedule.LoopOf(at_row).loop_var.get());
  });
}

// To `at`, several rows around everything else.
Status MoveAt(Schedule& schedule, BlockRV block, LoopRV at, RowsAtOnce rows_at_once) {
  RETURN_IF_ERROR(ComputeAt(schedule, block, at));
  if (rows_at_once == RowsAtOnce::kOne) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, LoopsIn(schedule, block, at));
  std::vector<LoopRV> rows, others;
  for (const LoopRV loop : loops) {
    ASSIGN_OR_RETURN(const bool is_of_rows, IsOfRows(schedule, block, loop, at));
    (is_of_rows ? rows : others).push_back(loop);
  }
  if (rows.size() != 1) return FailedPrecondition("schedule rows: several rows are no loop of their own");
  if (others.empty()) return OkStatus();
  rows.insert(rows.end(), others.begin(), others.end());
  return Reorder(schedule, rows);
}

// The loop of several rows is written out, so that what there is one of for each row is in a register.
Status UnrollRows(Schedule& schedule, BlockRV block, LoopRV at, RowsAtOnce rows_at_once) {
  if (rows_at_once == RowsAtOnce::kOne) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, LoopsIn(schedule, block, at));
  return Unroll(schedule, loops.front());
}

}  // namespace

bool ReducesRows(const BlockNode& block, const Target& target) { return RowCutOf(block, target).has_value(); }

StatusOr<LoopRV> ReduceRow(Schedule& schedule, BlockRV block, const Target& target, std::optional<LoopRV> at,
                           Accumulators how, RowsAtOnce rows_at_once) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const std::optional<RowCut> cut = RowCutOf(schedule.BlockOf(row), target);
  if (!cut) return schedule.Error("schedule rows", row, "it is no reduction of neighbours by whole vectors");
  ASSIGN_OR_RETURN(const std::optional<ExprRV> count, ChooseAccumulators(schedule, *cut, how));
  ASSIGN_OR_RETURN(const Partials partials, Factor(schedule, block, *cut, count, rows_at_once));
  if (at) {
    RETURN_IF_ERROR(SetScope(schedule, block, 0, "local"));
    RETURN_IF_ERROR(MoveAt(schedule, block, *at, rows_at_once));
  } else {
    ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
    if (loops.size() < 2) return schedule.Error("schedule rows", row, "it has one row only");
    at = loops[loops.size() - 2];
  }
  for (size_t i = partials.folds.size(); i-- > 0;) {
    RETURN_IF_ERROR(MoveAt(schedule, partials.folds[i], *at, rows_at_once));
    RETURN_IF_ERROR(SumParts(schedule, partials.folds[i]));
    RETURN_IF_ERROR(UnrollRows(schedule, partials.folds[i], *at, rows_at_once));
  }
  RETURN_IF_ERROR(MoveAt(schedule, partials.partial, *at, rows_at_once));
  RETURN_IF_ERROR(ReduceByLanes(schedule, partials.partial, *cut, count));
  RETURN_IF_ERROR(UnrollRows(schedule, partials.partial, *at, rows_at_once));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  RETURN_IF_ERROR(Unroll(schedule, loops.back()));
  RETURN_IF_ERROR(UnrollRows(schedule, block, *at, rows_at_once));
  return *at;
}

namespace {

// Of a loop of so many rows at once.
StatusOr<LoopRV> SplitRows(Schedule& schedule, LoopRV rows) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(rows));
  const int64_t* extent = AsIntConst(schedule.LoopOf(row).extent);
  ASSIGN_OR_RETURN(const VarRV number, SampleRowsAtOnce(schedule, extent == nullptr ? 1 : *extent));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts, Split(schedule, rows, Factors{std::nullopt, ExprRV(number)}));
  return parts[0];
}

// The rows of a block that fills them element by element: in each iteration of the loop one, or several.
StatusOr<LoopRV> LoopOfRows(Schedule& schedule, BlockRV block, RowsAtOnce rows_at_once) {
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  if (loops.size() < 2) return FailedPrecondition("schedule rows: it has one row only");
  const LoopRV rows = loops[loops.size() - 2];
  return rows_at_once == RowsAtOnce::kSeveral ? SplitRows(schedule, rows) : rows;
}

// How one nest of rows is made.
struct RowPlan {
  const Target& target;
  Accumulators accumulators;
  RowsAtOnce rows_at_once;
};

// A row that no vector fills as its reductions do: the last vector leaves lanes out.
Status VectorizeRow(Schedule& schedule, BlockRV block, const Target& target) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, GetLoops(schedule, block));
  const int64_t* extent = AsIntConst(schedule.LoopOf(schedule.LoopsOf(row).back()).extent);
  const int bits = schedule.BlockOf(row).writes[0].buffer->dtype.bits;
  const int64_t lanes = extent == nullptr ? 0 : LanesOfRow(*extent, bits, target);
  if (lanes == 0 || *extent % lanes == 0) return VectorizeInnermost(schedule, block, target);
  ASSIGN_OR_RETURN(const std::vector<LoopRV> parts,
                   Split(schedule, loops.back(), Factors{std::nullopt, ExprRV(lanes)}));
  return Vectorize(schedule, parts[1]);
}

Status MoveToRow(Schedule& schedule, BlockRV block, LoopRV at, const RowPlan& plan) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  if (!IsSpatial(schedule.BlockOf(row)))
    return ReduceRow(schedule, block, plan.target, at, plan.accumulators, plan.rows_at_once).status();
  RETURN_IF_ERROR(MoveAt(schedule, block, at, plan.rows_at_once));
  ASSIGN_OR_RETURN(const std::vector<LoopRV> loops, LoopsIn(schedule, block, at));
  const bool is_one_value = loops.size() == (plan.rows_at_once == RowsAtOnce::kOne ? 0 : 1);
  return is_one_value ? UnrollRows(schedule, block, at, plan.rows_at_once) : VectorizeRow(schedule, block, plan.target);
}

}  // namespace

StatusOr<VarRV> SampleRowsAtOnce(Schedule& schedule, int64_t rows) {
  std::vector<int64_t> numbers;
  for (int64_t n = 2; n <= kMostRowsAtOnce; n *= 2)
    if (rows % n == 0) numbers.push_back(n);
  if (numbers.empty())
    return FailedPrecondition(fmt::format("schedule rows: {} rows; 2 at once do not divide them", rows));
  const std::vector<double> evenly(numbers.size(), 1.0 / static_cast<double>(numbers.size()));
  return SampleCategorical(schedule, numbers, evenly);
}

Status SampleHowMuchIsWrittenOut(Schedule& schedule, LoopRV around) {
  static const std::vector<int64_t> kMostStores{0, 16, 64};  // Of a loop that is written out.
  const std::vector<double> evenly(kMostStores.size(), 1.0 / static_cast<double>(kMostStores.size()));
  ASSIGN_OR_RETURN(const VarRV most, SampleCategorical(schedule, kMostStores, evenly));
  return Annotate(schedule, around, "pragma_auto_unroll_max_step", most);
}

Status MoveToRows(Schedule& schedule, const std::vector<BlockRV>& blocks, LoopRV at, const Target& target,
                  Accumulators accumulators, RowsAtOnce rows_at_once) {
  const RowPlan plan{target, accumulators, rows_at_once};
  for (size_t i = blocks.size() - 1; i-- > 0;) RETURN_IF_ERROR(MoveToRow(schedule, blocks[i], at, plan));
  ASSIGN_OR_RETURN(const int last, schedule.RowOf(blocks.back()));
  return IsSpatial(schedule.BlockOf(last)) ? VectorizeRow(schedule, blocks.back(), target) : OkStatus();
}

Status ScheduleRows(Schedule& schedule, const Target& target, Accumulators accumulators, RowsAtOnce rows_at_once) {
  std::vector<BlockRV> blocks;
  bool has_rows = false;
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
    has_rows = has_rows || RowCutOf(schedule.BlockOf(row), target);
    ASSIGN_OR_RETURN(const BlockRV block, GetBlock(schedule, schedule.BlockOf(row).name, schedule.func().name));
    blocks.push_back(block);
  }
  if (!has_rows) return schedule.Error("schedule rows", schedule.RootRow(), "no block reduces neighbours");
  const BlockRV last = blocks.back();
  ASSIGN_OR_RETURN(const int last_row, schedule.RowOf(last));
  const bool fills_rows = IsSpatial(schedule.BlockOf(last_row));
  if (!fills_rows && rows_at_once == RowsAtOnce::kSeveral)
    return schedule.Error("schedule rows", last_row, "it reduces; one row at once");
  ASSIGN_OR_RETURN(const LoopRV at, fills_rows ? LoopOfRows(schedule, last, rows_at_once)
                                               : ReduceRow(schedule, last, target, std::nullopt, accumulators));
  ASSIGN_OR_RETURN(std::vector<LoopRV> rows, GetLoops(schedule, last));
  rows.resize(rows.size() - (rows_at_once == RowsAtOnce::kSeveral ? 2 : 1));
  RETURN_IF_ERROR(MoveToRows(schedule, blocks, at, target, accumulators, rows_at_once));
  ASSIGN_OR_RETURN(const LoopRV outer, Fuse(schedule, rows));
  RETURN_IF_ERROR(Parallel(schedule, outer));
  return accumulators == Accumulators::kSampled ? SampleHowMuchIsWrittenOut(schedule, outer) : OkStatus();
}

std::optional<Schedule> TryRows(const Schedule& schedule, const Target& target, Accumulators accumulators,
                                RowsAtOnce rows_at_once) {
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
    const bool is_named = schedule.FindBlock(schedule.BlockOf(row).name) == row;
    if (!is_named || !IsPlain(schedule, row) || IsAnchor(schedule, row, target)) return std::nullopt;
  }
  Schedule attempt = schedule;
  const Status status = ScheduleRows(attempt, target, accumulators, rows_at_once);
  return status.ok() ? std::optional(std::move(attempt)) : std::nullopt;
}

std::vector<Schedule> RowSchedules(const Schedule& inlined, const Target& target) {
  std::vector<Schedule> schedules;
  for (const RowsAtOnce rows_at_once : {RowsAtOnce::kOne, RowsAtOnce::kSeveral})
    if (auto rows = TryRows(inlined, target, Accumulators::kSampled, rows_at_once))
      schedules.push_back(*std::move(rows));
  return schedules;
}

}  // namespace lathe
