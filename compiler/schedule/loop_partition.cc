#include "compiler/schedule/loop_partition.h"

#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/independence.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kLoopPartition = "loop_partition";

Status CheckPartitionable(const Schedule& schedule, int row) {
  const For& loop = schedule.LoopOf(row);
  const auto refuse = [&](std::string why) { return schedule.Error(kLoopPartition, row, std::move(why)); };
  if (!loop.annotations.empty())
    return refuse(
        fmt::format("the loop carries annotation \"{}\"; unannotate it first", loop.annotations.begin()->first));
  if (loop.kind == ForKind::kThreadBinding)
    return refuse("the loop is bound to threads; partition it first, then bind");
  if (!IsConstInt(loop.min, 0)) return refuse("the loop does not start at 0");
  if (AsIntConst(loop.extent) == nullptr) return refuse("the extent is no constant");
  const size_t num_blocks = schedule.ChildBlocksOf(row).size();
  if (num_blocks != 1) return refuse(fmt::format("there are {} blocks below it, one is required", num_blocks));
  return OkStatus();
}

// Memory of which each iteration of a parallel loop below has a copy of its own would be shared by the parts, and then
// by the iterations too.
Status CheckSharesNothing(const Schedule& schedule, int row) {
  const int block = schedule.ChildBlocksOf(row)[0];
  for (int loop = schedule.ParentOf(block); loop != row; loop = schedule.ParentOf(loop)) {
    const For& node = schedule.LoopOf(loop);
    if (!IsConcurrent(node.kind)) continue;
    for (const BufferRegion& write : schedule.BlockOf(block).writes) {
      if (WritesApart(schedule, loop, block, write)) continue;
      return schedule.Error(
          kLoopPartition, row,
          fmt::format(
              "loop \"{}\" runs its iterations at once, each with a copy of buffer \"{}\" of its own, which the "
              "parts would share; partition it first, then mark loop \"{}\"",
              node.loop_var.name(), write.buffer->name, node.loop_var.name()));
    }
  }
  return OkStatus();
}

// The lengths of the parts, which add up to the extent.
StatusOr<std::vector<int64_t>> PartsOf(const Schedule& schedule, int row,
                                       std::span<const std::optional<ExprRV>> factors) {
  const auto refuse = [&](std::string why) { return schedule.Error(kLoopPartition, row, std::move(why)); };
  std::vector<int64_t> parts;
  std::optional<size_t> inferred;
  int64_t rest = *AsIntConst(schedule.LoopOf(row).extent);
  for (const std::optional<ExprRV>& factor : factors) {
    if (!factor && inferred) return refuse("at most one factor can be inferred");
    if (!factor) inferred = parts.size();
    int64_t part = 0;
    if (factor) {
      ASSIGN_OR_RETURN(part, schedule.Get(*factor));
      if (part <= 0) return refuse(fmt::format("factor {} is not positive", part));
      if (part >= rest)
        return refuse(fmt::format("factor {} takes all of the {} iterations that are left; give less", part, rest));
    }
    rest -= part;
    parts.push_back(part);
  }
  if (inferred)
    parts[*inferred] = rest;
  else
    parts.push_back(rest);
  if (parts.size() < 2) return refuse("at least two parts are needed; give a factor below the extent");
  return parts;
}

// Makes the blocks below one part its own: their names, and what depends on the part's range.
class PartBlocks : public StmtExprMutator {
 public:
  PartBlocks(Var loop_var, Range part) : loop_var_(std::move(loop_var)), part_(std::move(part)) {}

 protected:
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize&) override {
    BlockRealize realize = *StmtExprMutator::VisitBlockRealize(self, *self.As<BlockRealize>()).As<BlockRealize>();
    BlockNode& node = realize.block.Mutable();
    node.name += "_" + loop_var_.name();
    std::unordered_map<const ExprNode*, Range> domains;  // Of iter vars that are bound to a variable alone.
    for (size_t i = 0; i < node.iter_vars.size(); ++i) {
      IterVar& iter = node.iter_vars[i];
      const bool is_partitioned = realize.iter_values[i].same_as(loop_var_);
      if (IsVar(realize.iter_values[i])) domains.emplace(iter.var.get(), is_partitioned ? part_ : iter.domain);
      if (is_partitioned && iter.kind == IterKind::kSpatial) iter.domain = part_;
    }
    for (auto* regions : {&node.reads, &node.writes})
      for (BufferRegion& region : *regions) Widen(domains, region.region);
    return realize;
  }

 private:
  // As TVM does: an element that such iter vars index becomes all that they reach.
  static void Widen(const std::unordered_map<const ExprNode*, Range>& domains, std::vector<Range>& region) {
    const auto is_indexed = [&](const Range& r) { return IsConstInt(r.extent, 1) && domains.contains(r.min.get()); };
    if (!std::all_of(region.begin(), region.end(), is_indexed)) return;
    for (Range& range : region) range = domains.at(range.min.get());
  }

  const Var loop_var_;
  const Range part_;
};

