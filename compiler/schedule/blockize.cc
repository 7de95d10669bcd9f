#include "compiler/schedule/blockize.h"

#include <fmt/core.h>

#include "compiler/arith/int_set.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/structural.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kBlockize = "blockize";

// The iter vars of both blocks, and what those of the old block are in terms of them.
struct DividedBlock {
  std::vector<IterVar> outer, inner;
  std::vector<Expr> outer_values, inner_values;
  Expr outer_predicate = True(), inner_predicate = True();
  VarMap vars;
};

// What the block declares is all that it does, and all that it needs are its iter vars.
Status CheckWholly(const Schedule& schedule, int block) {
  if (schedule.IsHiding(block)) return schedule.Error(kBlockize, block, "it touches more than it declares");
  return CheckIsolated(schedule, block, kBlockize);
}

// Blocks reach variables outside through iter vars only, and the nest inside is taken as it is.
Status CheckBlockizedNest(const Schedule& schedule, int loop, int block) {
  if (IsConditional(schedule, loop, block))
    return schedule.Error(kBlockize, loop, "an if, while or let inside is a condition on the block");
  RETURN_IF_ERROR(CheckWholly(schedule, block));
  const BlockNode& node = schedule.BlockOf(block);
  if (node.init && !(node.alloc_buffers.empty() && node.match_buffers.empty()))
    return schedule.Error(kBlockize, block,
                          "its init, which goes to the new block, may use buffers or views of its own");
  const IterDomain outer = LoopsBetween(schedule, schedule.ScopeOf(loop), loop);
  for (int row = schedule.ParentOf(block);; row = schedule.ParentOf(row)) {
    const For& inner = schedule.LoopOf(row);
    if (UsesAny(inner.min, outer) || UsesAny(inner.extent, outer))
      return schedule.Error(kBlockize, row, "its bounds depend on a loop outside");
    if (row == loop) return OkStatus();
  }
}

Var Suffixed(const Var& var, const char* suffix) { return Var(var.name() + suffix, var.dtype()); }

void AddIter(const IterVar& iter, const DividedIter& division, bool preserve_unit_iters, const Analyzer& analyzer,
             DividedBlock& divided) {
  const DataType type = iter.var.dtype();
  const Var outer = Suffixed(iter.var, "_o");
  divided.outer_values.push_back(ToExpr(division.outer, analyzer));
  if (IsConstInt(division.inner.extent, 1)) {
    divided.outer.push_back({iter.domain, outer, iter.kind});
    const bool is_known = !preserve_unit_iters && IsConstInt(iter.domain.extent, 1) &&
                          SameExpr(divided.outer_values.back(), iter.domain.min);
    divided.vars.emplace(iter.var.get(), is_known ? iter.domain.min : Expr(outer));
    return;
  }
  const Var inner = Suffixed(iter.var, "_i");
  const Expr zero = IntConst(type, 0);
  divided.outer.push_back({Range{zero, division.outer.extent}, outer, iter.kind});
  divided.inner.push_back({Range{zero, division.inner.extent}, inner, iter.kind});
  divided.inner_values.push_back(ToExpr(division.inner, analyzer));
  const bool is_whole = IsConstInt(division.outer.extent, 1);
  divided.vars.emplace(iter.var.get(), is_whole ? Expr(inner) : outer * division.inner.extent + inner);
}

// Each old value is what the new iter vars stand for, and the new predicates are no weaker than the old one (TVM loses
// a bound on one loop alone).
Status CheckDivision(const Schedule& schedule, int block, const DividedBlock& divided, Analyzer& analyzer) {
  VarMap bound;
  for (size_t i = 0; i < divided.outer.size(); ++i) bound.emplace(divided.outer[i].var.get(), divided.outer_values[i]);
  for (size_t i = 0; i < divided.inner.size(); ++i) bound.emplace(divided.inner[i].var.get(), divided.inner_values[i]);
  const BlockRealize& realize = schedule.RealizeOf(block);
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& iter = realize.block->iter_vars[i];
    if (!analyzer.CanProveEqual(Substitute(divided.vars.at(iter.var.get()), bound), realize.iter_values[i]))
      return schedule.Error(kBlockize, block,
                            fmt::format("the binding of \"{}\" has an offset; let it start at 0", iter.var.name()));
  }
  VarMap first;
  for (int row : schedule.LoopsOf(block)) first.emplace(schedule.LoopOf(row).loop_var.get(), schedule.LoopOf(row).min);
  for (size_t i = 0; i < divided.inner.size(); ++i) {
    const Expr zero = IntConst(divided.inner[i].var.dtype(), 0);
    if (!analyzer.CanProveEqual(Substitute(divided.inner_values[i], first), zero))
      return schedule.Error(
          kBlockize, block,
          fmt::format("the binding of \"{}\" has an offset; let it start at 0", divided.inner[i].var.name()));
  }
  FactScope inside(analyzer, And(divided.outer_predicate, divided.inner_predicate));
  if (analyzer.CanProve(realize.predicate)) return OkStatus();
  return schedule.Error(kBlockize, block,
                        "its predicate cannot be divided; preserve unit iters or bound a sum of loops");
}

