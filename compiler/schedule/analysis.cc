#include "compiler/schedule/analysis.h"

#include <fmt/core.h>

#include <unordered_set>

#include "compiler/arith/int_set.h"
#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/child_stmts.h"
#include "compiler/ir/iter_bindings.h"
#include "compiler/ir/visitor.h"

namespace lathe {

bool Writes(const BlockNode& block, const Buffer& buffer) {
  return std::any_of(block.writes.begin(), block.writes.end(),
                     [&](const BufferRegion& r) { return MayAlias(r.buffer, buffer); });
}
bool Reads(const BlockNode& block, const Buffer& buffer) {
  return std::any_of(block.reads.begin(), block.reads.end(),
                     [&](const BufferRegion& r) { return MayAlias(r.buffer, buffer); });
}
bool Allocates(const BlockNode& scope, const Buffer& buffer) {
  return std::any_of(scope.alloc_buffers.begin(), scope.alloc_buffers.end(),
                     [&](const Buffer& b) { return b.same_as(buffer); });
}
StatusOr<IntermediateBuffer> WrittenIntermediate(const Schedule& schedule, int row, int index, const char* primitive) {
  const auto& writes = schedule.BlockOf(row).writes;
  if (index < 0 || size_t(index) >= writes.size())
    return schedule.Error(primitive, row,
                          fmt::format("it has {} write regions, index {} is not among them", writes.size(), index));
  const Buffer& buffer = writes[index].buffer;
  for (int above = schedule.ScopeOf(row); above >= 0; above = schedule.ScopeOf(above))
    if (Allocates(schedule.BlockOf(above), buffer)) return IntermediateBuffer{buffer, above};
  return schedule.Error(
      primitive, row,
      fmt::format("buffer \"{}\" is a parameter or a view; one that a block around allocates is needed", buffer->name));
}

bool IsSpatial(const BlockNode& block) {
  return std::all_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
}

namespace {

// No other block of the scope, or below a row of it, writes what it writes.
WhyNot WhyNotSoleWriter(const Schedule& schedule, int block, int below) {
  const BlockScope& scope = schedule.Scope(schedule.ScopeOf(block));
  for (const BufferRegion& write : schedule.BlockOf(block).writes) {
    for (int other : scope.WritersOf(write.buffer)) {
      if (other == block || (below >= 0 && !schedule.IsAncestor(below, other))) continue;
      return fmt::format("buffer \"{}\" is also written by block \"{}\"", write.buffer->name,
                         schedule.BlockOf(other).name);
    }
  }
  return "";
}

}  // namespace

WhyNot WhyNotComplete(const Schedule& schedule, int block, int below) {
  const BlockNode& node = schedule.BlockOf(block);
  if (schedule.ScopeOf(block) < 0) return "it is the root block";
  if (!IsSpatial(node)) return "it has an iter var that is not data-parallel";
  for (const BufferRegion& write : node.writes) {
    if (Reads(node, write.buffer)) return fmt::format("it reads and writes buffer \"{}\"", write.buffer->name);
  }
  return WhyNotSoleWriter(schedule, block, below);
}

WhyNot WhyNotReduction(const Schedule& schedule, int block, int below) {
  const BlockNode& node = schedule.BlockOf(block);
  if (schedule.ScopeOf(block) < 0) return "it is the root block";
  if (!node.init) return "it has no init";
  std::vector<const ExprNode*> reduce_vars;
  for (const IterVar& iter : node.iter_vars) {
    if (iter.kind == IterKind::kReduce)
      reduce_vars.push_back(iter.var.get());
    else if (iter.kind != IterKind::kSpatial)
      return fmt::format("iter var \"{}\" is neither data-parallel nor a reduction", iter.var.name());
  }
  const auto is_reduce = [&](const ExprNode* var) {
    return std::find(reduce_vars.begin(), reduce_vars.end(), var) != reduce_vars.end();
  };
  for (const BufferRegion& write : node.writes) {
    for (const Range& range : write.region) {
      if (UsesVar(range.min, is_reduce))
        return fmt::format("a reduction iter var indexes its output \"{}\"", write.buffer->name);
    }
  }
  return WhyNotSoleWriter(schedule, block, below);
}

Status CheckIsolated(const Schedule& schedule, int block, std::string_view primitive) {
  if (!schedule.UsesLoopsDirectly(block)) return OkStatus();
  return schedule.Error(primitive, block, "it uses loop variables directly; bind them to iter vars");
}

WhyNot WhyNotCompleteOrReduction(const Schedule& schedule, int block) {
  const BlockNode& node = schedule.BlockOf(block);
  const WhyNot why = node.init ? WhyNotReduction(schedule, block) : WhyNotComplete(schedule, block);
  return why.empty() ? "" : fmt::format("block \"{}\" is neither complete nor a reduction: {}", node.name, why);
}

WhyNot WhyNotSchedulable(const Schedule& schedule, int block) {
  WhyNot why = WhyNotCompleteOrReduction(schedule, block);
  if (why.empty() && !schedule.IsAffineBinding(block))
    why = fmt::format("block \"{}\" has no affine binding", schedule.BlockOf(block).name);
  return why;
}

bool IsTriviallyBound(const Schedule& schedule, int block) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  std::vector<const ExprNode*> seen;
  for (const Expr& value : realize.iter_values) {
    if (!IsVar(value) || std::find(seen.begin(), seen.end(), value.get()) != seen.end()) return false;
    seen.push_back(value.get());
  }
  return true;
}

