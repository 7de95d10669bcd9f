#include "compiler/schedule/decompose_reduction.h"

#include <fmt/core.h>

#include "compiler/arith/iter_map.h"
#include "compiler/schedule/independence.h"
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
    if (!UsesVar(realize.iter_values[i], loop_var.get())) continue;
    (realize.block->iter_vars[i].kind == IterKind::kReduce ? feeds.reduce : feeds.spatial) = true;
  }
  return feeds;
}

// Loops from `loop` down to `block`; what decompose_reduction is about.
std::vector<int> LoopsFrom(const Schedule& schedule, int loop, int block) {
  std::vector<int> loops = schedule.LoopsOf(block);
  loops.erase(loops.begin(), std::find(loops.begin(), loops.end(), loop));
  return loops;
}

Status CheckPlace(const Schedule& schedule, int block, int loop) {
  const std::vector<int> loops = schedule.LoopsOf(block);
  const auto at = std::find(loops.begin(), loops.end(), loop);
  if (at == loops.end())
    return schedule.Error("decompose_reduction", loop,
                          fmt::format("it is not around block \"{}\"", schedule.BlockOf(block).name));
  const BoundRealize realize(schedule, block);
  for (auto outer = loops.begin(); outer != at; ++outer) {
    if (FeedsOf(*realize, schedule.LoopOf(*outer).loop_var).reduce) {
      return schedule.Error("decompose_reduction", loop,
                            fmt::format("loop \"{}\" outside it already reduces; choose that or one further out",
                                        schedule.LoopOf(*outer).loop_var.name()));
    }
  }
  if (IsConditional(schedule, loop, block))
    return schedule.Error("decompose_reduction", block,
                          "an if, while or let inside the loop is a condition that the init would lose");
  return OkStatus();
}

// Whether what keeps the block from running, if anything does, keeps it from all steps of an element. Then a loop that
// counts elements and steps at once has the first step of each where the loops that reduce begin.
bool IsConditionOfElements(const Schedule& schedule, int block) {
  if (IsConstInt(schedule.RealizeOf(block).predicate, 1)) return true;
  const std::optional<Expr> condition = PredicateOnIterVars(schedule, block);
  return condition && !UsesVar(*condition, [&](const ExprNode* var) {
           const std::vector<IterVar>& iters = schedule.BlockOf(block).iter_vars;
           return std::any_of(iters.begin(), iters.end(), [&](const IterVar& iter) {
             return iter.kind == IterKind::kReduce && iter.var.get() == var;
           });
         });
}

// Whether what is bound to several of `loops`, which count elements and steps at once, is bound to the number that they
// count together in the order in which they run.
bool CountInOrder(const Schedule& schedule, const BlockRealize& realize, const std::vector<int>& loops) {
  if (loops.size() < 2) return true;
  const Var last = schedule.LoopOf(loops.back()).loop_var;
  const Var number("number", last.dtype());
  Expr others = IntConst(last.dtype(), 0), below = schedule.LoopOf(loops.back()).extent;
  for (size_t i = loops.size() - 1; i-- > 0;) {
    const For& loop = schedule.LoopOf(loops[i]);
    if (loop.loop_var.dtype() != last.dtype() || !IsConstInt(loop.min, 0)) return false;
    others = others + loop.loop_var * below;
    below = below * loop.extent;
  }
  const auto num_used = [&](const Expr& value) {
    return std::count_if(loops.begin(), loops.end(),
                         [&](int row) { return UsesVar(value, schedule.LoopOf(row).loop_var.get()); });
  };
  return std::all_of(realize.iter_values.begin(), realize.iter_values.end(), [&](const Expr& value) {
    return num_used(value) < 2 ||
           num_used(Analyzer().Simplify(Substitute(value, {{last.get(), number - others}}))) == 0;
  });
}

// Whether the block's binding is affine but for a condition that ties iter vars, as where the last vector of a row
// leaves lanes out: what runs is still bound to values of its own.
bool IsAffineUnderCondition(const Schedule& schedule, int block) {
  BlockRealize realize = schedule.RealizeOf(block);
  realize.predicate = True();
  return IsAffineBinding(realize, LoopsBetween(schedule, schedule.ScopeOf(block), block), Analyzer());
}

