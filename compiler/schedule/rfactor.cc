#include "compiler/schedule/rfactor.h"

#include <fmt/core.h>

#include "compiler/arith/linear.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/reducer.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kRFactor = "rfactor";

bool Uses(const Expr& e, const Var& var) { return UsesVar(e, var.get()); }

// What is known of the reduction and its loops once it may be taken apart.
struct FactorPlan {
  int block, loop;
  std::vector<int> loops;   // From the first that is copied down to the block.
  std::vector<int> reduce;  // Those of them that feed reduction iter vars.
  size_t axis = 0;
  MatchedReduction reduction;
};

bool IsFed(const BlockRealize& realize, IterKind kind, const Var& loop) {
  for (size_t i = 0; i < realize.iter_values.size(); ++i)
    if (realize.block->iter_vars[i].kind == kind && Uses(realize.iter_values[i], loop)) return true;
  return false;
}

bool HasRow(const std::vector<int>& rows, int row) { return std::find(rows.begin(), rows.end(), row) != rows.end(); }

bool UsesLoops(const Schedule& schedule, const Expr& e, const std::vector<int>& loops) {
  return std::any_of(loops.begin(), loops.end(), [&](int row) { return Uses(e, schedule.LoopOf(row).loop_var); });
}

Status CheckFactoredLoop(const Schedule& schedule, const FactorPlan& plan) {
  const For& loop = schedule.LoopOf(plan.loop);
  if (loop.kind != ForKind::kSerial || !loop.annotations.empty())
    return schedule.Error(kRFactor, plan.loop, "the loop is annotated or not serial; rfactor first, then mark it");
  if (HasLoad(loop.extent))
    return schedule.Error(kRFactor, plan.loop, "its extent, which the new buffer would have, is read from memory");
  if (!IsConstInt(loop.min, 0))
    return schedule.Error(kRFactor, plan.loop, "it does not start at 0, as the new dimension does");
  if (!HasRow(plan.reduce, plan.loop))
    return schedule.Error(kRFactor, plan.loop, "it feeds no reduction iter var; choose a loop that reduces");
  if (UsesLoops(schedule, loop.extent, schedule.LoopsOf(plan.block)) ||
      UsesLoops(schedule, loop.min, schedule.LoopsOf(plan.block)))
    return schedule.Error(kRFactor, plan.loop, "its bounds depend on another loop");
  return OkStatus();
}

// Sorts the loops around the block; each does one thing.
Status SortLoops(const Schedule& schedule, FactorPlan& plan) {
  const BlockRealize& realize = schedule.RealizeOf(plan.block);
  for (int row : schedule.LoopsOf(plan.block)) {
    const For& loop = schedule.LoopOf(row);
    const bool spatial = IsFed(realize, IterKind::kSpatial, loop.loop_var);
    const bool reduce = IsFed(realize, IterKind::kReduce, loop.loop_var);
    const bool is_unit = IsConstInt(loop.extent, 1);
    if (spatial && reduce)
      return schedule.Error(kRFactor, row, "it feeds data-parallel and reduction iter vars at once");
    if (!spatial && !reduce && !is_unit) {
      if (!plan.loops.empty()) return schedule.Error(kRFactor, row, "it repeats the block without feeding an iter var");
      continue;
    }
    plan.loops.push_back(row);
    if (reduce) plan.reduce.push_back(row);
  }
  return CheckFactoredLoop(schedule, plan);
}