namespace {

// Blocks beside `block` that `find` names for the regions, in order of the text.
template <typename Find>
std::vector<int> Partners(const Schedule& schedule, int block, const std::vector<BufferRegion>& regions, Find find) {
  std::vector<int> partners;
  for (const BufferRegion& region : regions) {
    for (int other : find(region.buffer))
      if (other != block && std::find(partners.begin(), partners.end(), other) == partners.end())
        partners.push_back(other);
  }
  if (regions.size() == 1 || partners.size() < 2) return partners;
  std::vector<int> in_order;
  for (int child : schedule.Scope(schedule.ScopeOf(block)).children())
    if (std::find(partners.begin(), partners.end(), child) != partners.end()) in_order.push_back(child);
  return in_order;
}

}  // namespace

std::vector<int> ProducersOf(const Schedule& schedule, int block) {
  const BlockScope& scope = schedule.Scope(schedule.ScopeOf(block));
  return Partners(schedule, block, schedule.BlockOf(block).reads, [&](const Buffer& b) { return scope.WritersOf(b); });
}

std::vector<int> ConsumersOf(const Schedule& schedule, int block) {
  const BlockScope& scope = schedule.Scope(schedule.ScopeOf(block));
  return Partners(schedule, block, schedule.BlockOf(block).writes, [&](const Buffer& b) { return scope.ReadersOf(b); });
}

bool IsOutputBlock(const Schedule& schedule, int block) {
  const BlockNode& scope = schedule.BlockOf(schedule.ScopeOf(block));
  const auto& writes = schedule.BlockOf(block).writes;
  return std::any_of(writes.begin(), writes.end(), [&](const BufferRegion& w) { return !Allocates(scope, w.buffer); });
}

namespace {

// Conditions on loops told as conditions on the iter vars that they feed.
class IterVarTeller {
 public:
  IterVarTeller(const Schedule& schedule, int block)
      : realize_(schedule, block), loops_(LoopsBetween(schedule, schedule.ScopeOf(block), block)) {
    for (size_t i = 0; i < realize_->iter_values.size(); ++i)
      if (IsVar(realize_->iter_values[i]))
        plain_.emplace(realize_->iter_values[i].get(), realize_->block->iter_vars[i].var);
  }

  // A condition on loops that are bound as they are, or a bound on one iter value.
  std::optional<Expr> Tell(const Expr& condition) const {
    const Expr renamed = Substitute(condition, plain_);
    if (!NamesLoop(renamed)) return renamed;
    const Binary* op = condition.As<Binary>();
    if (op == nullptr || (op->op != BinaryOp::kLT && op->op != BinaryOp::kLE)) return std::nullopt;
    for (size_t i = 0; i < realize_->iter_values.size(); ++i) {
      const std::optional<Expr> difference =
          Tell(op->a - op->b, realize_->iter_values[i], realize_->block->iter_vars[i].var);
      if (!difference) continue;
      const Expr zero = IntConst(difference->dtype(), 0);
      return op->op == BinaryOp::kLT ? Less(*difference, zero) : LessEqual(*difference, zero);
    }
    return std::nullopt;
  }
  bool FollowsFrom(const Expr& goal, const Expr& fact) const {
    return lathe::FollowsFrom(goal, fact, loops_, Analyzer());
  }

 private:
  // difference = rest + value or rest - value, where the rest names no loop.
  std::optional<Expr> Tell(const Expr& difference, const Expr& value, const Var& iter) const {
    if (value.dtype() != difference.dtype()) return std::nullopt;
    const Expr less = analyzer_.Simplify(difference - value);
    if (!NamesLoop(less)) return less + iter;
    const Expr more = analyzer_.Simplify(difference + value);
    return NamesLoop(more) ? std::nullopt : std::optional(more - iter);
  }
  bool NamesLoop(const Expr& e) const { return UsesAny(e, loops_); }

  const BoundRealize realize_;
  const IterDomain loops_;
  const Analyzer analyzer_;
  VarMap plain_;
};

}  // namespace

std::optional<Expr> PredicateOnIterVars(const Schedule& schedule, int block) {
  if (IsConstInt(schedule.RealizeOf(block).predicate, 1)) return True();
  const IterVarTeller teller(schedule, block);
  Analyzer domains;
  for (const IterVar& iter : schedule.BlockOf(block).iter_vars) domains.Bind(iter.var, iter.domain);
  Expr kept = True();
  std::vector<Expr> told, untold;
  for (const Expr& condition : ConjunctsOf(BoundRealize(schedule, block)->predicate)) {
    const std::optional<Expr> on_iters = teller.Tell(condition);
    (on_iters ? told : untold).push_back(condition);
    if (on_iters && !domains.CanProve(*on_iters)) kept = And(kept, *on_iters);
  }
  for (const Expr& condition : untold)
    if (std::none_of(told.begin(), told.end(), [&](const Expr& fact) { return teller.FollowsFrom(condition, fact); }))
      return std::nullopt;
  return kept;
}