// An element that is computed twice is set to its initial value twice, too; in a nest of its own the init would run
// once.
Status CheckElementsAreComputedOnce(const Schedule& schedule, int block, int loop) {
  RETURN_IF_ERROR(CheckIsolated(schedule, block, "decompose_reduction"));
  if (const WhyNot why = WhyNotSchedulable(schedule, block);
      !why.empty() && !(WhyNotCompleteOrReduction(schedule, block).empty() && IsAffineUnderCondition(schedule, block)))
    return schedule.Error("decompose_reduction", block, why);
  if (!TakesEachStepOnce(schedule, loop, block))
    return schedule.Error(
        "decompose_reduction", block,
        fmt::format("it is not known to take each step once below loop \"{}\"", schedule.LoopOf(loop).loop_var.name()));
  const BoundRealize realize(schedule, block);
  std::vector<int> both;
  for (int inner : LoopsFrom(schedule, loop, block)) {
    const Feeds feeds = FeedsOf(*realize, schedule.LoopOf(inner).loop_var);
    if (feeds.spatial && feeds.reduce) both.push_back(inner);
    if (!feeds.spatial && !feeds.reduce && !IsConstInt(schedule.LoopOf(inner).extent, 1)) {
      return schedule.Error("decompose_reduction", inner, "it repeats the block without feeding an iter var");
    }
    // Iterations that run at once each have a copy of what they share, but not of what comes from outside the loop.
    const bool is_marked =
        schedule.LoopOf(inner).kind != ForKind::kSerial && schedule.LoopOf(inner).kind != ForKind::kUnrolled;
    for (const BufferRegion& write : schedule.BlockOf(block).writes)
      if (is_marked && feeds.spatial && !WritesApart(schedule, inner, block, write))
        return schedule.Error("decompose_reduction", inner,
                              fmt::format("it runs its iterations at once, and several may write one element of \"{}\"",
                                          write.buffer->name));
    if (feeds.spatial && !WritesOneValuePerElement(schedule.BlockOf(block)))
      return schedule.Error("decompose_reduction", inner,
                            "it feeds a data-parallel iter var that is no index of what the block writes");
  }
  if (!both.empty() && !IsConditionOfElements(schedule, block))
    return schedule.Error("decompose_reduction", both[0],
                          "it feeds data-parallel and reduction iter vars at once, under a condition on steps");
  if (!CountInOrder(schedule, *realize, both))
    return schedule.Error(
        "decompose_reduction", both[0],
        "it feeds data-parallel and reduction iter vars at once, with a loop inside it in another order");
  return OkStatus();
}

// The init runs where every reduction iter var is at its minimum: in the first iteration of the loops that feed them,
// which there is.
Status CheckInitIsFirst(const Schedule& schedule, int block, int loop, const VarMap& first) {
  const BoundRealize realize(schedule, block);
  const auto starts_at = [&](const Expr& value, const Expr& min) {
    if (Analyzer().CanProveEqual(value, min)) return true;
    Analyzer analyzer;
    BindOuterLoops(schedule, block, false, analyzer);
    return analyzer.CanProveEqual(value, min);
  };
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    const IterVar& iter = realize->block->iter_vars[i];
    if (iter.kind != IterKind::kReduce) continue;
    if (!starts_at(Substitute(realize->iter_values[i], first), iter.domain.min))
      return schedule.Error("decompose_reduction", block,
                            fmt::format("iter var \"{}\" does not start at its minimum", iter.var.name()));
  }
  const std::vector<int> loops = LoopsFrom(schedule, loop, block);
  for (int row : loops) {
    const For& inner = schedule.LoopOf(row);
    const bool depends = std::any_of(loops.begin(), loops.end(), [&](int other) {
      const ExprNode* var = schedule.LoopOf(other).loop_var.get();
      return UsesVar(inner.extent, var);
    });
    if (first.count(inner.loop_var.get()) == 0 || !depends) continue;
    Analyzer outside;
    BindOuterLoops(schedule, row, false, outside);
    if (!outside.CanProveGreaterEqual(inner.extent, 1))
      return schedule.Error("decompose_reduction", row, "it might not run at all, and the init neither");
  }
  return OkStatus();
}

bool Touches(const BlockNode& block, const Buffer& buffer) { return Reads(block, buffer) || Writes(block, buffer); }

