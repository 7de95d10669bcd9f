#include "compiler/schedule/cache_index.h"

#include <fmt/format.h>

#include "compiler/arith/int_set.h"
#include "compiler/ir/may_trap.h"
#include "compiler/ir/structural.h"
#include "compiler/schedule/cache_stage.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kCacheIndex = "cache_index";

int SizeOf(const Expr& e) {
  int size = 0;
  PostOrderVisit(e, [&](const Expr&) { ++size; });
  return size;
}

// An index computation, and how often it is done.
struct Candidate {
  Expr expr;
  Expr simplified;
  int count;
  int size;
};

bool IsSame(const Candidate& a, const Expr& simplified) { return StructuralEqual(a.simplified, simplified); }

// The variables of `e`, once each, as they occur.
std::vector<Var> VarsOf(const Expr& e) {
  std::vector<Var> vars;
  PostOrderVisit(e, [&](const Expr& part) {
    if (!IsVar(part)) return;
    if (std::none_of(vars.begin(), vars.end(), [&](const Var& var) { return var.same_as(part); }))
      vars.emplace_back(part);
  });
  return vars;
}

// Not from memory, without effect, and no division that a condition may keep from dividing by zero.
bool MayRunAnywhere(const Expr& part) {
  if (const Call* call = part.As<Call>()) return call->op->is_pure;
  const Expr* divisor = IntegerDivisor(part);
  if (divisor != nullptr && AsIntConst(*divisor) == nullptr) return false;
  return part.As<BufferLoad>() == nullptr && part.As<FuncCall>() == nullptr;
}

class CandidateFinder : public StmtExprVisitor {
 public:
  CandidateFinder(const BlockNode& block, int threshold) : block_(block), threshold_(threshold) {
    if (block.init) VisitStmt(*block.init);
    VisitStmt(block.body);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.size > b.size; });
  }
  std::vector<Candidate> Take() { return std::move(found_); }

 protected:
  void VisitBlock(const Block&) override {}  // A block's stores are its own.
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    counted_.clear();
    count_ = 1;
    VisitChildren(self);
    for (size_t i = 0; i < counted_.size(); ++i) {  // Longest first; parts are shorter.
      if (counted_[i].count >= threshold_) continue;
      count_ = counted_[i].count;
      const Expr whole = counted_[i].expr;
      VisitChildren(whole);
    }
    PostOrderVisit(store.value, [&](const Expr& part) { Keep(part); });
  }
  void VisitExpr(const Expr& expr) override {
    if (IsIndexComputation(expr)) return Count(expr);
    StmtExprVisitor::VisitExpr(expr);
  }

 private:
  bool IsIterVar(const Var& var) const {
    return std::any_of(block_.iter_vars.begin(), block_.iter_vars.end(),
                       [&](const IterVar& iter) { return iter.var.same_as(var); });
  }
  bool IsIndexComputation(const Expr& e) const {
    if (e.dtype().lanes != 1 || SizeOf(e) == 1) return false;
    bool is_total = true;
    PostOrderVisit(e, [&](const Expr& part) { is_total = is_total && MayRunAnywhere(part); });
    const std::vector<Var> vars = VarsOf(e);
    return is_total && !vars.empty() &&
           std::all_of(vars.begin(), vars.end(), [&](const Var& v) { return IsIterVar(v); });
  }
  void Count(const Expr& expr) {
    const Expr simplified = Analyzer().Simplify(expr);
    for (Candidate& one : counted_) {
      if (!IsSame(one, simplified)) continue;
      one.count += count_;
      return;
    }
    Candidate made{expr, simplified, count_, SizeOf(expr)};
    const auto place =
        std::find_if(counted_.begin(), counted_.end(), [&](const Candidate& one) { return one.size < made.size; });
    counted_.insert(place, std::move(made));
  }
  void Keep(const Expr& part) {
    if (IsVar(part) || !IsIndexComputation(part)) return;
    const Expr simplified = Analyzer().Simplify(part);
    for (const Candidate& one : counted_) {
      const bool is_kept =
          std::any_of(found_.begin(), found_.end(), [&](const Candidate& kept) { return IsSame(kept, simplified); });
      if (!is_kept && one.count >= threshold_ && IsSame(one, simplified)) found_.push_back(one);
    }
  }

  const BlockNode& block_;
  const int threshold_;
  int count_ = 1;
  std::vector<Candidate> counted_;  // Of one store; longest first.
  std::vector<Candidate> found_;
};

// Loads `to` where `from`, or what equals it, is computed; not where that is a constant.
class ComputationReplacer : public StmtExprMutator {
 public:
  ComputationReplacer(const Candidate& from, Expr to) : from_(from), to_(std::move(to)) {}

 protected:
  Expr VisitExpr(const Expr& expr) override {
    const bool may_be =
        expr.dtype() == from_.expr.dtype() && !VarsOf(expr).empty() && !IsVar(expr) && expr.As<BufferLoad>() == nullptr;
    if (may_be && IsSame(from_, Analyzer().Simplify(expr))) return to_;
    return StmtExprMutator::VisitExpr(expr);
  }