Analyzer KnowingLongIters(const std::vector<IterVar>& iters) {
  Analyzer analyzer;
  for (const IterVar& iter : iters)
    if (!IsConstInt(iter.domain.extent, 1)) analyzer.Bind(iter.var, iter.domain);
  return analyzer;
}
std::vector<DataType> TypesOf(const std::vector<IterVar>& iters) {
  std::vector<DataType> types;
  for (const IterVar& iter : iters) types.push_back(iter.var.dtype());
  return types;
}

void BindIterVars(const BlockNode& block, Analyzer& analyzer) {
  for (const IterVar& iter : block.iter_vars) analyzer.Bind(iter.var, iter.domain);
}

std::vector<int> LoopsDownTo(const Schedule& schedule, int loop) {
  std::vector<int> loops = schedule.LoopsOf(loop);
  loops.push_back(loop);
  return loops;
}

void BindOuterLoops(const Schedule& schedule, int row, bool itself, Analyzer& analyzer) {
  if (schedule.ScopeOf(row) >= 0) BindIterVars(schedule.BlockOf(schedule.ScopeOf(row)), analyzer);
  for (int loop : itself ? LoopsDownTo(schedule, row) : schedule.LoopsOf(row))
    analyzer.Bind(schedule.LoopOf(loop).loop_var, Range{schedule.LoopOf(loop).min, schedule.LoopOf(loop).extent});
}

Analyzer KnowingLoops(const Schedule& schedule, int above) {
  Analyzer analyzer;
  AssumeShapes(schedule.FuncOf(above), analyzer);
  if (schedule.IsLoop(above))
    BindOuterLoops(schedule, above, true, analyzer);
  else
    BindIterVars(schedule.BlockOf(above), analyzer);
  return analyzer;
}

bool IsSameBox(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Range& x, const Range& y) {
    return SameExpr(x.min, y.min) && SameExpr(x.extent, y.extent);
  });
}

std::vector<Range> RegionWith(const std::vector<Range>& region, const VarMap& vars) {
  std::vector<Range> result;
  for (const Range& range : region) result.push_back({Substitute(range.min, vars), Substitute(range.extent, vars)});
  return result;
}

std::vector<BufferRegion> RegionsWith(std::vector<BufferRegion> regions, const VarMap& vars) {
  for (BufferRegion& region : regions) region.region = RegionWith(region.region, vars);
  return regions;
}

std::vector<Range> BoundRegion(const BufferRegion& region, const BlockRealize& realize) {
  std::optional<VarMap> bindings;  // Made for indices that are more than an iter var.
  const auto bind = [&](const Expr& e) {
    if (e.As<IntImm>() != nullptr) return e;
    for (size_t i = 0; i < realize.iter_values.size(); ++i)
      if (e.same_as(realize.block->iter_vars[i].var) && e.dtype() == realize.iter_values[i].dtype())
        return realize.iter_values[i];
    if (!bindings) bindings = IterBindings(realize);
    return Substitute(e, *bindings);
  };
  const auto is_moving = [&](const Expr& extent) {
    if (extent.As<IntImm>() != nullptr) return false;
    const std::vector<IterVar>& iters = realize.block->iter_vars;
    return UsesVar(extent, [&](const ExprNode* var) {
      return std::any_of(iters.begin(), iters.end(), [&](const IterVar& iter) { return iter.var.get() == var; });
    });
  };
  std::vector<Range> bound;
  bound.reserve(region.region.size());
  for (size_t d = 0; d < region.region.size(); ++d) {
    bound.push_back({bind(region.region[d].min), bind(region.region[d].extent)});
    if (!HasLoad(bound[d].min) && !HasLoad(bound[d].extent) && !is_moving(region.region[d].extent)) continue;
    const Expr& length = region.buffer->shape[d];
    bound[d] = {IntConst(length.dtype(), 0), length};
  }
  return bound;
}

namespace {

// What a predicate says about an iter var may not show in an index made from it; its domain does.
void CutByDomains(const BufferRegion& region, const BlockNode& block, const std::vector<Range>& full,
                  const Analyzer& analyzer, GuardedRegion& touched) {
  DomMap domains;
  for (const IterVar& iter : block.iter_vars) domains.Add(iter.var, iter.domain);
  const std::vector<Range> most = RelaxRegion(region.region, domains, analyzer, &full);
  for (size_t d = 0; d < most.size(); ++d) {
    const Expr end = most[d].min + most[d].extent;
    if (analyzer.CanProve(Less(touched.box[d].min, most[d].min))) touched.from[d].push_back(most[d].min);
    if (analyzer.CanProve(Less(end, touched.box[d].min + touched.box[d].extent))) touched.below[d].push_back(end);
  }
}

// Puts the lets on the way from `stmt` down to `child`, another loop or block, into `lets`; whether it is there.
bool CollectLets(const Stmt& stmt, const Stmt& child, VarMap& lets) {
  if (stmt.same_as(child)) return true;
  if (stmt.As<For>() != nullptr || stmt.As<BlockRealize>() != nullptr) return false;
  const LetStmt* let = stmt.As<LetStmt>();
  if (let != nullptr) lets.insert_or_assign(let->var.get(), Substitute(let->value, lets));
  if (AnyChildStmt(stmt, [&](const Stmt& inner) { return CollectLets(inner, child, lets); })) return true;
  if (let != nullptr) lets.erase(let->var.get());
  return false;
}

}  // namespace