// By the loops of the block's scope: the first `num_outer` stay outside. Errors are of `place`.
StatusOr<DividedBlock> Divide(const Schedule& schedule, int place, size_t num_outer, int block,
                              bool preserve_unit_iters) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const IterDomain loops = LoopsBetween(schedule, schedule.ScopeOf(block), block);
  std::vector<Var> inner;
  for (size_t i = num_outer; i < loops.size(); ++i) inner.push_back(loops[i].first);
  const IterMapOptions options{IterMapLevel::kSurjective, !preserve_unit_iters};
  const StatusOr<SubspaceDivision> division =
      SubspaceDivide(realize.iter_values, loops, inner, realize.predicate, options, Analyzer());
  if (!division.ok())
    return schedule.Error(kBlockize, place,
                          fmt::format("the bindings of block \"{}\" cannot be divided here: {}",
                                      schedule.BlockOf(block).name, division.status().message()));
  Analyzer analyzer;
  BindOuterLoops(schedule, block, false, analyzer);
  DividedBlock divided{.outer_predicate = division->outer_predicate, .inner_predicate = division->inner_predicate};
  for (size_t i = 0; i < realize.iter_values.size(); ++i)
    AddIter(realize.block->iter_vars[i], division->bindings[i], preserve_unit_iters, analyzer, divided);
  RETURN_IF_ERROR(CheckDivision(schedule, block, divided, analyzer));
  return divided;
}

// Puts the new iter vars in the place of the old ones; what changes is simplified, for all values of the inner ones.
class IterDivider : public StmtExprMutator {
 public:
  explicit IterDivider(const DividedBlock& divided) : vars_(divided.vars) {
    for (const IterVar& iter : divided.inner) simplifier_.Bind(iter.var, iter.domain);
  }
  Block operator()(const Block& block) { return VisitBlock(block); }
  using StmtExprMutator::operator();

 protected:
  Expr VisitExpr(const Expr& expr) override {
    if (is_inside_) return StmtExprMutator::VisitExpr(expr);
    is_inside_ = true;
    const Expr visited = StmtExprMutator::VisitExpr(expr);
    is_inside_ = false;
    return visited.same_as(expr) ? expr : simplifier_.Simplify(visited);
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  // A buffer of the block may be as long as an iter var says.
  Buffer VisitBufferDef(const Buffer& buffer) override {
    std::optional<BufferNode> mapped = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); });
    return mapped ? redefined_.insert_or_assign(buffer.get(), Buffer(*std::move(mapped))).first->second : buffer;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = redefined_.find(buffer.get());
    return found == redefined_.end() ? buffer : found->second;
  }

 private:
  const VarMap& vars_;
  BufferMap redefined_;
  Simplifier simplifier_;
  bool is_inside_ = false;  // Of an expression.
};

// What `regions` of the inner block are to the outer one.
std::vector<BufferRegion> RegionsOver(std::vector<BufferRegion> regions, const DividedBlock& divided) {
  IterDivider divide(divided);
  IterDomain inner;
  for (const IterVar& iter : divided.inner) inner.emplace_back(iter.var, iter.domain);
  const Analyzer analyzer = KnowingLongIters(divided.outer);
  for (BufferRegion& region : regions) {
    const std::vector<Range> full = FullRegion(region.buffer).region;
    for (Range& range : region.region) range = {divide(range.min), divide(range.extent)};
    region.region = RelaxRegion(region.region, inner, analyzer, &full);
  }
  return regions;
}

bool UsesAnyOf(const std::vector<Expr>& values, const IterDomain& loops) {
  return std::any_of(values.begin(), values.end(), [&](const Expr& value) { return UsesAny(value, loops); });
}

