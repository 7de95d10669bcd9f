#include "compiler/schedule/get_block.h"

#include <fmt/format.h>

#include "compiler/schedule/analysis.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

std::vector<BlockRV> HandlesOf(Schedule& schedule, const std::vector<int>& rows, std::string_view kind,
                               const TraceInput& of) {
  std::vector<BlockRV> blocks;
  std::vector<int> outputs;
  for (int row : rows) {
    blocks.push_back(schedule.NewBlockRV(row));
    outputs.push_back(blocks.back().id);
  }
  schedule.Record(kind, {of}, {}, std::move(outputs));
  return blocks;
}

// The other block of a dependence that hands an element on.
void AddPartner(const Schedule& schedule, const Dependency& dep, int partner, std::vector<int>& partners) {
  if (dep.kind != DepKind::kRAW && dep.kind != DepKind::kWAW) return;
  if (schedule.IsLoop(partner) || partner == schedule.ScopeOf(dep.src) || partner == schedule.ScopeOf(dep.dst)) return;
  if (std::find(partners.begin(), partners.end(), partner) == partners.end()) partners.push_back(partner);
}

std::vector<std::string> BlockNames(const Schedule& schedule, int root) {
  std::vector<int> rows{root};
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<int> children = schedule.ChildBlocksOf(rows[i]);
    rows.insert(rows.end(), children.begin(), children.end());
  }
  std::vector<std::string> names;
  for (int row : rows) names.push_back(schedule.BlockOf(row).name);
  return names;
}

}  // namespace

StatusOr<BlockRV> GetBlock(Schedule& schedule, const std::string& name, const std::string& func_name) {
  const StatusOr<int> root = schedule.RootRowOf(func_name);
  if (!root.ok())
    return Status(root.status().code(), fmt::format("get_block \"{}\": {}", name, root.status().message()));
  const std::string& where = schedule.FuncOf(*root).name;
  const std::vector<int> rows = schedule.BlocksNamed(*root, name);
  if (rows.empty()) {
    return NotFound(fmt::format("get_block @{}: no block named \"{}\"; there are: {}", where, name,
                                fmt::join(BlockNames(schedule, *root), ", ")));
  }
  if (rows.size() > 1) {
    return InvalidArgument(fmt::format(
        "get_block @{}: {} blocks are named \"{}\", 1 is required; give them different names, or use get_child_blocks",
        where, rows.size(), name));
  }
  const BlockRV block = schedule.NewBlockRV(rows[0]);
  schedule.Record("GetBlock", {}, {name, func_name.empty() ? where : func_name}, {block.id});
  return block;
}

StatusOr<std::vector<LoopRV>> GetLoops(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  const std::vector<int> rows = schedule.LoopsOf(row);
  std::vector<LoopRV> loops;
  std::vector<int> outputs;
  loops.reserve(rows.size());
  outputs.reserve(rows.size());
  for (int loop : rows) {
    loops.push_back(schedule.NewLoopRV(loop));
    outputs.push_back(loops.back().id);
  }
  schedule.Record("GetLoops", {block}, {}, std::move(outputs));
  return loops;
}

StatusOr<std::vector<BlockRV>> GetChildBlocks(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  return HandlesOf(schedule, schedule.ChildBlocksOf(row), "GetChildBlocks", block);
}

StatusOr<std::vector<BlockRV>> GetLoopChildBlocks(Schedule& schedule, LoopRV loop) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop));
  return HandlesOf(schedule, schedule.ChildBlocksOf(row), "GetChildBlocks", loop);
}

namespace {

// Each in its own scope, those within others, too.
void AddOutputBlocks(const Schedule& schedule, int scope, std::vector<int>& outputs) {
  for (int block : schedule.ChildBlocksOf(scope)) {
    if (IsOutputBlock(schedule, block)) outputs.push_back(block);
    AddOutputBlocks(schedule, block, outputs);
  }
}

}  // namespace

StatusOr<std::vector<BlockRV>> GetOutputBlocks(Schedule& schedule, BlockRV scope_block) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(scope_block));
  std::vector<int> rows;
  AddOutputBlocks(schedule, row, rows);
  return HandlesOf(schedule, rows, "GetOutputBlocks", scope_block);
}

StatusOr<std::vector<BlockRV>> GetProducers(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  if (schedule.ScopeOf(row) < 0) return schedule.Error("get_producers", row, "the root block has no scope");
  std::vector<int> producers;
  for (const Dependency& dep : schedule.Scope(schedule.ScopeOf(row)).DepsByDst(row))
    AddPartner(schedule, dep, dep.src, producers);
  return HandlesOf(schedule, producers, "GetProducers", block);
}

StatusOr<std::vector<BlockRV>> GetConsumers(Schedule& schedule, BlockRV block) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  if (schedule.ScopeOf(row) < 0) return schedule.Error("get_consumers", row, "the root block has no scope");
  std::vector<int> consumers;
  for (const Dependency& dep : schedule.Scope(schedule.ScopeOf(row)).DepsBySrc(row))
    AddPartner(schedule, dep, dep.dst, consumers);
  return HandlesOf(schedule, consumers, "GetConsumers", block);
}

}  // namespace lathe
