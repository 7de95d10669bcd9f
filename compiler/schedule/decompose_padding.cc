#include "compiler/schedule/decompose_padding.h"

#include <fmt/core.h>

#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kDecomposePadding = "decompose_padding";

// buffer[indices] = if_then_else(condition, inside, constant).
struct Padding {
  const BufferStore* store;
  Expr condition, inside, constant;
};

bool IsConstant(const Expr& e) {
  if (const Cast* cast = e.As<Cast>()) return IsConstant(cast->value);
  return e.As<IntImm>() != nullptr || e.As<FloatImm>() != nullptr;
}

StatusOr<Padding> PaddingOf(const Schedule& schedule, int block) {
  const BufferStore* store = schedule.BlockOf(block).body.As<BufferStore>();
  const Call* call = store != nullptr ? store->value.As<Call>() : nullptr;
  if (call == nullptr || call->op != FindOp("if_then_else"))
    return schedule.Error(kDecomposePadding, block,
                          "it does more or else than store T.if_then_else(bounds, value, constant)");
  if (!IsConstant(call->args[2]))
    return schedule.Error(kDecomposePadding, block, "what it stores outside the bounds is no constant");
  return Padding{store, call->args[0], call->args[1], call->args[2]};
}

// What the condition leaves of an iter var's domain.
struct Bounds {
  std::optional<Expr> min, max;
};

// `difference` >= 0 as a bound on one iter var; whether it is one.
bool NoteBound(const Expr& difference, const std::vector<IterVar>& iters, std::vector<Bounds>& bounds,
               const Analyzer& analyzer) {
  const auto uses_iter = [&](const Expr& e) {
    return UsesVar(e, [&](const ExprNode* var) {
      return std::any_of(iters.begin(), iters.end(), [&](const IterVar& iter) { return iter.var.get() == var; });
    });
  };
  for (size_t i = 0; i < iters.size(); ++i) {
    const Expr var = iters[i].var;
    if (var.dtype() != difference.dtype()) continue;
    const Expr below = analyzer.Simplify(var - difference), above = analyzer.Simplify(var + difference);
    if (!uses_iter(below)) {
      bounds[i].min = bounds[i].min ? Max(*bounds[i].min, below) : below;
      return true;
    }
    if (!uses_iter(above)) {
      bounds[i].max = bounds[i].max ? Min(*bounds[i].max, above) : above;
      return true;
    }
  }
  return false;
}

bool NoteBounds(const Expr& condition, const std::vector<IterVar>& iters, std::vector<Bounds>& bounds,
                const Analyzer& analyzer) {
  const Binary* op = condition.As<Binary>();
  if (op == nullptr) return false;
  switch (op->op) {
    case BinaryOp::kAnd:
      return NoteBounds(op->a, iters, bounds, analyzer) && NoteBounds(op->b, iters, bounds, analyzer);
    case BinaryOp::kLT:
      return NoteBound(op->b - op->a - IntConst(op->a.dtype(), 1), iters, bounds, analyzer);
    case BinaryOp::kLE:
      return NoteBound(op->b - op->a, iters, bounds, analyzer);
    case BinaryOp::kGT:
      return NoteBound(op->a - op->b - IntConst(op->a.dtype(), 1), iters, bounds, analyzer);
    case BinaryOp::kGE:
      return NoteBound(op->a - op->b, iters, bounds, analyzer);
    default:
      return false;
  }
}

bool FeedsFrom(const Expr& e, const For& loop) { return UsesVar(e, loop.loop_var.get()); }