VarMap LetsAround(const Schedule& schedule, int row) {
  const int scope = schedule.ScopeOf(row);
  if (!IsConditional(schedule, scope, row)) return {};
  std::vector<int> way{row};  // Up to the scope, itself included.
  while (way.back() != scope && schedule.ParentOf(way.back()) >= 0) way.push_back(schedule.ParentOf(way.back()));
  VarMap lets;
  for (size_t i = way.size(); i-- > 1;) {
    const Stmt& body = schedule.IsLoop(way[i]) ? schedule.LoopOf(way[i]).body : schedule.BlockOf(way[i]).body;
    if (!body.same_as(schedule.StmtOf(way[i - 1]))) CollectLets(body, schedule.StmtOf(way[i - 1]), lets);
  }
  return lets;
}

namespace {

// Stores that run whenever the statement above them does, but for predicates of blocks.
class StoreCollector {
 public:
  // `lets`: around all that is collected.
  StoreCollector(const Buffer& buffer, IterDomain loops, VarMap lets) : buffer_(buffer), bindings_(std::move(lets)) {
    at_.loops = std::move(loops);
  }

  void Collect(const Stmt& stmt) {
    if (const Seq* seq = stmt.As<Seq>()) {
      for (const Stmt& child : seq->stmts) Collect(child);
    } else if (const For* loop = stmt.As<For>()) {
      at_.loops.emplace_back(loop->loop_var, Range{Bound(loop->min), Bound(loop->extent)});
      Collect(loop->body);
      at_.loops.pop_back();
    } else if (const LetStmt* let = stmt.As<LetStmt>()) {
      bindings_.insert_or_assign(let->var.get(), Bound(let->value));
      Collect(let->body);
    } else if (const BlockRealize* realize = stmt.As<BlockRealize>()) {
      CollectBlock(*realize);
    } else if (const BufferStore* store = stmt.As<BufferStore>()) {
      if (!store->buffer.same_as(buffer_)) return;
      std::vector<Range> point;
      for (const Expr& index : store->indices) point.push_back({index, IntConst(index.dtype(), 1)});
      Note(point);
    }
  }
  const std::vector<GuardedAccess>& accesses() const { return accesses_; }

 private:
  Expr Bound(const Expr& e) const { return Substitute(e, bindings_); }
  void Note(const std::vector<Range>& region) {
    accesses_.push_back(at_);
    accesses_.back().region = RegionWith(region, bindings_);
  }
  void CollectBlock(const BlockRealize& realize) {
    const BlockNode& block = *realize.block;
    const Expr outer = at_.predicate;
    at_.predicate = And(outer, Bound(realize.predicate));
    std::vector<Expr> values;  // None of them names another iter var of the block.
    for (const Expr& value : realize.iter_values) values.push_back(Bound(value));
    for (size_t i = 0; i < values.size(); ++i)
      bindings_.insert_or_assign(block.iter_vars[i].var.get(), std::move(values[i]));
    const bool is_viewed = std::any_of(block.match_buffers.begin(), block.match_buffers.end(),
                                       [&](const auto& match) { return match.source.buffer.same_as(buffer_); });
    // What a call is given a pointer to write is what its block declares.
    const bool is_called = block.body.As<Evaluate>() != nullptr && UsesVar(block.body, buffer_->data.get());
    for (const BufferRegion& write : block.writes)
      if ((is_viewed || is_called) && write.buffer.same_as(buffer_)) Note(write.region);
    Collect(block.body);
    at_.predicate = outer;
  }

  const Buffer& buffer_;
  GuardedAccess at_;
  VarMap bindings_;
  std::vector<GuardedAccess> accesses_;
};

}  // namespace

BoundRealize::BoundRealize(const Schedule& schedule, int block) : given_(schedule.RealizeOf(block)) {
  const VarMap lets = LetsAround(schedule, block);
  if (lets.empty()) return;
  written_ = given_;
  for (Expr& value : written_->iter_values) value = Substitute(value, lets);
  written_->predicate = Substitute(written_->predicate, lets);
}

