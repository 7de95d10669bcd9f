#include "compiler/schedule/reorder_block_iter_var.h"

#include <fmt/format.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

bool IsPermutation(std::span<const int64_t> order, size_t count) {
  std::vector<bool> seen(count, false);
  for (int64_t i : order) {
    if (i < 0 || i >= static_cast<int64_t>(count) || seen[i]) return false;
    seen[i] = true;
  }
  return order.size() == count;
}

}  // namespace

Status ReorderBlockIterVar(Schedule& schedule, BlockRV block_rv, std::span<const int64_t> new_order) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  BlockRealize realize = schedule.RealizeOf(row);
  const size_t count = realize.block->iter_vars.size();
  if (!IsPermutation(new_order, count))
    return schedule.Error("reorder_block_iter_var", row,
                          fmt::format("[{}] is no permutation of the {} iter vars; name each once, from 0",
                                      fmt::join(new_order, ", "), count));
  const BlockRealize before = realize;
  BlockNode& block = realize.block.Mutable();
  for (size_t i = 0; i < count; ++i) {
    block.iter_vars[i] = before.block->iter_vars[new_order[i]];
    realize.iter_values[i] = before.iter_values[new_order[i]];
  }
  const std::vector<BlockReuse> reuse{{row, realize.block}};
  schedule.Replace(row, std::move(realize), reuse);
  schedule.Record("ReorderBlockIterVar", {block_rv, std::vector<int64_t>(new_order.begin(), new_order.end())}, {}, {});
  return OkStatus();
}

}  // namespace lathe