// A block without iter vars that declares nothing.
Block Around(std::string name, Stmt body) {
  BlockNode node{.name = std::move(name), .body = std::move(body)};
  return Block(std::move(node));
}

// In the order of the text, inner blocks before those around.
std::vector<Block> BlocksIn(const Stmt& stmt) {
  std::vector<Block> blocks;
  PostOrderVisit(stmt, [&](const Stmt& part) {
    if (const BlockRealize* realize = part.As<BlockRealize>()) blocks.push_back(realize->block);
  });
  return blocks;
}

// A block that hides what it touches, by its place among BlocksIn.
struct Hider {
  size_t place;
  bool also_stores;
};

std::vector<Hider> HidersIn(const Schedule& schedule, const Stmt& body) {
  std::vector<Hider> hiders;
  const std::vector<Block> blocks = BlocksIn(body);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const int row = schedule.RowOf(blocks[i]);
    if (schedule.IsHiding(row)) hiders.push_back({i, schedule.IsHidingStores(row)});
  }
  return hiders;
}

}  // namespace

StatusOr<std::vector<LoopRV>> LoopPartition(Schedule& schedule, LoopRV loop_rv,
                                            std::span<const std::optional<ExprRV>> factors, bool preserve_unit_iters) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop_rv));
  RETURN_IF_ERROR(CheckPartitionable(schedule, row));
  RETURN_IF_ERROR(CheckSharesNothing(schedule, row));
  ASSIGN_OR_RETURN(const std::vector<int64_t> parts, PartsOf(schedule, row, factors));

  const For loop = schedule.LoopOf(row);
  const DataType type = loop.loop_var.dtype();
  const std::string prefix = schedule.BlockOf(schedule.ChildBlocksOf(row)[0]).name + "_" + loop.loop_var.name();
  std::vector<Var> vars;
  std::vector<Block> around;
  std::vector<Stmt> nests;
  const std::vector<Hider> hiders = HidersIn(schedule, loop.body);
  int64_t start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    vars.emplace_back(fmt::format("{}{}", loop.loop_var.name(), i), type);
    const Range part{IntConst(type, start), IntConst(type, parts[i])};
    const Stmt body = Substitute(Clone(loop.body), {{loop.loop_var.get(), vars[i]}});
    const For nest{vars[i], part.min, part.extent, ForKind::kSerial, "", {}, PartBlocks(vars[i], part)(body)};
    around.push_back(Around(fmt::format("{}{}_partition", prefix, i), nest));
    nests.push_back(BlockRealize{{}, True(), around.back()});
    start += parts[i];
  }
  around.push_back(Around(prefix + "_common", MakeSeq(std::move(nests))));
  schedule.Replace(row, BlockRealize{{}, True(), around.back()});
  for (const Block& block : around) schedule.MarkHiding(schedule.RowOf(block), /*also_stores=*/true);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::vector<Block> copies = BlocksIn(around[i]->body);
    for (const Hider& hider : hiders) schedule.MarkHiding(schedule.RowOf(copies[hider.place]), hider.also_stores);
  }
  schedule.MarkUsesLoopsDirectly();

  std::vector<TraceInput> inputs{loop_rv};
  for (const std::optional<ExprRV>& factor : factors) inputs.push_back(FactorInput(factor));
  std::vector<LoopRV> loops;
  std::vector<int> outputs;
  for (const Var& var : vars) {
    loops.push_back(schedule.NewLoopRV(var));
    outputs.push_back(loops.back().id);
  }
  schedule.Record("LoopPartition", std::move(inputs), {int64_t{preserve_unit_iters}}, std::move(outputs));
  return loops;
}

}  // namespace lathe