IterDomain LoopsBetween(const Schedule& schedule, int above, int row) {
  IterDomain loops;
  size_t count = 0;
  for (int loop = schedule.ParentOf(row); loop != above; loop = schedule.ParentOf(loop)) ++count;
  loops.reserve(count);
  for (int loop = schedule.ParentOf(row); loop != above; loop = schedule.ParentOf(loop))
    loops.emplace_back(schedule.LoopOf(loop).loop_var, Range{schedule.LoopOf(loop).min, schedule.LoopOf(loop).extent});
  std::reverse(loops.begin(), loops.end());
  if (const VarMap lets = LetsAround(schedule, row); !lets.empty())
    for (auto& [var, range] : loops) range = {Substitute(range.min, lets), Substitute(range.extent, lets)};
  return loops;
}

GuardedRegion TouchedAt(const Schedule& schedule, int above, int row, const BufferRegion& region,
                        const Analyzer& analyzer) {
  const BoundRealize realize(schedule, row);
  const std::vector<Range> full = FullRegion(region.buffer).region;
  GuardedRegion touched = TouchedAtMost(
      {BoundRegion(region, *realize), LoopsBetween(schedule, above, row), realize->predicate}, full, analyzer);
  if (!IsConstInt(realize->predicate, 1)) CutByDomains(region, *realize->block, full, analyzer, touched);
  return touched;
}

std::vector<GuardedRegion> WrittenForCertain(const Schedule& schedule, int above, int row, const Buffer& buffer,
                                             const Analyzer& around) {
  std::vector<GuardedRegion> regions;
  if (IsConditional(schedule, above, row)) return regions;
  Analyzer analyzer = Analyzer::Under(around);
  AssumeShapes(schedule.FuncOf(row), analyzer);
  StoreCollector stores(buffer, LoopsBetween(schedule, above, row), LetsAround(schedule, row));
  stores.Collect(schedule.StmtOf(row));
  for (const GuardedAccess& access : stores.accesses()) {
    std::optional<GuardedRegion> region = TouchedForCertain(access, analyzer);
    if (region) regions.push_back(*std::move(region));
  }
  return regions;
}

std::vector<Range> RegionAt(const Schedule& schedule, int above, int row, const BufferRegion& region,
                            const Analyzer& analyzer) {
  const std::vector<Range> full = FullRegion(region.buffer).region;
  return RelaxRegion(BoundRegion(region, *BoundRealize(schedule, row)), LoopsBetween(schedule, above, row), analyzer,
                     &full);
}

int LoopThatReduces(const Schedule& schedule, int producer, int above) {
  const BoundRealize realize(schedule, producer);
  for (int loop = above; loop >= 0 && schedule.IsLoop(loop); loop = schedule.ParentOf(loop)) {
    const ExprNode* loop_var = schedule.LoopOf(loop).loop_var.get();
    for (size_t i = 0; i < realize->iter_values.size(); ++i) {
      const bool is_fed = UsesVar(realize->iter_values[i], loop_var);
      if (is_fed && realize->block->iter_vars[i].kind == IterKind::kReduce) return loop;
    }
  }
  return -1;
}

bool RunsForAll(const Schedule& schedule, int block, const std::vector<IterVar>& iters) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const int scope = schedule.ScopeOf(block);
  GuardedAccess access{{}, LoopsBetween(schedule, scope, block), realize.predicate};
  std::vector<Range> all;
  const VarMap bound = IterBindings(realize);
  for (const IterVar& iter : iters) {
    access.region.push_back({bound.at(iter.var.get()), IntConst(iter.var.dtype(), 1)});
    all.push_back(iter.domain);
  }
  Analyzer analyzer;
  AssumeShapes(schedule.FuncOf(block), analyzer);
  const std::optional<GuardedRegion> certain = TouchedForCertain(access, analyzer);
  return !IsConditional(schedule, scope, block) && certain && certain->conditions.empty() &&
         Covers(*certain, WholeBox(all), all, analyzer);
}

int CommonAncestor(const Schedule& schedule, int a, int b) {
  int above = schedule.ParentOf(a);
  while (above >= 0 && !schedule.IsAncestor(above, b)) above = schedule.ParentOf(above);
  return above;
}

bool IsBefore(const Schedule& schedule, int a, int b) { return schedule.Scope(schedule.ScopeOf(a)).IsBefore(a, b); }

std::optional<DigitBox> NumbersWritten(const Schedule& schedule, int producer, const Buffer& buffer, int depth) {
  const NestNumbers* nest = schedule.Numbers(producer);
  const BlockNode& node = schedule.BlockOf(producer);
  const BufferStore* store = node.body.As<BufferStore>();
  if (nest == nullptr || store == nullptr || store->predicate || !store->buffer.same_as(buffer)) return std::nullopt;
  return nest->TouchedForCertain(node, store->indices, depth);
}

namespace {

const std::vector<BufferRegion>& RegionsOf(const BlockNode& block, Does does) {
  return does == Does::kRead ? block.reads : block.writes;
}

}  // namespace