// The copies run before everything else below the outermost loop; loops that reduce vanish around the block.
Status CheckFactorPlace(const Schedule& schedule, const FactorPlan& plan) {
  const int top = plan.loops[0];
  const std::vector<int> blocks = schedule.ChildBlocksOf(top);
  if (blocks[0] != plan.block)
    return schedule.Error(kRFactor, plan.block,
                          fmt::format("block \"{}\" comes first below loop \"{}\"", schedule.BlockOf(blocks[0]).name,
                                      schedule.LoopOf(top).loop_var.name()));
  if (schedule.ChildBlocksOf(plan.reduce[0]).size() > 1)
    return schedule.Error(kRFactor, plan.reduce[0], "there is another block below this loop, which reduces");
  if (IsConditional(schedule, top, plan.block))
    return schedule.Error(kRFactor, plan.block, "an if, while or let around it is a condition that would be lost");
  for (int other : blocks) {
    if (other != plan.block && schedule.IsHiding(other))
      return schedule.Error(kRFactor, other, "it touches more than it declares, perhaps what the partial results need");
    for (const BufferRegion& read : schedule.BlockOf(plan.block).reads)
      if (other != plan.block && Writes(schedule.BlockOf(other), read.buffer))
        return schedule.Error(
            kRFactor, other, fmt::format("it writes \"{}\", which the partial results need before", read.buffer->name));
  }
  for (int row : plan.loops)
    if (!HasRow(plan.reduce, row) && UsesLoops(schedule, schedule.LoopOf(row).extent, plan.reduce))
      return schedule.Error(kRFactor, row, "its extent depends on a loop that reduces");
  return OkStatus();
}

// The parts of the predicate that no loop that reduces has a say in.
Expr PredicateOfOutputs(const Schedule& schedule, const FactorPlan& plan) {
  Expr kept = True();
  for (const Expr& part : ConjunctsOf(schedule.RealizeOf(plan.block).predicate))
    if (!UsesLoops(schedule, part, plan.reduce)) kept = And(kept, part);
  return kept;
}

// Of a loop below ceildiv(n, c), each iteration times c is below n.
void AssumeStarts(const For& loop, Analyzer& analyzer) {
  const Binary* quotient = loop.extent.As<Binary>();
  const int64_t* divisor = quotient == nullptr ? nullptr : AsIntConst(quotient->b);
  if (divisor == nullptr || quotient->op != BinaryOp::kFloorDiv || *divisor <= 0 || !IsConstInt(loop.min, 0)) return;
  const Expr end = (loop.loop_var + IntConst(loop.extent.dtype(), 1)) * quotient->b;
  analyzer.Assume(LessEqual(end, quotient->a));
}

// Each partial result, like the whole one, starts with its init: in the first iteration of the other loops that reduce
// all reduction iter vars are at their minimum and the predicate holds.
Status CheckInits(const Schedule& schedule, const FactorPlan& plan) {
  const BlockRealize& realize = schedule.RealizeOf(plan.block);
  Analyzer analyzer;
  BindOuterLoops(schedule, plan.block, false, analyzer);
  analyzer.Assume(PredicateOfOutputs(schedule, plan));
  VarMap all, others;
  for (int row : plan.reduce) {
    const For& loop = schedule.LoopOf(row);
    all.emplace(loop.loop_var.get(), loop.min);
    if (row != plan.loop) others.emplace(loop.loop_var.get(), loop.min);
    AssumeStarts(loop, analyzer);
  }
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& iter = realize.block->iter_vars[i];
    if (iter.kind == IterKind::kReduce &&
        !analyzer.CanProveEqual(Substitute(realize.iter_values[i], all), iter.domain.min))
      return schedule.Error(kRFactor, plan.block,
                            fmt::format("iter var \"{}\" does not start at its minimum", iter.var.name()));
  }
  for (const Expr& part : ConjunctsOf(realize.predicate)) {
    if (UsesLoops(schedule, part, plan.reduce) && !analyzer.CanProve(Substitute(part, others)))
      return schedule.Error(kRFactor, plan.block,
                            "its predicate leaves some iterations of the loop without an init; choose factors that "
                            "leave none empty");
  }
  return OkStatus();
}