bool UsesBuffer(const Stmt& stmt, const Buffer& buffer) {
  bool uses = false;
  PostOrderVisit(stmt, [&](const Stmt& s) {
    if (const BufferStore* store = s.As<BufferStore>()) uses = uses || MayAlias(store->buffer, buffer);
    if (const BlockRealize* realize = s.As<BlockRealize>()) uses = uses || Touches(*realize->block, buffer);
  });
  PostOrderVisit(stmt, [&](const Expr& e) {
    if (const BufferLoad* load = e.As<BufferLoad>()) uses = uses || MayAlias(load->buffer, buffer);
  });
  return uses;
}

// Whether the block writes the buffer, or, where it declares less than it touches, what is in it does.
bool MayWrite(const Schedule& schedule, int block, const Buffer& buffer) {
  const BlockNode& node = schedule.BlockOf(block);
  if (Writes(node, buffer) || !schedule.IsHiding(block)) return Writes(node, buffer);
  const std::vector<Buffer> stored = BuffersTouchedIn(node).stored;
  return std::any_of(stored.begin(), stored.end(), [&](const Buffer& other) { return MayAlias(other, buffer); });
}

// The init will run before everything below the loop: nobody there may want what was there before.
Status CheckInitMayGoAhead(const Schedule& schedule, int block, int loop, const BlockNode& init) {
  for (int other : schedule.ChildBlocksOf(loop)) {
    if (other == block) continue;
    const BlockNode& node = schedule.BlockOf(other);
    for (const BufferRegion& write : init.writes) {
      const bool is_touched =
          Touches(node, write.buffer) || (schedule.IsHiding(other) && UsesBuffer(node.body, write.buffer));
      if (!is_touched || IsCovered(schedule, block, other, write.buffer)) continue;
      return schedule.Error("decompose_reduction", block,
                            fmt::format("block \"{}\" below the loop reads \"{}\" as it is before the init", node.name,
                                        write.buffer->name));
    }
    for (const BufferRegion& read : init.reads) {
      if (MayWrite(schedule, other, read.buffer))
        return schedule.Error("decompose_reduction", block,
                              fmt::format("block \"{}\" below the loop writes \"{}\", which the init reads", node.name,
                                          read.buffer->name));
    }
  }
  return OkStatus();
}

// Gives `init` the scratch buffers and views that it uses.
Status AddBuffers(const Schedule& schedule, int block, BlockNode& init) {
  const BlockNode& node = schedule.BlockOf(block);
  for (const Buffer& buffer : node.alloc_buffers) {
    if (!UsesBuffer(*node.init, buffer)) continue;
    if (UsesBuffer(node.body, buffer))
      return schedule.Error(
          "decompose_reduction", block,
          fmt::format("init and update share buffer \"{}\", which lives for one run of the block", buffer->name));
    init.alloc_buffers.push_back(buffer);
  }
  for (const MatchBufferRegion& match : node.match_buffers) {
    if (!UsesBuffer(*node.init, match.buffer)) continue;
    for (const Range& range : match.source.region) {
      const bool is_reduced = std::any_of(node.iter_vars.begin(), node.iter_vars.end(), [&](const IterVar& iter) {
        return iter.kind == IterKind::kReduce && UsesVar(range.min, iter.var.get());
      });
      if (is_reduced)
        return schedule.Error(
            "decompose_reduction", block,
            fmt::format("the init uses view \"{}\" of what a reduction iter var selects", match.buffer->name));
    }
    init.match_buffers.push_back(match);
  }
  return OkStatus();
}

// `predicate` in the first iteration of the loops that reduce, in terms of the new loops.
Expr PredicateOfFirst(const Expr& predicate, const VarMap& first, const VarMap& vars, const Analyzer& analyzer) {
  const Binary* both = predicate.As<Binary>();
  if (both != nullptr && both->op == BinaryOp::kAnd)
    return And(PredicateOfFirst(both->a, first, vars, analyzer), PredicateOfFirst(both->b, first, vars, analyzer));
  const bool reduces = UsesVar(predicate, [&](const ExprNode* var) { return first.count(var) != 0; });
  const Expr renamed = Substitute(Substitute(predicate, first), vars);
  return reduces ? analyzer.Simplify(renamed) : renamed;
}