bool AreNumbersCovered(const Schedule& schedule, int above, int producer, int consumer, const Buffer& buffer,
                       Does does) {
  const NestNumbers *from = schedule.Numbers(producer), *to = schedule.Numbers(consumer);
  if (from == nullptr || to == nullptr) return false;
  int depth = from->loops().size();
  for (int loop = schedule.ParentOf(producer); loop != above; loop = schedule.ParentOf(loop)) --depth;
  const std::optional<DigitBox> made = NumbersWritten(schedule, producer, buffer, depth);
  if (!made) return false;
  const BlockNode& node = schedule.BlockOf(consumer);
  const std::vector<BufferRegion>& regions = RegionsOf(node, does);
  return std::all_of(regions.begin(), regions.end(), [&](const BufferRegion& region) {
    if (!MayAlias(region.buffer, buffer)) return true;
    if (!region.buffer.same_as(buffer)) return false;
    const std::optional<DigitBox> used = to->TouchedAtMost(node, region, depth);
    return used && Covers(*made, *used, buffer->shape);
  });
}

bool IsCoveredWithin(const Schedule& schedule, int above, int producer, int consumer, const Buffer& buffer,
                     const Analyzer& analyzer, Does does) {
  const std::vector<GuardedRegion> written = WrittenForCertain(schedule, above, producer, buffer, analyzer);
  const std::vector<BufferRegion>& regions = RegionsOf(schedule.BlockOf(consumer), does);
  return std::all_of(regions.begin(), regions.end(), [&](const BufferRegion& touched) {
    if (!MayAlias(touched.buffer, buffer)) return true;
    if (!touched.buffer.same_as(buffer)) return false;
    const GuardedRegion needed = TouchedAt(schedule, above, consumer, touched, analyzer);
    return std::any_of(written.begin(), written.end(), [&](const GuardedRegion& region) {
      return Covers(region, needed, FullRegion(buffer).region, analyzer);
    });
  });
}

bool IsCovered(const Schedule& schedule, int producer, int consumer, const Buffer& buffer) {
  if (!IsBefore(schedule, producer, consumer)) return false;
  const int above = CommonAncestor(schedule, producer, consumer);
  if (AreNumbersCovered(schedule, above, producer, consumer, buffer)) return true;
  return IsCoveredWithin(schedule, above, producer, consumer, buffer, KnowingLoops(schedule, above));
}

bool IsReadOutsideBlocksBelow(const Schedule& schedule, int loop, const Buffer& buffer) {
  const std::vector<int> rows = schedule.Scope(schedule.ScopeOf(loop)).RowsThatReadOutside(buffer);
  return std::any_of(rows.begin(), rows.end(), [&](int row) { return row == loop || schedule.IsAncestor(loop, row); });
}

bool IsIndexOfAllWrites(const BlockNode& block, const IterVar& iter) {
  return std::all_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& write) {
    return std::any_of(write.region.begin(), write.region.end(),
                       [&](const Range& range) { return range.min.same_as(iter.var) && IsConstInt(range.extent, 1); });
  });
}

namespace {

// Whether the elements that `write` names tell apart the values of the data-parallel iter vars, as those of tiles do,
// and as tiles do that begin at multiples of their lengths.
bool IsInjective(const BlockNode& block, const BufferRegion& write) {
  IterDomain spatial;
  Analyzer analyzer;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::kReduce) continue;
    spatial.emplace_back(iter.var, iter.domain);
    analyzer.Bind(iter.var, iter.domain);
  }
  std::vector<Expr> indices;
  for (const Range& range : write.region) {
    const int64_t* length = AsIntConst(range.extent);
    if (length == nullptr || *length < 1) return false;
    if (*length > 1 && !analyzer.CanProveEqual(FloorMod(range.min, range.extent), IntConst(range.min.dtype(), 0)))
      return false;
    indices.push_back(*length == 1 ? range.min : analyzer.Simplify(FloorDiv(range.min, range.extent)));
  }
  return HasIterMap(indices, spatial, True(), {.level = IterMapLevel::kBijective}, Analyzer());
}

}  // namespace

bool WritesOneValuePerElement(const BlockNode& block) {
  const bool has_own_indices = std::all_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& iter) {
    return iter.kind == IterKind::kReduce || IsConstInt(iter.domain.extent, 1) || IsIndexOfAllWrites(block, iter);
  });
  return has_own_indices || std::all_of(block.writes.begin(), block.writes.end(),
                                        [&](const BufferRegion& write) { return IsInjective(block, write); });
}