// The init over the loops that feed its data-parallel iter vars, all variables new.
StatusOr<Stmt> InitNest(const Schedule& schedule, int loop, int block, const DividedBlock& divided) {
  const BlockNode& node = schedule.BlockOf(block);
  BlockNode init{.name = schedule.FreshBlockName(block, node.name + "_init"), .body = IterDivider(divided)(*node.init)};
  std::vector<Expr> values;
  for (size_t i = 0; i < divided.inner.size(); ++i) {
    if (divided.inner[i].kind == IterKind::kReduce) continue;
    IterVar iter = divided.inner[i];
    iter.var = Suffixed(iter.var, "_init");
    init.body = Substitute(init.body, {{divided.inner[i].var.get(), iter.var}});
    init.iter_vars.push_back(iter);
    values.push_back(divided.inner_values[i]);
  }
  RecomputeRegions(init);
  Stmt nest = BlockRealize{values, divided.inner_predicate, Block(std::move(init))};
  for (int row = schedule.ParentOf(block);; row = schedule.ParentOf(row)) {
    For copy = schedule.LoopOf(row);
    const IterDomain itself{{copy.loop_var, Range{copy.min, copy.extent}}};
    if (UsesAnyOf(values, itself)) {
      copy.body = std::move(nest);
      nest = std::move(copy);
    } else if (!IsConstInt(copy.extent, 1) && !UsesAnyOf(divided.inner_values, itself)) {
      return schedule.Error(kBlockize, row, "it repeats the reduction below it, which would begin only once");
    } else if (UsesAny(divided.inner_predicate, itself)) {
      return schedule.Error(kBlockize, block, "its predicate concerns a loop that reduces, which its init would lose");
    }
    if (row == loop) return Clone(nest);
  }
}

BlockRealize InnerBlock(const Schedule& schedule, int block, const DividedBlock& divided) {
  BlockNode node = *IterDivider(divided)(schedule.RealizeOf(block).block);
  node.iter_vars = divided.inner;
  if (node.init) {  // What it adds to has been set by the outer block.
    node.init.reset();
    std::vector<BufferRegion> reads = node.writes;
    reads.insert(reads.end(), node.reads.begin(), node.reads.end());
    node.reads = std::move(reads);
  }
  return {divided.inner_values, divided.inner_predicate, Block(std::move(node))};
}

}  // namespace

StatusOr<Blockized> MakeBlockized(const Schedule& schedule, int loop, bool preserve_unit_iters) {
  const std::vector<int> blocks = schedule.ChildBlocksOf(loop);
  if (blocks.size() != 1)
    return schedule.Error(kBlockize, loop, fmt::format("there are {} blocks below it, one is required", blocks.size()));
  const int block = blocks[0];
  RETURN_IF_ERROR(CheckBlockizedNest(schedule, loop, block));
  ASSIGN_OR_RETURN(DividedBlock divided,
                   Divide(schedule, loop, schedule.LoopsOf(loop).size(), block, preserve_unit_iters));
  const BlockNode& node = schedule.BlockOf(block);
  const BlockRealize inner = InnerBlock(schedule, block, divided);
  const Stmt old_block = schedule.StmtOf(block);
  BlockNode outer{.name = schedule.FreshBlockName(block, node.name + "_o"),
                  .iter_vars = divided.outer,
                  .reads = RegionsOver(node.reads, divided),
                  .writes = RegionsOver(node.writes, divided),
                  .body = *RewriteTree(schedule.StmtOf(loop), [&](const Stmt& stmt) -> Replacement {
                    if (stmt.same_as(old_block)) return std::vector<Stmt>{inner};
                    return std::nullopt;
                  })};
  if (node.init) {
    ASSIGN_OR_RETURN(outer.init, InitNest(schedule, loop, block, divided));
  }
  return Blockized{{divided.outer_values, divided.outer_predicate, Block(std::move(outer))}, {block, inner.block}};
}

StatusOr<BlockRV> Blockize(Schedule& schedule, LoopRV loop_rv, bool preserve_unit_iters) {
  ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
  ASSIGN_OR_RETURN(const Blockized made, MakeBlockized(schedule, loop, preserve_unit_iters));
  schedule.Replace(loop, made.realize, {made.inner});
  const BlockRV result = schedule.NewBlockRV(made.realize.block);
  schedule.Record("Blockize", {loop_rv}, {int64_t{preserve_unit_iters}}, {result.id});
  return result;
}