StatusOr<size_t> AxisOf(const Schedule& schedule, int block, const MatchedReduction& reduction, int factor_axis) {
  const Buffer& buffer = reduction.outputs[0];
  const int rank = static_cast<int>(buffer->shape.size());
  for (const Buffer& other : reduction.outputs)
    if (other->shape.size() != buffer->shape.size())
      return schedule.Error(kRFactor, block,
                            fmt::format("outputs \"{}\" and \"{}\" differ in rank", buffer->name, other->name));
  if (factor_axis < -rank - 1 || factor_axis > rank)
    return schedule.Error(kRFactor, block,
                          fmt::format("buffer \"{}\" has {} dimensions, factor_axis {} is not in [{}, {}]",
                                      buffer->name, rank, factor_axis, -rank - 1, rank));
  return static_cast<size_t>(factor_axis < 0 ? factor_axis + rank + 1 : factor_axis);
}

StatusOr<FactorPlan> MakeFactorPlan(const Schedule& schedule, int loop, int factor_axis) {
  const std::vector<int> blocks = schedule.ChildBlocksOf(loop);
  if (blocks.size() != 1)
    return schedule.Error(kRFactor, loop, fmt::format("there are {} blocks below it, one is required", blocks.size()));
  FactorPlan plan{.block = blocks[0], .loop = loop};
  if (const WhyNot why = WhyNotReduction(schedule, plan.block); !why.empty())
    return schedule.Error(kRFactor, plan.block, fmt::format("it is no reduction block: {}", why));
  RETURN_IF_ERROR(CheckIsolated(schedule, plan.block, kRFactor));
  if (const WhyNot why = WhyNotSchedulable(schedule, plan.block); !why.empty())
    return schedule.Error(kRFactor, plan.block, why);
  const BlockNode& node = schedule.BlockOf(plan.block);
  if (!WritesOneValuePerElement(node))
    return schedule.Error(kRFactor, plan.block, "a data-parallel iter var is no index of what it writes");
  if (!node.match_buffers.empty() || !node.alloc_buffers.empty())
    return schedule.Error(kRFactor, plan.block, "it has buffers or views of its own");
  RETURN_IF_ERROR(SortLoops(schedule, plan));
  RETURN_IF_ERROR(CheckFactorPlace(schedule, plan));
  RETURN_IF_ERROR(CheckInits(schedule, plan));
  StatusOr<MatchedReduction> reduction = MatchReduction(node);
  if (!reduction.ok()) return schedule.Error(kRFactor, plan.block, std::string(reduction.status().message()));
  plan.reduction = *std::move(reduction);
  ASSIGN_OR_RETURN(plan.axis, AxisOf(schedule, plan.block, plan.reduction, factor_axis));
  return plan;
}

template <typename T>
std::vector<T> Inserted(std::vector<T> items, size_t at, T item) {
  items.insert(items.begin() + at, std::move(item));
  return items;
}

// Outputs become their partial results.
class PartialRedirector : public StmtExprMutator {
 public:
  PartialRedirector(const BufferMap& partial, const VarMap& vars, size_t axis, const Var& factor)
      : partial_(partial), vars_(vars), axis_(axis), factor_(factor) {}

 protected:
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const auto found = partial_.find(load.buffer.get());
    if (found == partial_.end()) return visited;
    return Load(found->second, Inserted<Expr>(visited.As<BufferLoad>()->indices, axis_, factor_));
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const auto found = partial_.find(store.buffer.get());
    if (found == partial_.end()) return visited;
    const BufferStore& changed = *visited.As<BufferStore>();
    return MakeStore(found->second, changed.value, Inserted<Expr>(changed.indices, axis_, factor_));
  }

 private:
  const BufferMap& partial_;
  const VarMap& vars_;
  size_t axis_;
  const Var& factor_;
};

// Builds both blocks.
class Factoring {
 public:
  Factoring(const Schedule& schedule, const FactorPlan& plan)
      : schedule_(schedule),
        plan_(plan),
        realize_(schedule.RealizeOf(plan.block)),
        factor_("v" + schedule.LoopOf(plan.loop).loop_var.name(), schedule.LoopOf(plan.loop).loop_var.dtype()) {
    const For& loop = schedule.LoopOf(plan.loop);
    for (const Buffer& output : plan.reduction.outputs) {
      buffers_.push_back(MakeBuffer(output->name + "_rf", Inserted(output->shape, plan.axis, loop.extent),
                                    output->dtype, output->scope));
      partial_.emplace(output.get(), buffers_.back());
    }
  }
  const std::vector<Buffer>& buffers() const { return buffers_; }