// The loop at or below `loop` that an iter var is bound to and nobody else uses; -1 if there is none.
int OwnLoop(const Schedule& schedule, int block, size_t iter, const std::vector<int>& loops) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  for (int row : loops) {
    const For& loop = schedule.LoopOf(row);
    if (!realize.iter_values[iter].same_as(loop.loop_var) || !IsConstInt(loop.min, 0)) continue;
    bool is_shared = FeedsFrom(realize.predicate, loop);
    for (size_t i = 0; i < realize.iter_values.size(); ++i)
      is_shared = is_shared || (i != iter && FeedsFrom(realize.iter_values[i], loop));
    for (int other : loops) is_shared = is_shared || FeedsFrom(schedule.LoopOf(other).extent, loop);
    return is_shared ? -1 : row;
  }
  return -1;
}

// What is known of the lengths of parameters: they are at least 1.
Analyzer WithLengths(const Schedule& schedule, int block) {
  Analyzer analyzer;
  AssumeShapes(schedule.FuncOf(block), analyzer);
  return analyzer;
}

// The part of each domain that is inside, and no more of it than a loop of its own reaches.
StatusOr<std::vector<Range>> InsideOf(const Schedule& schedule, int block, const std::vector<int>& loops,
                                      const Expr& condition) {
  const Analyzer analyzer = WithLengths(schedule, block);
  const std::vector<IterVar>& iters = schedule.BlockOf(block).iter_vars;
  std::vector<Bounds> bounds(iters.size());
  if (!condition.dtype().is_scalar() || !NoteBounds(condition, iters, bounds, analyzer))
    return schedule.Error(kDecomposePadding, block, "the condition is no conjunction of bounds on single iter vars");
  std::vector<Range> inside;
  for (size_t i = 0; i < iters.size(); ++i) {
    const Range& domain = iters[i].domain;
    const Expr one = IntConst(domain.min.dtype(), 1);
    Expr end = domain.min + domain.extent;
    if (const int own = OwnLoop(schedule, block, i, loops); own >= 0) {
      const Expr& reached = schedule.LoopOf(own).extent;
      if (AsIntConst(reached) != nullptr && analyzer.CanProve(Less(reached, end))) end = reached;
    }
    const Expr first = bounds[i].min ? Max(domain.min, *bounds[i].min) : domain.min;
    const Expr last = bounds[i].max ? Min(end - one, *bounds[i].max) : end - one;
    const Range part{analyzer.Simplify(first), analyzer.Simplify(last - first + one)};
    if (!analyzer.CanProveGreaterEqual(part.extent, 1))
      return schedule.Error(kDecomposePadding, block,
                            fmt::format("nothing of iter var \"{}\" is known to be inside", iters[i].var.name()));
    inside.push_back(part);
  }
  return inside;
}

std::vector<int> PaddedLoops(const Schedule& schedule, int loop, int block) {
  std::vector<int> loops = schedule.LoopsOf(block);
  loops.erase(loops.begin(), std::find(loops.begin(), loops.end(), loop));
  return loops;
}

Stmt PaddingNest(const Schedule& schedule, const std::vector<int>& loops, Stmt body, const std::vector<Expr>& extents,
                 bool is_plain) {
  for (size_t i = loops.size(); i-- > 0;) {
    For copy = schedule.LoopOf(loops[i]);
    copy.extent = extents[i];
    if (is_plain) {
      copy.kind = ForKind::kSerial;
      copy.thread.clear();
      copy.annotations.clear();
    }
    copy.body = std::move(body);
    body = std::move(copy);
  }
  return body;
}

std::vector<Expr> ExtentsOf(const Schedule& schedule, const std::vector<int>& loops) {
  std::vector<Expr> extents;
  for (int row : loops) extents.push_back(schedule.LoopOf(row).extent);
  return extents;
}

// The nest that fills, all its variables new.
Stmt FillNest(const Schedule& schedule, int block, const std::vector<int>& loops, const Padding& padding,
              const Analyzer& outer) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  BlockNode fill{.name = schedule.FreshBlockName(block, realize.block->name + "_pad_const"),
                 .iter_vars = realize.block->iter_vars,
                 .body = MakeStore(padding.store->buffer, padding.constant, padding.store->indices)};
  RecomputeRegions(fill);
  std::vector<Expr> values;
  for (const Expr& value : realize.iter_values) values.push_back(outer.Simplify(value));
  const Stmt body = BlockRealize{std::move(values), realize.predicate, Block(std::move(fill))};
  return Clone(PaddingNest(schedule, loops, body, ExtentsOf(schedule, loops), /*is_plain=*/true));
}

