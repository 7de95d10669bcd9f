#include "compiler/schedule/blockize.h"

#include <fmt/core.h>

#include "compiler/arith/int_set.h"
#include "compiler/schedule/analysis.h"
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

bool UsesAny(const Expr& e, const IterDomain& loops) {
  return UsesVar(e, [&](const ExprNode* var) {
    return std::any_of(loops.begin(), loops.end(), [&](const auto& loop) { return loop.first.get() == var; });
  });
}

// Blocks reach variables outside through iter vars only, and the nest inside is taken as it is.
Status CheckBlockizedNest(const Schedule& schedule, int loop, int block) {
  if (IsConditional(schedule, loop, block))
    return schedule.Error(kBlockize, loop, "an if, while or let inside is a condition on the block");
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

void AddIter(const IterVar& iter, const DividedIter& division, const Analyzer& analyzer, DividedBlock& divided) {
  const DataType type = iter.var.dtype();
  const Var outer = Suffixed(iter.var, "_o");
  divided.outer_values.push_back(ToExpr(division.outer, analyzer));
  if (IsConstInt(division.inner.extent, 1)) {
    divided.outer.push_back({iter.domain, outer, iter.kind});
    divided.vars.emplace(iter.var.get(), outer);
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

StatusOr<DividedBlock> Divide(const Schedule& schedule, int loop, int block, bool preserve_unit_iters) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const IterDomain loops = LoopsBetween(schedule, schedule.ScopeOf(block), block);
  const size_t num_outer = schedule.LoopsOf(loop).size();
  std::vector<Var> inner;
  for (size_t i = num_outer; i < loops.size(); ++i) inner.push_back(loops[i].first);
  const IterMapOptions options{IterMapLevel::kSurjective, !preserve_unit_iters};
  const StatusOr<SubspaceDivision> division =
      SubspaceDivide(realize.iter_values, loops, inner, realize.predicate, options, Analyzer());
  if (!division.ok())
    return schedule.Error(kBlockize, loop,
                          fmt::format("the bindings of block \"{}\" cannot be divided here: {}",
                                      schedule.BlockOf(block).name, division.status().message()));
  Analyzer analyzer;
  BindOuterLoops(schedule, block, false, analyzer);
  DividedBlock divided{.outer_predicate = division->outer_predicate, .inner_predicate = division->inner_predicate};
  for (size_t i = 0; i < realize.iter_values.size(); ++i)
    AddIter(realize.block->iter_vars[i], division->bindings[i], analyzer, divided);
  RETURN_IF_ERROR(CheckDivision(schedule, block, divided, analyzer));
  return divided;
}

// What `regions` of the inner block are to the outer one.
std::vector<BufferRegion> RegionsOver(std::vector<BufferRegion> regions, const DividedBlock& divided) {
  IterDomain inner;
  for (const IterVar& iter : divided.inner) inner.emplace_back(iter.var, iter.domain);
  Analyzer analyzer;
  for (const IterVar& iter : divided.outer)  // Those of one step stay in the regions by name, as in TVM.
    if (!IsConstInt(iter.domain.extent, 1)) analyzer.Bind(iter.var, iter.domain);
  for (BufferRegion& region : regions) {
    const std::vector<Range> full = FullRegion(region.buffer).region;
    region.region = RelaxRegion(RegionWith(region.region, divided.vars), inner, analyzer, &full);
  }
  return regions;
}

// The init over the loops that feed its data-parallel iter vars, all variables new.
StatusOr<Stmt> InitNest(const Schedule& schedule, int loop, int block, const DividedBlock& divided) {
  const BlockNode& node = schedule.BlockOf(block);
  BlockNode init{.name = schedule.FreshBlockName(block, node.name + "_init"),
                 .body = Substitute(*node.init, divided.vars)};
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
    const bool feeds =
        std::any_of(values.begin(), values.end(), [&](const Expr& value) { return UsesAny(value, itself); });
    if (feeds) {
      copy.body = std::move(nest);
      nest = std::move(copy);
    } else if (UsesAny(divided.inner_predicate, itself)) {
      return schedule.Error(kBlockize, block, "its predicate concerns a loop that reduces, which its init would lose");
    }
    if (row == loop) return Clone(nest);
  }
}

BlockRealize InnerBlock(const Schedule& schedule, int block, const DividedBlock& divided) {
  BlockNode node = *Substitute(schedule.RealizeOf(block).block, divided.vars);
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
  ASSIGN_OR_RETURN(DividedBlock divided, Divide(schedule, loop, block, preserve_unit_iters));
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

}  // namespace lathe
