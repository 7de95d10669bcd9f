#include "compiler/schedule/layout_padding.h"

#include <algorithm>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"

namespace lathe {
namespace {

// A store into the buffer and the loops that say where it goes: from the first to the last that its indices use.
struct Write {
  std::vector<Stmt> loops;
  std::optional<Stmt> realize;  // The innermost block around.
  Stmt store;
  std::vector<Expr> indices;        // In terms of iter vars.
  std::vector<Expr> bound_indices;  // In terms of loops.
};

class WriteFinder : public StmtExprVisitor {
 public:
  explicit WriteFinder(const Buffer& buffer) : buffer_(buffer) {}
  std::vector<Write> writes;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    loops_.push_back(self);
    StmtExprVisitor::VisitFor(self, loop);
    loops_.pop_back();
  }
  void VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    for (size_t i = 0; i < realize.iter_values.size(); ++i)
      bound_.insert_or_assign(realize.block->iter_vars[i].var.get(), Substitute(realize.iter_values[i], bound_));
    const std::optional<Stmt> outer = std::exchange(realize_, self);
    StmtExprVisitor::VisitBlockRealize(self, realize);
    realize_ = outer;
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    StmtExprVisitor::VisitBufferStore(self, store);
    if (!store.buffer.same_as(buffer_)) return;
    Write write{{}, realize_, self, store.indices, {}};
    for (const Expr& index : store.indices) write.bound_indices.push_back(Substitute(index, bound_));
    const auto is_used = [&](const Stmt& loop) {
      const ExprNode* loop_var = loop.As<For>()->loop_var.get();
      return std::any_of(write.bound_indices.begin(), write.bound_indices.end(),
                         [&](const Expr& index) { return UsesVar(index, loop_var); });
    };
    const auto first = std::find_if(loops_.begin(), loops_.end(), is_used);
    const auto last = std::find_if(loops_.rbegin(), std::make_reverse_iterator(first), is_used).base();
    write.loops.assign(first, last);
    writes.push_back(std::move(write));
  }

 private:
  const Buffer& buffer_;
  std::vector<Stmt> loops_;
  std::optional<Stmt> realize_;
  VarMap bound_;
};

// Loops over `to`, and a block in them with an iter var for each: "axis0" and "v_axis0".
struct PointNest {
  std::vector<Var> loops;
  std::vector<IterVar> iters;
  std::vector<Expr> points;   // The iter vars.
  VarMap of_iters, of_loops;  // The variables of the inverse map.

  explicit PointNest(const PaddedLayout& layout) {
    const std::vector<Var>& axes = layout.inverse.map.initial_indices;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Expr& extent = layout.to->shape[i];
      loops.emplace_back(axes[i].name(), extent.dtype());
      iters.push_back({Range{IntConst(extent.dtype(), 0), extent}, Var("v_" + axes[i].name(), extent.dtype())});
      points.push_back(iters.back().var);
      of_iters.emplace(axes[i].get(), iters.back().var);
      of_loops.emplace(axes[i].get(), loops.back());
    }
  }
  Stmt Around(Stmt body, const PaddedLayout& layout) const {
    for (size_t i = loops.size(); i-- > 0;) body = MakeFor(loops[i], layout.to->shape[i], std::move(body));
    return body;
  }
  Stmt Around(BlockNode block, const Expr& predicate, const PaddedLayout& layout) const {
    RecomputeRegions(block);
    const std::vector<Expr> values(loops.begin(), loops.end());
    return Around(BlockRealize{values, predicate, Block(std::move(block))}, layout);
  }
};

Expr ValueAt(const PaddedLayout& layout, const std::vector<Expr>& points) {
  return (*layout.value.MapIndices(points, Analyzer()))[0];
}

// The caller fills the gaps: T.assume(not gap or A[...] == value).
Stmt Assumption(const PaddedLayout& layout) {
  const PointNest nest(layout);
  const Expr gap = Substitute(layout.inverse.padding_predicate, nest.of_iters);
  const Expr as_told = Equal(Load(layout.to, nest.points), ValueAt(layout, nest.points));
  const Expr claim = MakeBinary(BinaryOp::kOr, MakeNot(gap), as_told);
  BlockNode block{.name = "buffer_" + layout.to->name + "_assumptions",
                  .iter_vars = nest.iters,
                  .body = Evaluate{MakeCall(DataType::Bool(), "assume", {claim})}};
  return nest.Around(std::move(block), True(), layout);
}

Stmt FillNest(const PaddedLayout& layout) {
  const PointNest nest(layout);
  BlockNode block{.name = "buffer_" + layout.to->name + "_padding",
                  .iter_vars = nest.iters,
                  .body = MakeStore(layout.to, ValueAt(layout, nest.points), nest.points)};
  return nest.Around(std::move(block), Substitute(layout.inverse.padding_predicate, nest.of_loops), layout);
}

// ---- Nests that run over the old shape

// The loops are those of the buffer's dimensions, in order, one right in the other, and nothing but serial.
bool IsRowMajor(const Write& write, const Buffer& buffer) {
  if (write.loops.empty() || write.loops.size() != buffer->shape.size()) return false;
  for (size_t i = 0; i < write.loops.size(); ++i) {
    const For& loop = *write.loops[i].As<For>();
    const bool is_next = i + 1 == write.loops.size() || loop.body.same_as(write.loops[i + 1]);
    if (!is_next || !write.bound_indices[i].same_as(loop.loop_var) || !IsConstInt(loop.min, 0) ||
        !StructuralEqual(loop.extent, buffer->shape[i]) || loop.kind != ForKind::kSerial || !loop.annotations.empty())
      return false;
  }
  return true;
}

