#include "compiler/schedule/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/linear.h"
#include "compiler/arith/scalable.h"
#include "compiler/arith/simplifier.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/block_scope.h"
#include "compiler/schedule/rewrite_tree.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Status CheckSplittable(const Schedule& schedule, int row) {
  const For& loop = schedule.LoopOf(row);
  if (loop.kind == ForKind::kThreadBinding)
    return schedule.Error("split", row, "the loop is bound to threads; split it first, then bind it");
  if (!loop.annotations.empty())
    return schedule.Error(
        "split", row,
        fmt::format("the loop carries annotation \"{}\"; unannotate it first", loop.annotations.begin()->first));
  if (!IsConstInt(loop.min, 0)) return schedule.Error("split", row, "the loop does not start at 0");
  if (AsIntConst(loop.extent) == nullptr && loop.extent.dtype() != loop.loop_var.dtype())
    return schedule.Error("split", row, "the extent has another type than the variable");
  return OkStatus();
}

// Whether nothing about the loops around is asked to know how long the new ones are.
bool AreNumbers(const For& loop, std::span<const std::optional<ExprRV>> factors) {
  return AsIntConst(loop.extent) != nullptr && std::none_of(factors.begin(), factors.end(), [](const auto& factor) {
           return factor && std::holds_alternative<Expr>(*factor);
         });
}

// The lengths of the new loops.
struct Tiling {
  std::vector<Expr> sizes;
  bool is_exact = false;  // Together they have as many iterations as the loop had.
};

// `size` times as many iterations as `product`, which the loop's type has to hold.
Status CheckProduct(const Schedule& schedule, int row, int64_t size, int64_t& product) {
  const int64_t most = TypeBound(schedule.LoopOf(row).loop_var.dtype()).max;
  if (size <= 0) return schedule.Error("split", row, fmt::format("factor {} is not positive", size));
  if (__builtin_mul_overflow(product, size, &product) || product > most)
    return schedule.Error("split", row, fmt::format("the factors cover more than {} iterations", most));
  return OkStatus();
}

// Simplified below a quotient, which stays one.
Expr SimplifiedSize(const Expr& e, const Analyzer& analyzer) {
  const Binary* op = e.As<Binary>();
  if (op == nullptr || op->op != BinaryOp::kFloorDiv) return analyzer.Simplify(e);
  return FloorDiv(analyzer.Simplify(op->a), analyzer.Simplify(op->b));
}

// Factors that are multiples of T.vscale(): their product covers the extent for every value that it has.
StatusOr<Tiling> MakeScalableTiling(const Schedule& schedule, int row, std::span<const std::optional<ExprRV>> factors,
                                    const Analyzer& analyzer) {
  const For& loop = schedule.LoopOf(row);
  const DataType type = loop.loop_var.dtype();
  Tiling tiling;
  std::optional<size_t> inferred;
  Expr product = IntConst(type, 1);
  for (const std::optional<ExprRV>& factor : factors) {
    Expr size = IntConst(type, 1);
    if (!factor && inferred) return schedule.Error("split", row, "at most one factor can be inferred");
    if (!factor) inferred = tiling.sizes.size();
    const Expr* e = factor ? std::get_if<Expr>(&*factor) : nullptr;
    if (factor && e == nullptr) {
      ASSIGN_OR_RETURN(const int64_t number, schedule.Get(*factor));
      size = IntConst(type, number);
    } else if (e != nullptr) {
      size = SimplifiedSize(e->dtype() == type ? *e : MakeCast(type, *e), analyzer);
    }
    if (!CanProveForEachVscale(analyzer, LessEqual(1, size)) && !analyzer.CanProve(LessEqual(1, size)))
      return schedule.Error("split", row, fmt::format("factor {} is not known to be positive", Print(size)));
    tiling.sizes.push_back(size);
    product = product * size;
  }
  if (inferred) {
    tiling.sizes[*inferred] = SimplifiedSize(FloorDiv(loop.extent + product - IntConst(type, 1), product), analyzer);
  } else if (!CanProveForEachVscale(analyzer, LessEqual(loop.extent, product))) {
    return schedule.Error("split", row,
                          fmt::format("the factors cover {}, which is not known to be no less than the "
                                      "extent; change a factor",
                                      Print(product)));
  }
  return tiling;
}

