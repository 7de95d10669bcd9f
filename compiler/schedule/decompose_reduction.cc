#include "compiler/schedule/decompose_reduction.h"

#include <fmt/core.h>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Which kinds of iter var a loop feeds.
struct Feeds {
  bool spatial = false, reduce = false;
};

Feeds FeedsOf(const BlockRealize& realize, const Var& loop_var) {
  Feeds feeds;
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (!UsesVar(realize.iter_values[i], [&](const ExprNode* var) { return var == loop_var.get(); })) continue;
    (realize.block->iter_vars[i].kind == IterKind::kReduce ? feeds.reduce : feeds.spatial) = true;
  }
  return feeds;
}

Status Check(const Schedule& schedule, int block, int loop) {
  if (const WhyNot why = WhyNotReduction(schedule, block); !why.empty()) {
    return schedule.Error("decompose_reduction", block, fmt::format("it is no reduction block: {}", why));
  }
  const std::vector<int> loops = schedule.LoopsOf(block);
  const auto at = std::find(loops.begin(), loops.end(), loop);
  if (at == loops.end())
    return schedule.Error("decompose_reduction", loop,
                          fmt::format("it is not around block \"{}\"", schedule.BlockOf(block).name));
  for (auto outer = loops.begin(); outer != at; ++outer) {
    if (FeedsOf(schedule.RealizeOf(block), schedule.LoopOf(*outer).loop_var).reduce) {
      return schedule.Error("decompose_reduction", loop,
                            fmt::format("loop \"{}\" outside it already reduces; choose that or one further out",
                                        schedule.LoopOf(*outer).loop_var.name()));
    }
  }
  // An element that is computed twice is set to its initial value twice, too; in a nest of its own the init would run
  // once.
  if (const WhyNot why = WhyNotSchedulable(schedule, block); !why.empty())
    return schedule.Error("decompose_reduction", block, why);
  for (auto inner = at; inner != loops.end(); ++inner) {
    const Feeds fed = FeedsOf(schedule.RealizeOf(block), schedule.LoopOf(*inner).loop_var);
    if (!fed.spatial && !fed.reduce && !IsConstInt(schedule.LoopOf(*inner).extent, 1)) {
      return schedule.Error("decompose_reduction", *inner, "it repeats the block without feeding an iter var");
    }
    const Feeds feeds = FeedsOf(schedule.RealizeOf(block), schedule.LoopOf(*inner).loop_var);
    if (feeds.spatial && feeds.reduce)
      return schedule.Error("decompose_reduction", *inner, "it feeds data-parallel and reduction iter vars at once");
  }
  return OkStatus();
}

// The conjuncts of `predicate` that use none of the variables for which `is_dropped` holds.
Expr KeepConjuncts(const Expr& predicate, const std::function<bool(const ExprNode*)>& is_dropped) {
  const Binary* both = predicate.As<Binary>();
  if (both != nullptr && both->op == BinaryOp::kAnd)
    return And(KeepConjuncts(both->a, is_dropped), KeepConjuncts(both->b, is_dropped));
  return UsesVar(predicate, is_dropped) ? True() : predicate;
}

// The init in loops of its own, and the block that it became.
std::pair<Stmt, Block> MakeInitNest(const Schedule& schedule, int block, int loop, const std::string& name) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const BlockNode& node = *realize.block;
  BlockNode init{.name = name, .body = *node.init};
  VarMap iter_vars, loop_vars;
  std::vector<Expr> values;
  std::vector<int> loops = schedule.LoopsOf(block);
  loops.erase(loops.begin(), std::find(loops.begin(), loops.end(), loop));
  std::vector<For> nest;
  std::vector<const ExprNode*> reduce_loops;
  for (int row : loops) {
    For copy = schedule.LoopOf(row);
    if (FeedsOf(realize, copy.loop_var).reduce) {
      reduce_loops.push_back(copy.loop_var.get());
      continue;
    }
    if (!FeedsOf(realize, copy.loop_var).spatial) continue;
    copy.loop_var = Var(copy.loop_var.name() + "_init", copy.loop_var.dtype());
    if (copy.kind != ForKind::kVectorized && copy.kind != ForKind::kUnrolled) copy.kind = ForKind::kSerial;
    copy.annotations.clear();
    loop_vars.emplace(schedule.LoopOf(row).loop_var.get(), copy.loop_var);
    nest.push_back(std::move(copy));
  }
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    const IterVar& iter = node.iter_vars[i];
    if (iter.kind == IterKind::kReduce) continue;
    const Var fresh(iter.var.name(), iter.var.dtype());
    iter_vars.emplace(iter.var.get(), fresh);
    init.iter_vars.push_back(IterVar{iter.domain, fresh, iter.kind});
    values.push_back(Substitute(realize.iter_values[i], loop_vars));
  }
  init.body = Substitute(init.body, iter_vars);
  RecomputeRegions(init);
  const auto is_reduce = [&](const ExprNode* var) {
    return std::find(reduce_loops.begin(), reduce_loops.end(), var) != reduce_loops.end();
  };
  const Expr predicate = Substitute(KeepConjuncts(realize.predicate, is_reduce), loop_vars);
  const Block init_block(std::move(init));
  Stmt body = BlockRealize{std::move(values), predicate, init_block};
  for (size_t i = nest.size(); i-- > 0;) {
    nest[i].body = std::move(body);
    body = nest[i];
  }
  return {body, init_block};
}

}  // namespace

StatusOr<BlockRV> DecomposeReduction(Schedule& schedule, BlockRV block_rv, LoopRV loop_rv) {
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
  RETURN_IF_ERROR(Check(schedule, block, loop));

  const std::string init_name = schedule.FreshBlockName(block, schedule.BlockOf(block).name + "_init");
  const std::string update_name = schedule.FreshBlockName(block, schedule.BlockOf(block).name + "_update");
  auto [init_nest, init_block] = MakeInitNest(schedule, block, loop, init_name);
  BlockRealize update = schedule.RealizeOf(block);
  BlockNode& node = update.block.Mutable();
  node.name = update_name;
  node.init.reset();
  RecomputeRegions(node);
  const Stmt old_block = schedule.StmtOf(block);
  std::optional<Stmt> update_nest = RewriteTree(schedule.StmtOf(loop), [&](const Stmt& stmt) -> Replacement {
    if (stmt.same_as(old_block)) return std::vector<Stmt>{update};
    return std::nullopt;
  });
  schedule.Replace(loop, MakeSeq({std::move(init_nest), *std::move(update_nest)}), {{block, update.block}});

  const BlockRV init_rv = schedule.NewBlockRV(init_block);
  schedule.Record("DecomposeReduction", {block_rv, loop_rv}, {}, {init_rv.id});
  return init_rv;
}

}  // namespace lathe