namespace {

// Blocks, their nests and the place directly below which these are.
struct Siblings {
  int above;                // A loop or the scope.
  std::vector<int> blocks;  // In their new order.
  std::vector<Stmt> nests;  // One each.
  std::vector<Stmt> before, after;
};

// The nests are neighbours in the sequence below the loop or block around all of them, and each holds its block alone.
StatusOr<Siblings> FindSiblings(const Schedule& schedule, const std::vector<int>& blocks) {
  Siblings found{.above = schedule.ParentOf(blocks[0]), .blocks = blocks};
  for (int block : blocks) {
    if (schedule.ScopeOf(block) < 0 || schedule.ScopeOf(block) != schedule.ScopeOf(blocks[0]))
      return schedule.Error(kBlockize, block, "the blocks are of different scopes");
    if (std::count(blocks.begin(), blocks.end(), block) > 1)
      return schedule.Error(kBlockize, block, "it is named twice");
    RETURN_IF_ERROR(CheckWholly(schedule, block));
    if (schedule.BlockOf(block).init)
      return schedule.Error(kBlockize, block, "it has an init; decompose the reduction first");
    while (!schedule.IsAncestor(found.above, block)) found.above = schedule.ParentOf(found.above);
  }
  const Stmt& body =
      schedule.IsLoop(found.above) ? schedule.LoopOf(found.above).body : schedule.BlockOf(found.above).body;
  const Seq* seq = body.As<Seq>();
  if (seq == nullptr) return schedule.Error(kBlockize, blocks[0], "at least two blocks of one sequence are needed");
  std::vector<std::optional<size_t>> nest_of(seq->stmts.size());  // Index of the block.
  for (size_t i = 0; i < blocks.size(); ++i) {
    const size_t at = ChildIndexTowards(schedule, found.above, blocks[i]);
    if (nest_of[at]) return schedule.Error(kBlockize, blocks[i], "it shares its loops with another of the blocks");
    nest_of[at] = i;
    found.nests.push_back(seq->stmts[at]);
  }
  for (size_t at = 0; at < nest_of.size(); ++at) {
    if (nest_of[at]) continue;
    const bool is_before = std::none_of(nest_of.begin(), nest_of.begin() + at, [](const auto& n) { return n; });
    const bool is_after = std::none_of(nest_of.begin() + at, nest_of.end(), [](const auto& n) { return n; });
    if (!is_before && !is_after)
      return schedule.Error(kBlockize, blocks[0],
                            "the blocks are not next to each other: another statement is between");
    (is_before ? found.before : found.after).push_back(seq->stmts[at]);
  }
  return found;
}

Status CheckNests(const Schedule& schedule, const Siblings& siblings) {
  for (size_t i = 0; i < siblings.blocks.size(); ++i) {
    const int block = siblings.blocks[i];
    if (IsConditional(schedule, siblings.above, block))
      return schedule.Error(kBlockize, block, "an if, while or let around it is a condition on the block");
    for (int other : schedule.ChildBlocksOf(siblings.above)) {
      const bool shares = other != block && ChildIndexTowards(schedule, siblings.above, other) ==
                                                ChildIndexTowards(schedule, siblings.above, block);
      if (shares)
        return schedule.Error(kBlockize, block,
                              fmt::format("block \"{}\" is in its loops, too", schedule.BlockOf(other).name));
    }
    for (size_t k = 0; k < i; ++k) {
      if (IsBefore(schedule, siblings.blocks[k], block)) continue;
      const WhyNot why = WhyNotSwappable(schedule, siblings.blocks[k], block);
      if (!why.empty()) return schedule.Error(kBlockize, block, fmt::format("it would come later: {}", why));
    }
  }
  return OkStatus();
}

// Lets `divided` use the outer iter vars of `first` where both run over the same.
Status ShareOuter(const Schedule& schedule, int block, const DividedBlock& first, DividedBlock& divided) {
  const auto differs = [&](const char* what) {
    return schedule.Error(kBlockize, block,
                          fmt::format("its {} outside differ from those of the first of the blocks", what));
  };
  const Analyzer analyzer;
  if (divided.outer.size() != first.outer.size()) return differs("iter vars");
  VarMap shared;
  for (size_t i = 0; i < divided.outer.size(); ++i) {
    const bool is_same = analyzer.CanProveEqual(divided.outer_values[i], first.outer_values[i]) &&
                         analyzer.CanProveEqual(divided.outer[i].domain.extent, first.outer[i].domain.extent) &&
                         analyzer.CanProveEqual(divided.outer[i].domain.min, first.outer[i].domain.min);
    if (!is_same) return differs("iter vars");
    shared.emplace(divided.outer[i].var.get(), first.outer[i].var);
  }
  if (!StructuralEqual(divided.outer_predicate, first.outer_predicate)) return differs("predicates");
  for (auto& [var, value] : divided.vars) value = Substitute(value, shared);
  divided.outer = first.outer;
  return OkStatus();
}

// Adds what one of the blocks touches. Where several touch one buffer, a region holds all.
void AddRegions(std::vector<BufferRegion> regions, const Analyzer& analyzer, std::vector<BufferRegion>& all) {
  for (BufferRegion& region : regions) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const BufferRegion& known) { return known.buffer.same_as(region.buffer); });
    if (same == all.end())
      all.push_back(std::move(region));
    else
      same->region = UnionRegion(same->region, region.region, analyzer);
  }
}

