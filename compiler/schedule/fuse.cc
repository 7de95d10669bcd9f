#include "compiler/schedule/fuse.h"

#include <fmt/core.h>

#include "compiler/arith/guarded_region.h"
#include "compiler/arith/linear.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Status CheckFusable(const Schedule& schedule, const std::vector<int>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const For& loop = schedule.LoopOf(rows[i]);
    if (loop.kind == ForKind::kThreadBinding)
      return schedule.Error("fuse", rows[i], "the loop is bound to threads; fuse first, then bind it");
    if (!loop.annotations.empty())
      return schedule.Error(
          "fuse", rows[i],
          fmt::format("the loop carries annotation \"{}\"; unannotate it first", loop.annotations.begin()->first));
    if (!IsConstInt(loop.min, 0)) return schedule.Error("fuse", rows[i], "the loop does not start at 0");
    if (i == 0) continue;
    const For& outer = schedule.LoopOf(rows[i - 1]);
    if (schedule.ParentOf(rows[i]) != rows[i - 1] || !outer.body.same_as(schedule.StmtOf(rows[i]))) {
      return schedule.Error("fuse", rows[i],
                            fmt::format("it is not the only child of loop \"{}\"", outer.loop_var.name()));
    }
    for (size_t k = 0; k < i; ++k) {
      const ExprNode* outer_var = schedule.LoopOf(rows[k]).loop_var.get();
      if (UsesVar(loop.extent, outer_var)) {
        return schedule.Error(
            "fuse", rows[i],
            fmt::format("its extent depends on loop \"{}\"", schedule.LoopOf(rows[k]).loop_var.name()));
      }
    }
  }
  return OkStatus();
}

// Whether the extent of loop `row` may be negative: no iterations. `outermost` is the first of those that are fused;
// inside of it one would know that it runs.
bool MayBeNegative(const Schedule& schedule, int row, int outermost) {
  const Expr& extent = schedule.LoopOf(row).extent;
  if (AsIntConst(extent) != nullptr) return false;
  Analyzer analyzer;
  AssumeShapes(schedule.FuncOf(row), analyzer);
  BindOuterLoops(schedule, outermost, false, analyzer);
  return !analyzer.CanProveGreaterEqual(extent, 0);
}

// The widest of the loops' types.
DataType FusedType(const Schedule& schedule, const std::vector<int>& rows) {
  int bits = 0;
  for (int row : rows) bits = std::max<int>(bits, schedule.LoopOf(row).loop_var.dtype().bits);
  return DataType::Int(bits);
}

// The product of the extents in `type`, which has to hold it. Of two that are negative it would be positive: one is cut
// at 0.
StatusOr<Expr> FusedExtent(const Schedule& schedule, const std::vector<int>& rows, DataType type) {
  Expr extent = IntConst(type, 1);
  __int128 known = 1;
  bool may_be_negative = false;
  for (int row : rows) {
    const For& loop = schedule.LoopOf(row);
    if (const int64_t* count = AsIntConst(loop.extent)) {
      known *= *count;
      if (known > TypeBound(type).max)
        return schedule.Error("fuse", row,
                              fmt::format("the fused loop would have more than {} iterations, which {} does not hold; "
                                          "fuse fewer loops",
                                          TypeBound(type).max, type.ToString()));
    }
    const bool is_cut = MayBeNegative(schedule, row, rows[0]) && std::exchange(may_be_negative, true);
    const Expr length = CastIndex(type, loop.extent);
    extent = extent * (is_cut ? Max(length, IntConst(type, 0)) : length);
  }
  return extent;
}

// What the loops' variables are in iteration `fused` of all, in TVM's form.
VarMap PartsOf(const Schedule& schedule, const std::vector<int>& rows, const Var& fused) {
  const DataType type = fused.dtype();
  VarMap parts;
  Expr inner = IntConst(type, 1);  // The iterations of the loops inside.
  for (size_t i = rows.size(); i-- > 0;) {
    const For& loop = schedule.LoopOf(rows[i]);
    const Expr extent = CastIndex(type, loop.extent), here = extent * inner;
    const Expr part = IsConstInt(loop.extent, 1) ? IntConst(type, 0)
                      : i == 0                   ? FloorDiv(fused, inner)
                                                 : FloorDiv(FloorMod(fused, here), inner);
    parts.emplace(loop.loop_var.get(), CastIndex(loop.loop_var.dtype(), part));
    inner = here;
  }
  return parts;
}

}  // namespace

StatusOr<LoopRV> Fuse(Schedule& schedule, std::span<const LoopRV> loop_rvs, bool preserve_unit_iters) {
  if (loop_rvs.empty())
    return Status(StatusCode::kOutOfRange, schedule.Error("fuse", -1, "at least one loop is needed").message());
  std::vector<int> rows;
  for (LoopRV loop : loop_rvs) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop));
    rows.push_back(row);
  }
  RETURN_IF_ERROR(CheckFusable(schedule, rows));

  const DataType type = FusedType(schedule, rows);
  ASSIGN_OR_RETURN(Expr extent, FusedExtent(schedule, rows, type));
  std::string name;
  for (int row : rows) name += schedule.LoopOf(row).loop_var.name() + "_";
  const Var fused(name + "fused", type);
  if (AsIntConst(extent) == nullptr) {
    Analyzer analyzer;
    BindOuterLoops(schedule, rows[0], false, analyzer);
    extent = analyzer.Simplify(extent);
  }
  const VarMap vars = PartsOf(schedule, rows, fused);
  Rebinding how{LoopsBetween(schedule, schedule.ScopeOf(rows[0]), rows[0]), preserve_unit_iters, std::nullopt,
                schedule.AnyUsesLoopsDirectly()};
  how.loops.emplace_back(fused, Range{IntConst(type, 0), extent});
  Stmt body =
      RebindLoops(schedule.LoopOf(rows.back()).body, vars, schedule.BlockOf(schedule.ScopeOf(rows[0])), std::move(how));
  schedule.Replace(rows[0], MakeFor(fused, extent, std::move(body)));

  const LoopRV result = schedule.NewLoopRV(fused);
  schedule.Record("Fuse", std::vector<TraceInput>(loop_rvs.begin(), loop_rvs.end()), {int64_t{preserve_unit_iters}},
                  {result.id});
  return result;
}

}  // namespace lathe