  // The nest that makes the partial results, all its variables new.
  Stmt MakePartialNest(const std::string& name) const {
    BlockNode block = *realize_.block;
    block.name = name;
    block.iter_vars = {FactorIter(IterKind::kSpatial)};
    std::vector<Expr> values{FactorLoop()};
    VarMap vars;
    const bool reduces = AddIters(block, values, vars);
    PartialRedirector redirect(partial_, vars, plan_.axis, factor_);
    if (reduces) {
      block.init = redirect(*block.init);
      block.body = redirect(block.body);
    } else {
      block.init.reset();
      block.body = StoreTerms(vars);
    }
    block.reads = RegionsWith(realize_.block->reads, vars);
    for (BufferRegion& write : block.writes) write = PartialRegion(write);
    Stmt nest = BlockRealize{std::move(values), realize_.predicate, Block(std::move(block))};
    for (size_t i = plan_.loops.size(); i-- > 0;) {
      For loop = schedule_.LoopOf(plan_.loops[i]);
      loop.body = std::move(nest);
      nest = std::move(loop);
    }
    return Clone(nest);
  }

  BlockRealize MakeFinalBlock() const {
    BlockNode block = *realize_.block;
    block.iter_vars = {FactorIter(IterKind::kReduce)};
    std::vector<Expr> values{FactorLoop()};
    for (size_t i = 0; i < realize_.iter_values.size(); ++i) {
      if (realize_.block->iter_vars[i].kind == IterKind::kReduce) continue;
      block.iter_vars.push_back(realize_.block->iter_vars[i]);
      values.push_back(realize_.iter_values[i]);
    }
    std::vector<Expr> terms;
    block.reads.clear();
    for (size_t i = 0; i < buffers_.size(); ++i) {
      terms.push_back(Load(buffers_[i], Inserted<Expr>(plan_.reduction.indices[i], plan_.axis, factor_)));
      block.reads.push_back(PartialRegion(WriteOf(plan_.reduction.outputs[i])));
    }
    block.body = MakeUpdate(*plan_.reduction.reducer, plan_.reduction.outputs, plan_.reduction.indices, terms);
    return {std::move(values), PredicateOfOutputs(schedule_, plan_), Block(std::move(block))};
  }

 private:
  IterVar FactorIter(IterKind kind) const {
    const For& loop = schedule_.LoopOf(plan_.loop);
    return {Range{loop.min, loop.extent}, factor_, kind};
  }
  Expr FactorLoop() const { return schedule_.LoopOf(plan_.loop).loop_var; }

  // The iter vars of the block, those that the loop feeds replaced by one for each loop that feeds them. Whether any
  // still reduces.
  bool AddIters(BlockNode& block, std::vector<Expr>& values, VarMap& vars) const {
    VarMap by_loop{{schedule_.LoopOf(plan_.loop).loop_var.get(), factor_}};
    bool reduces = false;
    for (size_t i = 0; i < realize_.iter_values.size(); ++i) {
      const IterVar& iter = realize_.block->iter_vars[i];
      const Expr& value = realize_.iter_values[i];
      if (!Uses(value, schedule_.LoopOf(plan_.loop).loop_var)) {
        block.iter_vars.push_back(iter);
        values.push_back(value);
        reduces = reduces || iter.kind == IterKind::kReduce;
        continue;
      }
      for (int row : plan_.reduce) {
        const For& loop = schedule_.LoopOf(row);
        if (!Uses(value, loop.loop_var) || by_loop.count(loop.loop_var.get()) != 0) continue;
        const Var var("v" + loop.loop_var.name(), loop.loop_var.dtype());
        by_loop.emplace(loop.loop_var.get(), var);
        block.iter_vars.push_back({Range{loop.min, loop.extent}, var, IterKind::kReduce});
        values.push_back(loop.loop_var);
        reduces = true;
      }
      vars.emplace(iter.var.get(), Substitute(value, by_loop));
    }
    return reduces;
  }