// Stores of a block, all of them into the buffer and at `indices`, write the padding where there is a gap. There may be
// nothing else in it: what a condition or let reads is not there for the gap.
class GuardStores : public StmtExprMutator {
 public:
  GuardStores(const Write& write, const Expr& gap, const Expr& value) : write_(write), gap_(gap), value_(value) {}
  bool are_all_alike = true;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    are_all_alike = are_all_alike && (stmt.As<BufferStore>() != nullptr || stmt.As<Seq>() != nullptr);
    return StmtExprMutator::VisitStmt(stmt);
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    bool is_alike = store.indices.size() == write_.indices.size() && !store.predicate &&
                    store.buffer.same_as(write_.store.As<BufferStore>()->buffer);
    for (size_t i = 0; is_alike && i < store.indices.size(); ++i)
      is_alike = StructuralEqual(store.indices[i], write_.indices[i]);
    are_all_alike = are_all_alike && is_alike;
    if (!is_alike) return self;
    return MakeStore(store.buffer, MakeCall(store.value.dtype(), "if_then_else", {gap_, value_, store.value}),
                     store.indices);
  }

 private:
  const Write& write_;
  const Expr gap_, value_;
};

bool FeedsFrom(const Expr& e, const std::vector<Stmt>& loops) {
  return UsesVar(e, [&](const ExprNode* var) {
    return std::any_of(loops.begin(), loops.end(),
                       [&](const Stmt& each) { return each.As<For>()->loop_var.get() == var; });
  });
}

// The block of `realize` with the new points for the iter vars that the loops of `write` are bound to.
std::optional<BlockRealize> OverPoints(const BlockRealize& realize, const Write& write, const PointNest& nest,
                                       const PaddedLayout& layout) {
  BlockRealize result{{}, realize.predicate, realize.block};
  BlockNode& block = result.block.Mutable();
  block.iter_vars.clear();
  VarMap old_iters;
  const Expr gap = Substitute(layout.inverse.padding_predicate, nest.of_iters);
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    const IterVar& iter = realize.block->iter_vars[i];
    const auto loop = std::find_if(write.loops.begin(), write.loops.end(),
                                   [&](const Stmt& each) { return value.same_as(each.As<For>()->loop_var); });
    if (loop != write.loops.end()) {
      if (iter.kind != IterKind::kSpatial) return std::nullopt;
      if (old_iters.empty()) {
        block.iter_vars.insert(block.iter_vars.end(), nest.iters.begin(), nest.iters.end());
        result.iter_values.insert(result.iter_values.end(), nest.loops.begin(), nest.loops.end());
      }
      old_iters.emplace(iter.var.get(),
                        Substitute(layout.inverse.map.final_indices[loop - write.loops.begin()], nest.of_iters));
      continue;
    }
    block.iter_vars.push_back(iter);
    result.iter_values.push_back(value);
  }
  GuardStores guard(write, gap, ValueAt(layout, nest.points));
  block.body = Substitute(guard(block.body), old_iters);
  if (block.init) block.init = Substitute(guard(*block.init), old_iters);
  const auto uses_old_loop = [&](const Expr& e) { return FeedsFrom(e, write.loops); };
  const bool is_free = !uses_old_loop(result.predicate) &&
                       std::none_of(result.iter_values.begin(), result.iter_values.end(), uses_old_loop);
  if (!guard.are_all_alike || !is_free || !block.match_buffers.empty()) return std::nullopt;
  return result;
}

// The nest over the new shape; nullopt if below the loops there is more than loops around one block.
std::optional<Stmt> NestOverPoints(const Write& write, const PaddedLayout& layout, PaddingPlan& plan) {
  if (!write.realize || !IsRowMajor(write, layout.from)) return std::nullopt;
  std::vector<For> inner;
  Stmt at = write.loops.back().As<For>()->body;
  for (const For* loop = at.As<For>(); loop != nullptr; loop = at.As<For>()) {
    inner.push_back(*loop);
    at = loop->body;
  }
  const auto moves_with_the_nest = [&](const For& loop) {
    return FeedsFrom(loop.min, write.loops) || FeedsFrom(loop.extent, write.loops);
  };
  if (!at.same_as(*write.realize) || std::any_of(inner.begin(), inner.end(), moves_with_the_nest)) return std::nullopt;
  const PointNest nest(layout);
  const BlockRealize& realize = *at.As<BlockRealize>();
  const std::optional<BlockRealize> made = OverPoints(realize, write, nest, layout);
  if (!made) return std::nullopt;
  plan.originals.emplace(made->block.get(), realize.block);
  PaddingPlan::Place place{{}, nest.points};
  for (const Expr& index : layout.inverse.map.final_indices) place.from.push_back(Substitute(index, nest.of_iters));
  plan.places.emplace(made->block.get(), std::move(place));
  Stmt body = *made;
  for (size_t i = inner.size(); i-- > 0;) {
    inner[i].body = std::move(body);
    body = inner[i];
  }
  return nest.Around(std::move(body), layout);
}

}  // namespace

PaddingPlan PlanPadding(const Stmt& site, const PaddedLayout& layout) {
  PaddingPlan plan;
  WriteFinder finder(layout.from);
  finder(site);
  if (finder.writes.empty()) {
    plan.prologue = Assumption(layout);
    return plan;
  }
  for (const Write& write : finder.writes) {
    if (write.loops.empty() || plan.replacements.contains(write.loops[0].get())) continue;
    if (std::optional<Stmt> nest = NestOverPoints(write, layout, plan))
      plan.replacements.emplace(write.loops[0].get(), *std::move(nest));
  }
  if (!plan.replacements.empty()) return plan;
  const Write& last = finder.writes.back();
  plan.anchor = !last.loops.empty() ? last.loops[0] : last.realize ? *last.realize : last.store;
  plan.epilogue = FillNest(layout);
  return plan;
}

}  // namespace lathe
