#include "compiler/schedule/split.h"

#include <fmt/format.h>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Status CheckSplittable(const Schedule& schedule, int row) {
  const For& loop = schedule.LoopOf(row);
  if (loop.kind != ForKind::kSerial)
    return schedule.Error("split", row,
                          "the loop is parallel, vectorized, unrolled or bound; split it first, then mark it");
  if (!loop.annotations.empty())
    return schedule.Error(
        "split", row,
        fmt::format("the loop carries annotation \"{}\"; unannotate it first", loop.annotations.begin()->first));
  if (!IsConstInt(loop.min, 0)) return schedule.Error("split", row, "the loop does not start at 0");
  if (AsIntConst(loop.extent) == nullptr) return schedule.Error("split", row, "the extent is no constant");
  return OkStatus();
}

// The factors as numbers, the inferred one filled in.
StatusOr<std::vector<int64_t>> EvaluateFactors(const Schedule& schedule, int row,
                                               std::span<const std::optional<ExprRV>> factors) {
  const int64_t extent = *AsIntConst(schedule.LoopOf(row).extent);
  if (factors.empty()) return schedule.Error("split", row, "at least one factor is needed");
  std::vector<int64_t> sizes;
  int inferred = -1;
  int64_t product = 1;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!factors[i]) {
      if (inferred >= 0) return schedule.Error("split", row, "at most one factor can be inferred");
      inferred = static_cast<int>(i);
      sizes.push_back(0);
      continue;
    }
    ASSIGN_OR_RETURN(const int64_t size, schedule.Get(*factors[i]));
    if (size <= 0) return schedule.Error("split", row, fmt::format("factor {} is not positive", size));
    if (__builtin_mul_overflow(product, size, &product) || product > INT32_MAX)
      return schedule.Error("split", row, fmt::format("the factors cover more than {} iterations", INT32_MAX));
    sizes.push_back(size);
  }
  if (inferred >= 0) {
    sizes[inferred] = std::max<int64_t>(1, (extent + product - 1) / product);
  } else if (product < extent) {
    return schedule.Error(
        "split", row,
        fmt::format("factors [{}] cover {}, extent is {}; change a factor", fmt::join(sizes, ", "), product, extent));
  }
  return sizes;
}

}  // namespace

StatusOr<std::vector<LoopRV>> Split(Schedule& schedule, LoopRV loop_rv, std::span<const std::optional<ExprRV>> factors,
                                    bool preserve_unit_iters, bool disable_predication) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop_rv));
  RETURN_IF_ERROR(CheckSplittable(schedule, row));
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, EvaluateFactors(schedule, row, factors));

  const For loop = schedule.LoopOf(row);
  const DataType type = loop.loop_var.dtype();
  Analyzer analyzer;
  BindOuterLoops(schedule, row, false, analyzer);
  std::vector<Var> vars;
  Expr value = IntConst(type, 0);
  int64_t product = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    vars.emplace_back(fmt::format("{}_{}", loop.loop_var.name(), i), type);
    analyzer.Bind(vars.back(), Range{IntConst(type, 0), IntConst(type, sizes[i])});
    const bool is_unit = sizes[i] == 1 && !preserve_unit_iters;
    value = value * IntConst(type, sizes[i]) + (is_unit ? IntConst(type, 0) : Expr(vars.back()));
    product *= sizes[i];
  }
  std::optional<Expr> guard;
  if (product > *AsIntConst(loop.extent) && !disable_predication) guard = Less(value, loop.extent);
  Stmt nest = RebindLoops(loop.body, {{loop.loop_var.get(), value}}, analyzer, guard);
  for (size_t i = sizes.size(); i-- > 0;) nest = MakeFor(vars[i], IntConst(type, sizes[i]), nest);
  schedule.Replace(row, std::move(nest));

  std::vector<TraceInput> inputs{loop_rv};
  for (const std::optional<ExprRV>& factor : factors) {
    if (!factor)
      inputs.push_back(std::monostate());
    else if (const int64_t* literal = std::get_if<int64_t>(&*factor))
      inputs.push_back(*literal);
    else
      inputs.push_back(std::get<VarRV>(*factor));
  }
  std::vector<LoopRV> loops;
  std::vector<int> outputs;
  for (const Var& var : vars) {
    loops.push_back(schedule.NewLoopRV(var));
    outputs.push_back(loops.back().id);
  }
  schedule.Record("Split", std::move(inputs), {int64_t{preserve_unit_iters}, int64_t{disable_predication}},
                  std::move(outputs));
  return loops;
}

}  // namespace lathe