  Stmt StoreTerms(const VarMap& vars) const {
    std::vector<Stmt> stores;
    for (size_t i = 0; i < buffers_.size(); ++i)
      stores.push_back(MakeStore(buffers_[i], Substitute(plan_.reduction.terms[i], vars),
                                 Inserted<Expr>(plan_.reduction.indices[i], plan_.axis, factor_)));
    return MakeSeq(std::move(stores));
  }
  const BufferRegion& WriteOf(const Buffer& output) const {
    const auto& writes = realize_.block->writes;
    return *std::find_if(writes.begin(), writes.end(), [&](const auto& write) { return write.buffer.same_as(output); });
  }
  BufferRegion PartialRegion(const BufferRegion& write) const {
    return {partial_.at(write.buffer.get()),
            Inserted(write.region, plan_.axis, Range{factor_, IntConst(factor_.dtype(), 1)})};
  }

  const Schedule& schedule_;
  const FactorPlan& plan_;
  const BlockRealize& realize_;
  const Var factor_;
  std::vector<Buffer> buffers_;
  BufferMap partial_;
};

// The nest without the loops that reduce but for the factored one, with `block` in the place of the old one.
Stmt FinalNest(const Schedule& schedule, const FactorPlan& plan, const Stmt& nest, const BlockRealize& block) {
  const Stmt old_block = schedule.StmtOf(plan.block);
  return *RewriteTree(nest, [&](const Stmt& stmt) -> Replacement {
    if (stmt.same_as(old_block)) return std::vector<Stmt>{block};
    for (int row : plan.reduce)
      if (row != plan.loop && stmt.same_as(schedule.StmtOf(row)))
        return std::vector<Stmt>{FinalNest(schedule, plan, schedule.LoopOf(row).body, block)};
    return std::nullopt;
  });
}

Block BlockIn(const Stmt& nest) {
  const For* loop = nest.As<For>();
  return loop != nullptr ? BlockIn(loop->body) : nest.As<BlockRealize>()->block;
}

}  // namespace

StatusOr<BlockRV> RFactor(Schedule& schedule, LoopRV loop_rv, int factor_axis) {
  ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
  ASSIGN_OR_RETURN(const FactorPlan plan, MakeFactorPlan(schedule, loop, factor_axis));
  const int scope = schedule.ScopeOf(plan.block);
  const bool hides = schedule.IsHiding(plan.block), hides_stores = schedule.IsHidingStores(plan.block);
  const Factoring factoring(schedule, plan);
  const Stmt partial =
      factoring.MakePartialNest(schedule.FreshBlockName(plan.block, schedule.BlockOf(plan.block).name + "_rf"));
  const BlockRealize last = factoring.MakeFinalBlock();
  const Stmt top = schedule.StmtOf(plan.loops[0]);
  const Stmt body = *RewriteTree(schedule.BlockOf(scope).body, [&](const Stmt& stmt) -> Replacement {
    if (!stmt.same_as(top)) return std::nullopt;
    return std::vector<Stmt>{partial, FinalNest(schedule, plan, stmt, last)};
  });
  const Block made = BlockIn(partial);
  std::vector<int> kept = schedule.LoopsOf(plan.block);
  std::erase_if(kept, [&](int row) { return row != plan.loop && HasRow(plan.reduce, row); });
  RETURN_IF_ERROR(ReplaceUnderMarks(schedule, scope, WithBody(schedule.RealizeOf(scope), body, factoring.buffers()),
                                    kept, kRFactor, plan.block, {{plan.block, last.block}}));
  if (hides) schedule.MarkHiding(schedule.RowOf(made), hides_stores);
  const BlockRV result = schedule.NewBlockRV(made);
  schedule.Record("RFactor", {loop_rv}, {int64_t{factor_axis}}, {result.id});
  return result;
}

}  // namespace lathe