namespace {

// The conjuncts of `condition` that name one of `loops`.
Expr About(const IterDomain& loops, const Expr& condition) {
  const Binary* both = condition.As<Binary>();
  if (both != nullptr && both->op == BinaryOp::kAnd) return And(About(loops, both->a), About(loops, both->b));
  return UsesAny(condition, loops) ? condition : True();
}

// Whether iter var i takes all values of its domain by `sum`, in steps of 1.
bool IsWhole(const IterSumExpr& sum, const Range& domain, const Analyzer& analyzer) {
  if (!analyzer.CanProveEqual(sum.base, domain.min)) return false;
  if (sum.args.empty()) return IsConstInt(domain.extent, 1);
  return IsConstInt(sum.args[0].scale, 1) && analyzer.CanProveEqual(sum.args[0].extent, domain.extent);
}

// A block's iter vars of some kinds with the loops that feed them.
struct Binding {
  std::vector<IterVar> iters;
  std::vector<Expr> values;
  IterDomain loops;
  Expr predicate = True();
};

Binding BindingOf(const Schedule& schedule, int block, bool only_reduce) {
  const BoundRealize realize(schedule, block);
  Binding binding;
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    if (only_reduce && realize->block->iter_vars[i].kind == IterKind::kSpatial) continue;
    binding.iters.push_back(realize->block->iter_vars[i]);
    binding.values.push_back(realize->iter_values[i]);
  }
  for (const auto& loop : LoopsBetween(schedule, schedule.ScopeOf(block), block)) {
    const auto is_loop = [&](const ExprNode* var) { return var == loop.first.get(); };
    const bool feeds = std::any_of(binding.values.begin(), binding.values.end(),
                                   [&](const Expr& value) { return UsesVar(value, is_loop); });
    if (feeds) binding.loops.push_back(loop);
  }
  binding.predicate = About(binding.loops, realize->predicate);
  return binding;
}

// Why not all of `binding`'s iter vars, or all that reduce, run over their domains by a map of that level.
WhyNot WhyNotWhole(const Binding& binding, const Expr& predicate, IterMapLevel level, bool only_reduce) {
  const Analyzer analyzer;
  const auto map = DetectIterMap(binding.values, binding.loops, predicate, {level}, analyzer);
  if (!map.ok()) return map.status().message();
  if (!IsConstInt(map->padding_predicate, 0)) return "its loops reach values beyond those of its iter vars";
  for (size_t i = 0; i < binding.iters.size(); ++i) {
    if (only_reduce && binding.iters[i].kind == IterKind::kSpatial) continue;
    if (!IsWhole(map->indices[i], binding.iters[i].domain, analyzer))
      return fmt::format("iter var \"{}\" is not known to take each value of its domain", binding.iters[i].var.name());
  }
  return "";
}

}  // namespace

WhyNot WhyNotEachStepOnce(const Schedule& schedule, int block) {
  const NestNumbers* nest = schedule.Numbers(block);
  if (nest != nullptr && nest->RunsOverDomains(schedule.BlockOf(block), /*only_reduce=*/true, /*once=*/true)) return "";
  const Binding binding = BindingOf(schedule, block, /*only_reduce=*/true);
  if (binding.iters.empty()) return "";
  if (const WhyNot why = WhyNotWhole(binding, binding.predicate, IterMapLevel::kBijective, true); !why.empty()) {
    const Binding all = BindingOf(schedule, block, /*only_reduce=*/false);  // A fused loop feeds others, too.
    if (!WhyNotWhole(all, all.predicate, IterMapLevel::kBijective, true).empty()) return why;
  }
  VarMap first;
  for (const auto& [var, range] : binding.loops) first.emplace(var.get(), range.min);
  for (size_t i = 0; i < binding.iters.size(); ++i) {
    if (!Analyzer().CanProveEqual(Substitute(binding.values[i], first), binding.iters[i].domain.min))
      return fmt::format("iter var \"{}\" does not start at its minimum", binding.iters[i].var.name());
  }
  return "";
}

bool HasLoopsOfItsOwn(const Schedule& schedule, int block) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const IterDomain loops = LoopsBetween(schedule, schedule.ScopeOf(block), block);
  if (loops.size() != realize.iter_values.size() || !IsTriviallyBound(schedule, block)) return false;
  for (size_t i = 0; i < loops.size(); ++i) {
    const auto is_loop = [&](const auto& loop) { return loop.first.same_as(realize.iter_values[i]); };
    const auto loop = std::find_if(loops.begin(), loops.end(), is_loop);
    const Range& domain = realize.block->iter_vars[i].domain;
    if (loop == loops.end() || !Analyzer().CanProveEqual(loop->second.min, domain.min) ||
        !Analyzer().CanProveEqual(loop->second.extent, domain.extent))
      return false;
  }
  return true;
}

namespace {

// The block below `stmt` whose init may stand outside of it: what its reduction starts at depends on one of `outer`,
// variables from there.
const BlockNode* BegunOutside(const Stmt& stmt, std::unordered_set<const ExprNode*> outer) {
  const auto depends = [&](const Expr& e) {
    return UsesVar(e, [&](const ExprNode* var) { return outer.contains(var); });
  };
  if (const For* loop = stmt.As<For>(); loop != nullptr && depends(loop->min)) outer.insert(loop->loop_var.get());
  if (const auto* realize = stmt.As<BlockRealize>(); realize != nullptr) {
    const BlockNode& block = *realize->block;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (!depends(realize->iter_values[i])) continue;
      if (block.init && block.iter_vars[i].kind == IterKind::kReduce) return &block;
      outer.insert(block.iter_vars[i].var.get());
    }
  }
  const BlockNode* found = nullptr;
  AnyChildStmt(stmt, [&](const Stmt& child) { return (found = BegunOutside(child, outer)) != nullptr; });
  return found;
}

}  // namespace