 private:
  const Candidate& from_;
  const Expr to_;
};

// Whether it depends on iter vars that an init does not have.
bool IsOfReduction(const BlockNode& block, const Expr& e) {
  return std::any_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [&](const IterVar& iter) { return iter.kind == IterKind::kReduce && UsesVar(e, iter.var.get()); });
}

// A buffer that holds a computation, what loads it in the block, and the nest that fills it.
struct IndexStage {
  Buffer buffer;
  Expr load;
  Block block;
  Stmt nest;
};

// The variables of the loops in `value`, as they occur; an error if one of them cannot be copied alone.
StatusOr<std::vector<int>> LoopsIn(const Schedule& schedule, int row, const Expr& value) {
  const std::vector<int> around = schedule.LoopsOf(row);
  std::vector<int> loops;
  for (const Var& var : VarsOf(value)) {
    const auto loop = std::find_if(around.begin(), around.end(),
                                   [&](int each) { return schedule.LoopOf(each).loop_var.same_as(var); });
    if (loop == around.end())
      return schedule.Error(kCacheIndex, row,
                            fmt::format("its binding uses \"{}\", which is no loop of its scope", var.name()));
    const auto is_around = [&](const ExprNode* used) {
      return std::any_of(around.begin(), around.end(),
                         [&](int each) { return schedule.LoopOf(each).loop_var.get() == used; });
    };
    if (!IsConstInt(schedule.LoopOf(*loop).min, 0) || UsesVar(schedule.LoopOf(*loop).extent, is_around))
      return schedule.Error(kCacheIndex, *loop, "it does not start at 0, or its bound depends on a loop outside");
    loops.push_back(*loop);
  }
  return loops;
}

// [0, end) of what an iter var of the block is bound to over all loops.
StatusOr<Range> ReachOf(const Schedule& schedule, int row, const Expr& value) {
  DomMap domains;
  for (const auto& [var, range] : LoopsBetween(schedule, schedule.ScopeOf(row), row)) domains.Add(var, range);
  Analyzer analyzer;
  AssumeShapes(schedule.FuncOf(row), analyzer);
  BindOuterLoops(schedule, row, false, analyzer);
  const std::optional<Range> reach = EvalSet(value, domains, analyzer).ToRange(analyzer);
  if (!reach || !analyzer.CanProveGreaterEqual(reach->min, 0))
    return schedule.Error(kCacheIndex, row, "a binding may be below 0, or its end is not known");
  if (HasLoad(reach->min) || HasLoad(reach->extent))
    return schedule.Error(kCacheIndex, row, "the end of a binding, as far as the new buffer goes, is read from memory");
  return Range{IntConst(value.dtype(), 0), analyzer.Simplify(reach->min + reach->extent)};
}

// TVM gives such a buffer one stride of 1 whatever its rank, which says no more than that it is dense.
Buffer IndexBuffer(std::string name, std::vector<Expr> shape, DataType dtype, const std::string& storage_scope) {
  const bool is_flat = shape.size() == 1;
  const Expr one = IntConst(shape[0].dtype(), 1);
  Buffer buffer = MakeBuffer(std::move(name), std::move(shape), dtype, storage_scope);
  if (!is_flat) return buffer;
  BufferNode node = *buffer;
  node.data = UnsetData();
  node.strides = {one};
  return Buffer(std::move(node));
}

StatusOr<IndexStage> MakeStage(const Schedule& schedule, int row, const Candidate& candidate, size_t number,
                               const std::string& storage_scope) {
  const BlockRealize& realize = schedule.RealizeOf(row);
  BlockNode node{.name = schedule.FreshBlockName(row, fmt::format("index_{}", number)), .body = Evaluate{Expr(0)}};
  std::vector<Expr> shape, values, old_indices, new_indices;
  std::vector<For> loops;
  VarMap iters, new_loops;
  for (const Var& var : VarsOf(candidate.expr)) {
    size_t at = 0;
    while (!realize.block->iter_vars[at].var.same_as(var)) ++at;
    const Expr& value = realize.iter_values[at];
    ASSIGN_OR_RETURN(const Range reach, ReachOf(schedule, row, value));
    ASSIGN_OR_RETURN(const std::vector<int> used, LoopsIn(schedule, row, value));
    for (int loop : used) {
      const For& old = schedule.LoopOf(loop);
      const Var made(fmt::format("ax{}", loops.size()), old.loop_var.dtype());
      if (!new_loops.emplace(old.loop_var.get(), made).second) continue;
      loops.push_back(For{made, old.min, old.extent, ForKind::kSerial, "", {}, Evaluate{Expr(0)}});
    }
    const Var iter(fmt::format("v{}", values.size()), var.dtype());
    node.iter_vars.push_back({reach, iter, IterKind::kSpatial});
    shape.push_back(reach.extent);
    values.push_back(value);
    old_indices.push_back(var);
    new_indices.push_back(iter);
    iters.emplace(var.get(), iter);
  }
  const Buffer buffer =
      IndexBuffer(fmt::format("index_var_{}", number), std::move(shape), candidate.expr.dtype(), storage_scope);
  node.body = MakeStore(buffer, Substitute(candidate.expr, iters), new_indices);
  RecomputeRegions(node);
  for (Expr& value : values) value = Substitute(value, new_loops);
  const Block block(std::move(node));
  Stmt nest = BlockRealize{std::move(values), True(), block};
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].body = std::move(nest);
    nest = std::move(loops[i]);
  }
  return IndexStage{buffer, Load(buffer, old_indices), block, std::move(nest)};
}