Stmt WithNewBody(const Schedule& schedule, int above, Stmt body) {
  if (!schedule.IsLoop(above)) return WithBody(schedule.RealizeOf(above), std::move(body));
  For loop = schedule.LoopOf(above);
  loop.body = std::move(body);
  return loop;
}

// The new block while it is put together.
struct BlockGroup {
  BlockNode outer{.name = "outer_", .body = Evaluate{Expr(0)}};
  std::optional<DividedBlock> first;
  std::vector<Stmt> nests;
  std::vector<BlockReuse> inner;
};

// Adds `block`, alone in `nest`; the first `num_outer` loops around it stay outside.
Status AddMember(const Schedule& schedule, int block, const Stmt& nest, size_t num_outer, bool preserve_unit_iters,
                 BlockGroup& group) {
  ASSIGN_OR_RETURN(DividedBlock divided, Divide(schedule, block, num_outer, block, preserve_unit_iters));
  if (!group.first) group.first = divided;
  RETURN_IF_ERROR(ShareOuter(schedule, block, *group.first, divided));
  const BlockRealize inner = InnerBlock(schedule, block, divided);
  const Stmt old = schedule.StmtOf(block);
  group.nests.push_back(*RewriteTree(nest, [&](const Stmt& stmt) -> Replacement {
    if (!stmt.same_as(old)) return std::nullopt;
    return std::vector<Stmt>{inner};
  }));
  group.inner.push_back({block, inner.block});
  const Analyzer analyzer = KnowingLongIters(divided.outer);
  const BlockNode& node = schedule.BlockOf(block);
  AddRegions(RegionsOver(node.reads, divided), analyzer, group.outer.reads);
  AddRegions(RegionsOver(node.writes, divided), analyzer, group.outer.writes);
  group.outer.name += node.name + "_";
  return OkStatus();
}

// The block of all members, each in its nest; its regions in TVM's order. Iter vars that were data-parallel in each of
// them are so in all only if iterations hand nothing to each other.
Block BlockAround(BlockGroup& group, bool keeps_to_itself) {
  for (auto* regions : {&group.outer.reads, &group.outer.writes}) std::reverse(regions->begin(), regions->end());
  group.outer.iter_vars = group.first->outer;
  if (!keeps_to_itself)
    for (IterVar& iter : group.outer.iter_vars) iter.kind = IterKind::kOpaque;
  group.outer.body = MakeSeq(std::move(group.nests));
  return Block(std::move(group.outer));
}

}  // namespace

StatusOr<BlockRV> Blockize(Schedule& schedule, std::span<const BlockRV> block_rvs, bool preserve_unit_iters) {
  if (block_rvs.empty()) return InvalidArgument("no block is given; name the blocks to group");
  std::vector<int> rows;
  for (BlockRV block : block_rvs) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
    rows.push_back(row);
  }
  ASSIGN_OR_RETURN(Siblings siblings, FindSiblings(schedule, rows));
  RETURN_IF_ERROR(CheckNests(schedule, siblings));
  const size_t num_outer = schedule.IsLoop(siblings.above) ? schedule.LoopsOf(siblings.above).size() + 1 : 0;
  BlockGroup group;
  for (size_t i = 0; i < rows.size(); ++i)
    RETURN_IF_ERROR(AddMember(schedule, rows[i], siblings.nests[i], num_outer, preserve_unit_iters, group));
  const Block made = BlockAround(group, WhyNotOrdered(schedule, rows).empty());
  std::vector<Stmt> children = std::move(siblings.before);
  children.push_back(BlockRealize{group.first->outer_values, group.first->outer_predicate, made});
  children.insert(children.end(), siblings.after.begin(), siblings.after.end());
  schedule.Replace(siblings.above, WithNewBody(schedule, siblings.above, MakeSeq(std::move(children))), group.inner);
  const BlockRV result = schedule.NewBlockRV(made);
  schedule.Record("Blockize", {std::vector<BlockRV>(block_rvs.begin(), block_rvs.end())},
                  {int64_t{preserve_unit_iters}}, {result.id});
  return result;
}

}  // namespace lathe