// The block over what is inside, in the loops from loops[0] down.
BlockRealize InsideBlock(const Schedule& schedule, int block, const std::vector<int>& loops, const Padding& padding,
                         const std::vector<Range>& inside, std::vector<Expr>& extents, const Analyzer& outer) {
  BlockRealize realize = schedule.RealizeOf(block);
  BlockNode& node = realize.block.Mutable();
  const Analyzer analyzer = WithLengths(schedule, block);
  VarMap shifted;
  Expr is_inside = True();  // Before what the block has asked so far, as in TVM.
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    IterVar& iter = node.iter_vars[i];
    const Range before = iter.domain;
    const Expr value = outer.Simplify(realize.iter_values[i]);
    realize.iter_values[i] = value;
    if (analyzer.CanProveEqual(before.min, inside[i].min) && analyzer.CanProveEqual(before.extent, inside[i].extent))
      continue;
    shifted.emplace(iter.var.get(), iter.var + inside[i].min);
    iter.domain = {IntConst(iter.var.dtype(), 0), inside[i].extent};
    const int own = IsConstInt(before.min, 0) ? OwnLoop(schedule, block, i, loops) : -1;
    if (own >= 0 && analyzer.CanProve(LessEqual(inside[i].min + inside[i].extent, schedule.LoopOf(own).extent))) {
      extents[std::find(loops.begin(), loops.end(), own) - loops.begin()] = inside[i].extent;
      continue;
    }
    realize.iter_values[i] = outer.Simplify(value - inside[i].min);
    is_inside = And(is_inside, outer.Simplify(LessEqual(inside[i].min, value)));
    is_inside = And(is_inside, outer.Simplify(Less(value, inside[i].min + inside[i].extent)));
  }
  realize.predicate = And(is_inside, realize.predicate);
  std::vector<Expr> indices;
  for (const Expr& index : padding.store->indices) indices.push_back(analyzer.Simplify(Substitute(index, shifted)));
  node.body = MakeStore(padding.store->buffer, analyzer.Simplify(Substitute(padding.inside, shifted)), indices);
  RecomputeRegions(node);
  return realize;
}

bool IsShared(const Schedule& schedule, int loop) { return schedule.ChildBlocksOf(loop).size() > 1; }

// The statement of `loop` with `nest` in the place of the block and the loops around it alone.
Stmt WithNest(const Schedule& schedule, int loop, int block, const std::vector<int>& own, Stmt nest) {
  if (!IsShared(schedule, loop)) return nest;
  const Stmt old = schedule.StmtOf(own.empty() ? block : own.front());
  return *RewriteTree(schedule.StmtOf(loop), [&](const Stmt& stmt) -> Replacement {
    if (!stmt.same_as(old)) return std::nullopt;
    return std::vector<Stmt>{nest};
  });
}