WhyNot WhyNotBegunInside(const Schedule& schedule, int block) {
  std::unordered_set<const ExprNode*> outer;
  for (int scope = schedule.ScopeOf(block); scope >= 0; scope = schedule.ScopeOf(scope))
    for (const IterVar& iter : schedule.BlockOf(scope).iter_vars) outer.insert(iter.var.get());
  const BlockNode* found = outer.empty() ? nullptr : BegunOutside(schedule.StmtOf(block), std::move(outer));
  if (found == nullptr) return "";
  return fmt::format("the reduction of block \"{}\" may have begun outside of block \"{}\"", found->name,
                     schedule.BlockOf(schedule.ScopeOf(block)).name);
}

WhyNot WhyNotWholeDomain(const Schedule& schedule, int block) {
  const NestNumbers* nest = schedule.Numbers(block);
  if (nest != nullptr && nest->RunsOverDomains(schedule.BlockOf(block), /*only_reduce=*/false, /*once=*/false))
    return "";
  const Binding binding = BindingOf(schedule, block, /*only_reduce=*/false);
  const WhyNot why = WhyNotWhole(binding, binding.predicate, IterMapLevel::kSurjective, false);
  if (why.empty() || IsConstInt(binding.predicate, 1)) return why;
  // A predicate that leaves out a part of the domain goes with the block.
  return WhyNotWhole(binding, True(), IterMapLevel::kSurjective, false).empty() ? "" : why;
}

bool IsConditional(const Schedule& schedule, int above, int row) {
  for (; row != above; row = schedule.ParentOf(row))
    if (!schedule.IsDirect(row)) return true;
  return false;
}

namespace {

// Whether the statement, which is no loop and no block, has `node` below branches, lets and the like.
bool HoldsDirectly(const Stmt& stmt, const StmtNode* node) {
  if (stmt.As<For>() != nullptr || stmt.As<BlockRealize>() != nullptr) return false;
  return AnyChildStmt(stmt, [&](const Stmt& child) { return child.get() == node || HoldsDirectly(child, node); });
}

bool HidesBelow(const Schedule& schedule, int row) {
  const std::vector<int> children = schedule.ChildBlocksOf(row);
  return std::any_of(children.begin(), children.end(),
                     [&](int child) { return schedule.IsHiding(child) || HidesBelow(schedule, child); });
}

void AddWhole(const std::vector<Buffer>& touched, std::vector<BufferRegion>& regions) {
  for (const Buffer& buffer : touched)
    if (RegionOfBuffer(regions, buffer) == nullptr) regions.push_back(FullRegion(buffer));
}

void AddWhatIsHidden(BlockNode& block) {
  const TouchedBuffers touched = BuffersTouchedIn(block);
  AddWhole(touched.loaded, block.reads);
  AddWhole(touched.stored, block.writes);
}

}  // namespace

namespace {

// Which child of `body` is or holds `node`, from the `from`-th on; as many as there are: none. 0 where it is no
// sequence.
size_t ChildIndexOf(const Stmt& body, const StmtNode* node, size_t from) {
  const Seq* seq = body.As<Seq>();
  if (seq == nullptr) return 0;
  const auto begin = seq->stmts.begin() + static_cast<std::ptrdiff_t>(from);
  const auto holds = [&](const Stmt& stmt) { return stmt.get() == node || HoldsDirectly(stmt, node); };
  return size_t(std::find_if(begin, seq->stmts.end(), holds) - seq->stmts.begin());
}

const Stmt& BodyOf(const Schedule& schedule, int row) {
  return schedule.IsLoop(row) ? schedule.LoopOf(row).body : schedule.BlockOf(row).body;
}

}  // namespace

size_t ChildIndexTowards(const Schedule& schedule, int loop, int row) {
  int child = row;
  while (schedule.ParentOf(child) != loop) child = schedule.ParentOf(child);
  return ChildIndexOf(BodyOf(schedule, loop), schedule.NodeOf(child), 0);
}

std::vector<int> ChildBlocksBetween(const Schedule& schedule, int above, size_t first, size_t last) {
  std::vector<int> blocks;
  const Stmt& body = BodyOf(schedule, above);
  const size_t count = body.As<Seq>() != nullptr ? body.As<Seq>()->stmts.size() : 1;
  size_t next = 0;  // Rows are in order of the text, those of an init first.
  for (int row : schedule.ChildRowsOf(above)) {
    const size_t at = ChildIndexOf(body, schedule.NodeOf(row), next);
    if (at < count) next = at;
    if (at < first || at > last) continue;
    const std::vector<int> below = schedule.IsLoop(row) ? schedule.ChildBlocksOf(row) : std::vector<int>{row};
    blocks.insert(blocks.end(), below.begin(), below.end());
  }
  return blocks;
}

void RecomputeRegions(const Schedule& schedule, int row, BlockNode& block) {
  RecomputeRegions(block);
  if (HidesBelow(schedule, row)) AddWhatIsHidden(block);
}

}  // namespace lathe
