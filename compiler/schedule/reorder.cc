#include "compiler/schedule/reorder.h"

#include <fmt/core.h>

#include "compiler/schedule/independence.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// The loops from the outermost to the innermost of `rows`, each the only child of the one before.
StatusOr<std::vector<int>> ChainOf(const Schedule& schedule, const std::vector<int>& rows) {
  const auto is_wanted = [&](int row) { return std::find(rows.begin(), rows.end(), row) != rows.end(); };
  int bottom = rows[0];
  for (int row : rows) {
    if (schedule.IsAncestor(bottom, row)) bottom = row;
  }
  std::vector<int> chain;
  size_t found = 0;
  for (int row = bottom; row >= 0 && schedule.IsLoop(row) && found < rows.size(); row = schedule.ParentOf(row)) {
    if (!chain.empty() && !schedule.LoopOf(row).body.same_as(schedule.StmtOf(chain.back()))) {
      return schedule.Error("reorder", row, "it has several children; the loops must lie on one chain");
    }
    chain.push_back(row);
    found += is_wanted(row);
  }
  if (found < rows.size())
    return schedule.Error("reorder", bottom, "the loops do not all lie on one chain in one scope");
  std::reverse(chain.begin(), chain.end());
  return chain;
}

Status CheckBoundsStayDefined(const Schedule& schedule, const std::vector<int>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    const For& loop = schedule.LoopOf(order[i]);
    if (AsIntConst(loop.min) != nullptr && AsIntConst(loop.extent) != nullptr) continue;
    for (size_t k = i; k < order.size(); ++k) {
      const Var& inner = schedule.LoopOf(order[k]).loop_var;
      const auto is_inner = [&](const ExprNode* var) { return var == inner.get(); };
      if (UsesVar(loop.min, is_inner) || UsesVar(loop.extent, is_inner)) {
        return schedule.Error("reorder", order[i],
                              fmt::format("its bounds depend on loop \"{}\", which would be inside", inner.name()));
      }
    }
  }
  return OkStatus();
}

// Whether the block, or one in it, begins sums.
bool BeginsSums(const Schedule& schedule, int block) {
  if (schedule.BlockOf(block).init) return true;
  const std::vector<int> children = schedule.ChildBlocksOf(block);
  return std::any_of(children.begin(), children.end(), [&](int child) { return BeginsSums(schedule, child); });
}

// Where a loop counts elements and steps of a reduction at once, as fused ones do, the first step of an element is the
// first iteration only as long as the loops that make that number stay in their order.
Status CheckFirstSteps(const Schedule& schedule, const std::vector<int>& chain, const std::vector<int>& order,
                       int block) {
  if (!BeginsSums(schedule, block)) return OkStatus();
  const BoundRealize realize(schedule, block);
  const auto feeds = [&](int row, const Expr& value) {
    return !IsConstInt(schedule.LoopOf(row).extent, 1) && UsesVar(value, schedule.LoopOf(row).loop_var.get());
  };
  const auto feeds_element = [&](int row) {
    for (size_t i = 0; i < realize->iter_values.size(); ++i)
      if (realize->block->iter_vars[i].kind == IterKind::kSpatial && feeds(row, realize->iter_values[i])) return true;
    return false;
  };
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    if (realize->block->iter_vars[i].kind == IterKind::kSpatial) continue;
    const auto is_other = [&](int row) { return !feeds(row, realize->iter_values[i]); };
    std::vector<int> before = chain, after = order;
    std::erase_if(before, is_other);
    std::erase_if(after, is_other);
    if (before != after && std::any_of(before.begin(), before.end(), feeds_element))
      return schedule.Error("reorder", block,
                            fmt::format("iter var \"{}\" may not begin at its minimum for each element: a loop counts "
                                        "elements and steps of the reduction at once",
                                        realize->block->iter_vars[i].var.name()));
  }
  return OkStatus();
}

}  // namespace

Status Reorder(Schedule& schedule, std::span<const LoopRV> ordered_loops) {
  if (ordered_loops.empty()) {
    schedule.Record("Reorder", {}, {}, {});
    return OkStatus();
  }
  std::vector<int> rows;
  rows.reserve(ordered_loops.size());
  for (LoopRV loop : ordered_loops) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop));
    if (std::find(rows.begin(), rows.end(), row) != rows.end())
      return schedule.Error("reorder", row, "it is given twice");
    rows.push_back(row);
  }
  ASSIGN_OR_RETURN(const std::vector<int> chain, ChainOf(schedule, rows));
  std::vector<int> order;
  order.reserve(chain.size());
  size_t next = 0;
  for (int row : chain) order.push_back(std::find(rows.begin(), rows.end(), row) != rows.end() ? rows[next++] : row);
  if (const WhyNot why = WhyNotPermutable(schedule, chain.front()); !why.empty())
    return schedule.Error("reorder", chain.front(), why);
  RETURN_IF_ERROR(CheckBoundsStayDefined(schedule, order));
  for (int block : schedule.ChildBlocksOf(chain.back()))
    RETURN_IF_ERROR(CheckFirstSteps(schedule, chain, order, block));

  Stmt nest = schedule.LoopOf(chain.back()).body;
  for (size_t i = order.size(); i-- > 0;) {
    For loop = schedule.LoopOf(order[i]);
    loop.body = std::move(nest);
    nest = std::move(loop);
  }
  RETURN_IF_ERROR(ReplaceUnderMarks(schedule, chain.front(), std::move(nest), chain, "reorder", chain.front()));
  schedule.Record("Reorder", std::vector<TraceInput>(ordered_loops.begin(), ordered_loops.end()), {}, {});
  return OkStatus();
}

}  // namespace lathe