// What is filled before all of the loop runs is seen by nobody before the block has made the rest of it, too.
Status CheckOthersBelow(const Schedule& schedule, int block, int loop, const Buffer& buffer) {
  const auto refuse = [&](int other, const std::string& why) {
    return schedule.Error(kDecomposePadding, loop,
                          fmt::format("below it block \"{}\" {}; choose a loop of block \"{}\" alone",
                                      schedule.BlockOf(other).name, why, schedule.BlockOf(block).name));
  };
  for (int other : schedule.ChildBlocksOf(loop)) {
    if (other == block) continue;
    const BlockNode& node = schedule.BlockOf(other);
    if (schedule.IsHiding(other)) return refuse(other, "touches more than it declares");
    if (Writes(node, buffer)) return refuse(other, fmt::format("writes \"{}\", too", buffer->name));
    if (Reads(node, buffer) && !IsCovered(schedule, block, other, buffer))
      return refuse(other, fmt::format("may read what another iteration makes of \"{}\"", buffer->name));
  }
  if (IsShared(schedule, loop) && IsReadOutsideBlocksBelow(schedule, loop, buffer))
    return schedule.Error(kDecomposePadding, loop,
                          fmt::format("below it buffer \"{}\" is read outside of blocks", buffer->name));
  for (int row : PaddedLoops(schedule, loop, block))
    if (schedule.LoopOf(row).kind == ForKind::kThreadBinding && IsShared(schedule, row))
      return refuse(block, "runs in threads that share their loop with others");
  return OkStatus();
}

Status CheckPaddingBlock(const Schedule& schedule, int block, int loop) {
  if (const WhyNot why = WhyNotComplete(schedule, block); !why.empty())
    return schedule.Error(kDecomposePadding, block, fmt::format("it is not complete: {}", why));
  RETURN_IF_ERROR(CheckIsolated(schedule, block, kDecomposePadding));
  if (!schedule.IsAncestor(loop, block) || schedule.ScopeOf(loop) != schedule.ScopeOf(block))
    return schedule.Error(kDecomposePadding, loop,
                          fmt::format("it is not around block \"{}\"", schedule.BlockOf(block).name));
  if (IsConditional(schedule, loop, block))
    return schedule.Error(kDecomposePadding, loop, "an if, while or let inside is a condition that would be lost");
  if (!WritesOneValuePerElement(schedule.BlockOf(block)))
    return schedule.Error(kDecomposePadding, block, "an iter var is no index of what it writes");
  return OkStatus();
}

}  // namespace

StatusOr<BlockRV> DecomposePadding(Schedule& schedule, BlockRV block_rv, LoopRV loop_rv) {
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
  RETURN_IF_ERROR(CheckPaddingBlock(schedule, block, loop));
  ASSIGN_OR_RETURN(const Padding padding, PaddingOf(schedule, block));
  RETURN_IF_ERROR(CheckOthersBelow(schedule, block, loop, padding.store->buffer));
  Analyzer outer;
  BindOuterLoops(schedule, loop, false, outer);
  const std::vector<int> loops = PaddedLoops(schedule, loop, block);
  std::vector<int> own = loops;
  std::erase_if(own, [&](int row) { return IsShared(schedule, row); });
  ASSIGN_OR_RETURN(const std::vector<Range> inside, InsideOf(schedule, block, own, padding.condition));
  const Stmt fill = FillNest(schedule, block, loops, padding, outer);
  std::vector<Expr> extents = ExtentsOf(schedule, own);
  const BlockRealize copy = InsideBlock(schedule, block, own, padding, inside, extents, outer);
  Stmt rest = WithNest(schedule, loop, block, own, PaddingNest(schedule, own, copy, extents, /*is_plain=*/false));
  Stmt first = fill;
  while (const For* next = first.As<For>()) first = next->body;
  const Block made = first.As<BlockRealize>()->block;
  std::vector<int> outside;  // Where tiles overlap, which may then not run at once.
  const bool is_shared = IsShared(schedule, loop);
  if (is_shared || !schedule.IsAffineBinding(block)) outside = schedule.LoopsOf(block);
  if (!is_shared) outside.erase(std::find(outside.begin(), outside.end(), loop), outside.end());
  RETURN_IF_ERROR(ReplaceUnderMarks(schedule, loop, MakeSeq({fill, std::move(rest)}), outside, kDecomposePadding, block,
                                    {{block, copy.block}}));
  const BlockRV result = schedule.NewBlockRV(made);
  schedule.Record("DecomposePadding", {block_rv, loop_rv}, {}, {result.id});
  return result;
}

}  // namespace lathe
