#include "compiler/transform/estimate_flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/child_stmts.h"
#include "compiler/ir/number_attr.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using Counts = std::map<std::string, double>;  // By type of the numbers.

Counts Sum(Counts a, const Counts& b) {
  for (const auto& [type, count] : b) a[type] += count;
  return a;
}
Counts Most(Counts a, const Counts& b) {
  for (const auto& [type, count] : b) a[type] = std::max(a[type], count);
  return a;
}

class FlopCounter {
 public:
  Status status;

  Counts Of(const Stmt& stmt) {
    if (const For* loop = stmt.As<For>()) return OfLoop(*loop);
    if (const BlockRealize* realize = stmt.As<BlockRealize>()) return Of(realize->block->body);
    if (const BufferStore* store = stmt.As<BufferStore>()) return Of(store->value);
    if (const LetStmt* let = stmt.As<LetStmt>()) return Sum(Of(let->value), Of(let->body));
    if (const IfThenElse* branch = stmt.As<IfThenElse>())
      return branch->else_case ? Most(Of(branch->then_case), Of(*branch->else_case)) : Of(branch->then_case);
    Counts counts;
    ForEachChildStmt(stmt, [&](const Stmt& child) { counts = Sum(std::move(counts), Of(child)); });
    return counts;
  }

 private:
  Counts OfLoop(const For& loop) {
    const double steps = static_cast<double>(std::max<int64_t>(LongestOf(loop.extent), 0));
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    Counts counts = Of(loop.body);
    for (auto& [type, count] : counts) count *= steps;
    return counts;
  }
  int64_t LongestOf(const Expr& extent) const {
    const int64_t longest = analyzer_.ConstIntBound(extent).max;
    return extent.dtype().bits == 32 ? std::min<int64_t>(longest, INT32_MAX) : longest;
  }

  Counts Of(const Expr& e) {
    if (const Binary* op = e.As<Binary>()) return OfBinary(e.dtype(), *op);
    if (const Cast* cast = e.As<Cast>()) return Of(cast->value);
    if (const Select* choice = e.As<Select>()) return Most(Of(choice->true_value), Of(choice->false_value));
    if (const Let* let = e.As<Let>()) return Sum(Of(let->value), Of(let->body));
    if (const Call* call = e.As<Call>()) return OfAll(call->args);
    if (const FuncCall* call = e.As<FuncCall>()) return OfAll(call->args);
    if (!e.dtype().is_scalar())
      status = InvalidArgument("estimate_tir_flops: vectors are not counted; ask before VectorizeLoop");
    return {};
  }
  Counts OfAll(const std::vector<Expr>& values) {
    Counts counts;
    for (const Expr& value : values) counts = Sum(std::move(counts), Of(value));
    return counts;
  }
  Counts OfBinary(DataType type, const Binary& op) {
    if (op.op >= BinaryOp::kEQ) return {};  // What is compared decides, as a condition does.
    return Sum(Sum(Of(op.a), Of(op.b)), {{type.ToString(), 1}});
  }

  Analyzer analyzer_;
};

}  // namespace

StatusOr<double> EstimateFlops(const Stmt& stmt) {
  FlopCounter counter;
  double flops = 0;
  for (const auto& [type, count] : counter.Of(stmt)) flops += count;
  RETURN_IF_ERROR(counter.status);
  return flops;
}

StatusOr<double> EstimateFlops(const IRModule& module) {
  double flops = 0;
  for (const PrimFunc& func : module.prim_funcs) {
    const auto said = func.attrs.find("estimated_flops");
    const std::optional<int64_t> number = said == func.attrs.end() ? std::nullopt : IntOf(said->second);
    if (number) {
      flops += static_cast<double>(*number);
    } else {
      ASSIGN_OR_RETURN(const double of_func, EstimateFlops(func.body));
      flops += of_func;
    }
  }
  return flops;
}

StatusOr<std::optional<Block>> FindAnchorBlock(const IRModule& module) {
  std::vector<std::pair<Block, Stmt>> blocks;  // With the loops around, which say how often.
  const std::function<void(const Stmt&, const Stmt&)> find = [&](const Stmt& stmt, const Stmt& nest) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    if (realize != nullptr && realize->block->init) blocks.emplace_back(realize->block, nest);
    const bool is_nest = stmt.As<For>() != nullptr;
    ForEachChildStmt(stmt, [&](const Stmt& child) { find(child, is_nest ? nest : child); });
  };
  for (const PrimFunc& func : module.prim_funcs) find(func.body, func.body);
  std::optional<Block> anchor;
  double most = -1;
  for (const auto& [block, nest] : blocks) {
    ASSIGN_OR_RETURN(const double flops, EstimateFlops(nest));
    if (flops > most) anchor = block;
    most = std::max(most, flops);
  }
  return anchor;
}

}  // namespace lathe