// The scope's body with the block changed and the nests before the child that it is in.
Stmt WithStages(const Schedule& schedule, int row, const BlockRealize& changed, const std::vector<IndexStage>& stages) {
  const BlockRealize& scope = schedule.RealizeOf(schedule.ScopeOf(row));
  const Stmt old = schedule.StmtOf(row);
  std::vector<Stmt> children;
  const Seq* seq = scope.block->body.As<Seq>();
  const size_t place = ChildIndexTowards(schedule, schedule.ScopeOf(row), row);
  for (size_t i = 0; i < (seq != nullptr ? seq->stmts.size() : 1); ++i) {
    if (i == place)
      for (const IndexStage& stage : stages) children.push_back(stage.nest);
    children.push_back(
        *RewriteTree(seq != nullptr ? seq->stmts[i] : scope.block->body, [&](const Stmt& stmt) -> Replacement {
          if (!stmt.same_as(old)) return std::nullopt;
          return std::vector<Stmt>{changed};
        }));
  }
  std::vector<Buffer> buffers;
  for (const IndexStage& stage : stages) buffers.push_back(stage.buffer);
  return WithBody(scope, MakeSeq(std::move(children)), buffers);
}

// Memory that each iteration of a loop makes for itself, as iterations that run at once do, is known by its indices.
Status CheckKeepsMemoryPrivate(const Schedule& schedule, int row) {
  const int scope = schedule.ScopeOf(row);
  const BlockNode& node = schedule.BlockOf(row);
  std::vector<BufferRegion> touched = node.reads;
  touched.insert(touched.end(), node.writes.begin(), node.writes.end());
  for (int loop : schedule.LoopsOf(row)) {
    if (!IsConcurrent(schedule.LoopOf(loop).kind)) continue;
    for (const BufferRegion& region : touched)
      for (int writer : schedule.Scope(scope).WritersOf(region.buffer))
        if (Allocates(schedule.BlockOf(scope), region.buffer) && schedule.IsAncestor(loop, writer))
          return schedule.Error(
              kCacheIndex, row,
              fmt::format("iterations of loop \"{}\" run at once and make \"{}\" for themselves, which could no "
                          "longer be seen from indices that memory holds",
                          schedule.LoopOf(loop).loop_var.name(), region.buffer->name));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<BlockRV>> CacheIndex(Schedule& schedule, BlockRV block_rv, const std::string& storage_scope,
                                          int cse_thresh) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  if (schedule.ScopeOf(row) < 0) return schedule.Error(kCacheIndex, row, "the root block has no scope");
  RETURN_IF_ERROR(CheckNotInInit(schedule, row, kCacheIndex));
  RETURN_IF_ERROR(CheckKeepsMemoryPrivate(schedule, row));
  BlockRealize changed = schedule.RealizeOf(row);
  const std::vector<Candidate> candidates = CandidateFinder(*changed.block, cse_thresh).Take();
  if (candidates.empty())
    return schedule.Error(kCacheIndex, row,
                          fmt::format("it computes no index of its iter vars alone {} times", std::max(cse_thresh, 1)));
  std::vector<IndexStage> stages;
  BlockNode& node = changed.block.Mutable();
  for (const Candidate& candidate : candidates) {
    ASSIGN_OR_RETURN(IndexStage stage, MakeStage(schedule, row, candidate, stages.size(), storage_scope));
    ComputationReplacer replace(candidate, stage.load);
    node.body = replace(node.body);
    if (node.init && !IsOfReduction(node, candidate.expr)) node.init = replace(*node.init);
    stages.push_back(std::move(stage));
  }
  schedule.Replace(schedule.ScopeOf(row), WithStages(schedule, row, changed, stages), {{row, changed.block}});
  schedule.MarkHiding(schedule.RowOf(changed.block), /*also_stores=*/false);
  std::vector<BlockRV> results;
  std::vector<int> outputs;
  for (const IndexStage& stage : stages) {
    results.push_back(schedule.NewBlockRV(stage.block));
    outputs.push_back(results.back().id);
  }
  schedule.Record("CacheIndex", {block_rv}, {storage_scope, int64_t{cse_thresh}}, std::move(outputs));
  return results;
}

}  // namespace lathe