// The factors, the inferred one filled in.
StatusOr<Tiling> MakeTiling(const Schedule& schedule, int row, std::span<const std::optional<ExprRV>> factors,
                            const Analyzer& analyzer) {
  const For& loop = schedule.LoopOf(row);
  const DataType type = loop.loop_var.dtype();
  if (factors.empty()) return schedule.Error("split", row, "at least one factor is needed");
  const bool is_scalable = std::any_of(factors.begin(), factors.end(), [](const std::optional<ExprRV>& factor) {
    return factor && std::holds_alternative<Expr>(*factor);
  });
  if (is_scalable) return MakeScalableTiling(schedule, row, factors, analyzer);
  Tiling tiling;
  tiling.sizes.reserve(factors.size());
  int inferred = -1;
  int64_t product = 1;
  std::vector<int64_t> given;
  given.reserve(factors.size());
  for (const std::optional<ExprRV>& factor : factors) {
    if (!factor && inferred >= 0) return schedule.Error("split", row, "at most one factor can be inferred");
    if (!factor) inferred = static_cast<int>(tiling.sizes.size());
    int64_t size = 1;
    if (factor) {
      ASSIGN_OR_RETURN(size, schedule.Get(*factor));
      RETURN_IF_ERROR(CheckProduct(schedule, row, size, product));
      given.push_back(size);
    }
    tiling.sizes.push_back(IntConst(type, size));
  }
  const int64_t* extent = AsIntConst(loop.extent);
  if (inferred >= 0) {
    const Expr rounded = FloorDiv(loop.extent + IntConst(type, product - 1), IntConst(type, product));
    tiling.sizes[inferred] = extent != nullptr
                                 ? IntConst(type, std::max<int64_t>(1, *extent / product + (*extent % product != 0)))
                                 : Simplifier().Simplify(rounded);  // In TVM's form.
    if (extent != nullptr) RETURN_IF_ERROR(CheckProduct(schedule, row, *AsIntConst(tiling.sizes[inferred]), product));
  } else if (!analyzer.CanProve(LessEqual(loop.extent, IntConst(type, product)))) {
    return schedule.Error("split", row,
                          fmt::format("factors [{}] cover {}, extent is {}; change a factor", fmt::join(given, ", "),
                                      product, extent != nullptr ? std::to_string(*extent) : "not known to be less"));
  }
  tiling.is_exact = extent != nullptr ? product <= *extent
                                      : analyzer.CanProveEqual(
                                            tiling.sizes[std::max(inferred, 0)] * IntConst(type, product), loop.extent);
  return tiling;
}

}  // namespace

StatusOr<std::vector<LoopRV>> Split(Schedule& schedule, LoopRV loop_rv, std::span<const std::optional<ExprRV>> factors,
                                    bool preserve_unit_iters, bool disable_predication) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop_rv));
  RETURN_IF_ERROR(CheckSplittable(schedule, row));
  Analyzer analyzer;
  if (!AreNumbers(schedule.LoopOf(row), factors)) BindOuterLoops(schedule, row, false, analyzer);
  ASSIGN_OR_RETURN(const Tiling tiling, MakeTiling(schedule, row, factors, analyzer));

  const For loop = schedule.LoopOf(row);
  if (!tiling.is_exact && !disable_predication && TouchesMemoryOutsideBlocks(loop.body))
    return schedule.Error(
        "split", row,
        "what is left of the last tile is kept from blocks only, and memory is read or written outside "
        "of them; choose factors whose product is the extent");
  const DataType type = loop.loop_var.dtype();
  const int64_t* count = AsIntConst(loop.extent);
  const Expr extent = count != nullptr ? IntConst(type, *count) : loop.extent;
  std::vector<Var> vars;
  vars.reserve(tiling.sizes.size());
  Rebinding how{LoopsBetween(schedule, schedule.ScopeOf(row), row), preserve_unit_iters, std::nullopt,
                schedule.AnyUsesLoopsDirectly()};
  Expr value = IntConst(type, 0), guarded = value;  // In TVM's form a guard keeps the loops of one iteration.
  for (size_t i = 0; i < tiling.sizes.size(); ++i) {
    vars.emplace_back(fmt::format("{}_{}", loop.loop_var.name(), i), type);
    how.loops.emplace_back(vars.back(), Range{IntConst(type, 0), tiling.sizes[i]});
    const bool is_unit = IsConstInt(tiling.sizes[i], 1) && !preserve_unit_iters;
    value = value * tiling.sizes[i] + (is_unit ? IntConst(type, 0) : Expr(vars.back()));
    guarded = guarded * tiling.sizes[i] + vars.back();
  }
  if (!tiling.is_exact && !disable_predication) how.guard = Less(guarded, extent);
  Stmt nest =
      RebindLoops(loop.body, {{loop.loop_var.get(), value}}, schedule.BlockOf(schedule.ScopeOf(row)), std::move(how));
  for (size_t i = vars.size(); i-- > 0;) nest = MakeFor(vars[i], tiling.sizes[i], nest);
  schedule.Replace(row, std::move(nest));

  std::vector<TraceInput> inputs{loop_rv};
  inputs.reserve(factors.size() + 1);
  for (const std::optional<ExprRV>& factor : factors) inputs.push_back(FactorInput(factor));
  std::vector<LoopRV> loops;
  std::vector<int> outputs;
  loops.reserve(vars.size());
  outputs.reserve(vars.size());
  for (const Var& var : vars) {
    loops.push_back(schedule.NewLoopRV(var));
    outputs.push_back(loops.back().id);
  }
  schedule.Record("Split", std::move(inputs), {int64_t{preserve_unit_iters}, int64_t{disable_predication}},
                  std::move(outputs));
  return loops;
}

}  // namespace lathe