// The init as a block over the data-parallel iter vars, in loops of its own; and that block. Annotations are kept.
StatusOr<std::pair<Stmt, Block>> MakeInitNest(const Schedule& schedule, int block, int loop, const std::string& name) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const BlockNode& node = *realize.block;
  VarMap vars, first;  // Of the loops that stay; of the others.
  VarMap start;        // Of all that reduce, where an element has its first step.
  std::vector<For> nest;
  for (int row : LoopsFrom(schedule, loop, block)) {
    For copy = schedule.LoopOf(row);
    const Feeds feeds = FeedsOf(realize, copy.loop_var);
    if (feeds.reduce || !feeds.spatial) start.emplace(copy.loop_var.get(), copy.min);
    if (!feeds.spatial) first.emplace(copy.loop_var.get(), copy.min);
    if (!feeds.spatial) continue;
    copy.loop_var = Var(copy.loop_var.name() + "_init", copy.loop_var.dtype());
    copy.min = Substitute(Substitute(copy.min, first), vars);
    copy.extent = Substitute(Substitute(copy.extent, first), vars);
    vars.emplace(schedule.LoopOf(row).loop_var.get(), copy.loop_var);
    const bool depends = UsesVar(schedule.LoopOf(row).extent, [&](const ExprNode* v) { return first.count(v) != 0; }) ||
                         UsesVar(schedule.LoopOf(row).min, [&](const ExprNode* v) { return first.count(v) != 0; });
    if (depends) return schedule.Error("decompose_reduction", row, "its bounds depend on a loop that reduces");
    nest.push_back(std::move(copy));
  }
  RETURN_IF_ERROR(CheckInitIsFirst(schedule, block, loop, start));
  BlockNode init{.name = name, .annotations = node.annotations, .body = *node.init};
  std::vector<Expr> values;
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    if (node.iter_vars[i].kind == IterKind::kReduce) continue;
    init.iter_vars.push_back(node.iter_vars[i]);
    values.push_back(Substitute(realize.iter_values[i], vars));
  }
  RETURN_IF_ERROR(AddBuffers(schedule, block, init));
  RecomputeRegions(init);
  RETURN_IF_ERROR(CheckInitMayGoAhead(schedule, block, loop, init));
  Analyzer analyzer;
  BindOuterLoops(schedule, loop, false, analyzer);
  AssumeShapes(schedule.FuncOf(loop), analyzer);  // 0 < n says nothing then.
  for (const For& copy : nest) analyzer.Bind(copy.loop_var, Range{copy.min, copy.extent});
  const Expr predicate = PredicateOfFirst(realize.predicate, first, vars, analyzer);
  Stmt body = Clone(BlockRealize{std::move(values), predicate, Block(std::move(init))});
  const Block init_block = body.As<BlockRealize>()->block;
  for (size_t i = nest.size(); i-- > 0;) {
    nest[i].body = std::move(body);
    body = nest[i];
  }
  return std::pair(std::move(body), init_block);
}

}  // namespace

StatusOr<BlockRV> DecomposeReduction(Schedule& schedule, BlockRV block_rv, LoopRV loop_rv) {
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
  if (const WhyNot why = WhyNotReduction(schedule, block); !why.empty())
    return schedule.Error("decompose_reduction", block, fmt::format("it is no reduction block: {}", why));
  RETURN_IF_ERROR(CheckPlace(schedule, block, loop));
  RETURN_IF_ERROR(CheckElementsAreComputedOnce(schedule, block, loop));

  const std::string init_name = schedule.FreshBlockName(block, schedule.BlockOf(block).name + "_init");
  const std::string update_name = schedule.FreshBlockName(block, schedule.BlockOf(block).name + "_update");
  ASSIGN_OR_RETURN(auto made, MakeInitNest(schedule, block, loop, init_name));
  auto& [init_nest, init_block] = made;
  BlockRealize update = schedule.RealizeOf(block);
  BlockNode& node = update.block.Mutable();
  node.name = update_name;
  const auto is_for_init = [&, init = *node.init, body = node.body](const Buffer& buffer) {
    return UsesBuffer(init, buffer) && !UsesBuffer(body, buffer);
  };
  std::erase_if(node.alloc_buffers, is_for_init);
  std::erase_if(node.match_buffers, [&](const MatchBufferRegion& match) { return is_for_init(match.buffer); });
  node.init.reset();
  std::vector<BufferRegion> reads;  // What it adds to is read now.
  for (const BufferRegion& write : node.writes)
    if (!Reads(node, write.buffer)) reads.push_back(write);
  node.reads.insert(node.reads.begin(), reads.begin(), reads.end());
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
