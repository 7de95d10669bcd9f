#include "compiler/transform/lower_cross_thread_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/reducer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

bool IsThread(const For& loop) { return loop.kind == ForKind::kThreadBinding; }
bool IsThreadIdx(const For& loop) { return IsThread(loop) && loop.thread.starts_with("threadIdx."); }
bool IsBlockIdx(const For& loop) { return IsThread(loop) && loop.thread.starts_with("blockIdx."); }

bool UsesAny(const Expr& e, const std::vector<const For*>& loops) {
  return UsesVar(e, [&](const ExprNode* used) {
    return std::any_of(loops.begin(), loops.end(), [&](const For* loop) { return loop->loop_var.get() == used; });
  });
}

struct ThreadDomain {
  std::string thread;
  Range domain;
};

// A reduction across threads, with what is known when its block is seen.
struct CrossThreadPlan {
  Block block;
  std::vector<const For*> loops;  // That reduce, outermost first.
  MatchedReduction reduction;
  std::vector<Buffer> in_thread, cross_thread;  // The first: empty where no thread has a part of its own.
};

std::vector<Buffer> Scratchpads(const std::vector<Buffer>& outputs, const char* prefix) {
  std::vector<Buffer> made;
  for (const Buffer& output : outputs) {
    BufferNode node;
    node.name = prefix + output->name;
    node.dtype = output->dtype;
    node.shape = {1};
    node.strides = {1};
    node.scope = "local";
    made.emplace_back(std::move(node));
  }
  return made;
}
std::vector<BufferRegion> WholeOf(const std::vector<Buffer>& buffers) {
  std::vector<BufferRegion> regions;
  for (const Buffer& buffer : buffers) regions.push_back(FullRegion(buffer));
  return regions;
}
Stmt RealizedBlock(BlockNode node, std::vector<Expr> values = {}, Expr predicate = True()) {
  return BlockRealize{std::move(values), std::move(predicate), Block(std::move(node))};
}

// Outputs of the reduction as one element each.
class OutputReplacer : public StmtExprMutator {
 public:
  explicit OutputReplacer(const CrossThreadPlan& plan) : plan_(plan) {}

 protected:
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Buffer* own = OwnOf(store.buffer);
    if (own == nullptr) return StmtExprMutator::VisitBufferStore(self, store);
    return MakeStore(*own, VisitExpr(store.value), {0});
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Buffer* own = OwnOf(load.buffer);
    return own == nullptr ? StmtExprMutator::VisitBufferLoad(self, load) : Load(*own, {0});
  }

 private:
  const Buffer* OwnOf(const Buffer& buffer) const {
    const std::vector<Buffer>& outputs = plan_.reduction.outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].same_as(buffer)) return &plan_.in_thread[i];
    return nullptr;
  }

  const CrossThreadPlan& plan_;
};

bool HasReduction(const Stmt& stmt) {
  bool found = false;
  PostOrderVisit(stmt, [&](const Stmt& part) {
    const BlockRealize* realize = part.As<BlockRealize>();
    if (realize == nullptr) return;
    for (const IterVar& iter : realize->block->iter_vars) found |= iter.kind == IterKind::kReduce;
  });
  return found;
}

// How many blocks write each buffer, and which block is last: of those that no other block is around.
class WriterCounter : public StmtExprVisitor {
 public:
  explicit WriterCounter(std::map<const BufferNode*, int>& found) : found_(found) {}

 protected:
  void VisitBlock(const Block& block) override {
    for (const BufferRegion& write : block->writes) ++found_[write.buffer.get()];
  }

 private:
  std::map<const BufferNode*, int>& found_;
};
class LastBlockFinder : public StmtExprVisitor {
 public:
  explicit LastBlockFinder(const BlockNode*& last) : last_(last) {}

 protected:
  void VisitBlock(const Block& block) override { last_ = block.get(); }

 private:
  const BlockNode*& last_;
};

// The statements of one reduction across threads.
class ReductionMaker {
 public:
  explicit ReductionMaker(const CrossThreadPlan& plan) : plan_(plan), block_(*plan.block) {}

  // Of the outermost loop that reduces, with everything below it.
  Stmt Make(const Stmt& nest) {
    std::vector<Stmt> stmts;
    if (HasOwnPart()) stmts.push_back(InitOfThread());
    if (std::optional<Stmt> own = WithoutThreads(nest)) stmts.push_back(*std::move(own));
    stmts.push_back(AcrossThreads());
    stmts.push_back(WriteBack());
    Stmt made = MakeSeq(std::move(stmts));
    for (auto loop = plan_.loops.rbegin(); loop != plan_.loops.rend(); ++loop) {
      if (!IsThread(**loop)) continue;
      For around = **loop;
      around.body = std::move(made);
      made = std::move(around);
    }
    return made;
  }

 private:
  bool HasOwnPart() const { return !plan_.in_thread.empty(); }
  Stmt InitOfThread() const {
    std::vector<Stmt> stores;
    for (size_t i = 0; i < plan_.in_thread.size(); ++i)
      stores.push_back(MakeStore(plan_.in_thread[i], plan_.reduction.identities[i], {0}));
    return RealizedBlock({.name = block_.name + "_in_thread_init",
                          .writes = WholeOf(plan_.in_thread),
                          .body = MakeSeq(std::move(stores))});
  }
  // The nest with the thread's part in the place of the block; nullopt: nothing is left. Threads stand around it all.
  std::optional<Stmt> WithoutThreads(const Stmt& stmt) {
    if (const BlockRealize* realize = stmt.As<BlockRealize>()) {
      if (!realize->block.same_as(plan_.block)) return stmt;
      realize_ = *realize;
      return HasOwnPart() ? std::optional(OwnPart(*realize)) : std::nullopt;
    }
    if (const For* loop = stmt.As<For>()) {
      std::optional<Stmt> body = WithoutThreads(loop->body);
      if (!body || (IsThread(*loop) && HasReduction(*body))) return body;
      For copy = *loop;
      copy.body = *std::move(body);
      return copy;
    }
    const Seq* seq = stmt.As<Seq>();
    if (seq == nullptr) return stmt;
    std::vector<Stmt> kept;
    for (const Stmt& part : seq->stmts)
      if (std::optional<Stmt> rest = WithoutThreads(part)) kept.push_back(*std::move(rest));
    if (kept.empty()) return std::nullopt;
    return MakeSeq(std::move(kept));
  }
  Stmt OwnPart(const BlockRealize& realize) const {
    BlockNode own = block_;
    own.name += "_in_thread";
    own.writes = WholeOf(plan_.in_thread);
    own.body = OutputReplacer(plan_)(block_.body);
    own.init.reset();
    return RealizedBlock(std::move(own), realize.iter_values, realize.predicate);
  }
  // As "reduce_scope" has it: a reduction of nothing.
  Expr Combiner() const {
    CommReducer made;
    std::vector<Expr> x, y;
    for (const Buffer& output : plan_.reduction.outputs) {
      const std::string number = std::to_string(made.lhs.size());
      made.lhs.emplace_back("x" + number, output->dtype);
      made.rhs.emplace_back("y" + number, output->dtype);
      x.push_back(made.lhs.back());
      y.push_back(made.rhs.back());
    }
    made.result = plan_.reduction.reducer->combine(x, y);
    made.identity_element = plan_.reduction.identities;
    const DataType type = made.result[0].dtype();
    return Expr::Make(type, Reduce{std::move(made), {}, {}, {}, True()});
  }
  Stmt AcrossThreads() const {
    const std::vector<Buffer>& results = plan_.cross_thread;
    std::vector<Expr> args = {IntConst(DataType::UInt(32), int64_t(results.size()))};
    for (size_t i = 0; i < results.size(); ++i)
      args.push_back(HasOwnPart() ? Load(plan_.in_thread[i], {0}) : plan_.reduction.terms[i]);
    args.push_back(True());
    for (const Buffer& result : results) args.push_back(Load(result, {0}));
    for (const For* loop : plan_.loops)
      if (IsThread(*loop)) args.push_back(loop->loop_var);
    const Stmt call = Evaluate{MakeCall(DataType::Handle(), "tvm_thread_allreduce", std::move(args))};
    const Expr null = MakeCall(DataType::Handle(), "reinterpret", {IntConst(DataType::UInt(64), 0)});
    BlockNode block{.name = block_.name + "_cross_thread",
                    .reads = HasOwnPart() ? WholeOf(plan_.in_thread) : block_.reads,
                    .writes = WholeOf(results),
                    .body = AttrStmt{"reduce_scope", null, Attr(Combiner()), call}};
    if (HasOwnPart()) return RealizedBlock(std::move(block));
    block.iter_vars = block_.iter_vars;
    return RealizedBlock(std::move(block), realize_->iter_values);
  }
  Stmt WriteBack() const {
    BlockNode block{.name = block_.name + "_write_back", .reads = WholeOf(plan_.cross_thread), .body = Evaluate{0}};
    std::vector<Expr> values;
    VarMap vars;
    for (size_t i = 0; i < block_.iter_vars.size(); ++i) {
      IterVar iter = block_.iter_vars[i];
      if (iter.kind == IterKind::kReduce) continue;
      const Var var(iter.var.name(), iter.var.dtype());
      vars.emplace(iter.var.get(), var);
      iter.var = var;
      block.iter_vars.push_back(std::move(iter));
      values.push_back(realize_->iter_values[i]);
    }
    std::vector<Stmt> stores;
    for (size_t i = 0; i < plan_.cross_thread.size(); ++i) {
      const Buffer& output = plan_.reduction.outputs[i];
      std::vector<Expr> indices;
      BufferRegion write{output, {}};
      for (const Expr& index : plan_.reduction.indices[i]) indices.push_back(Substitute(index, vars));
      for (const Range& range : RegionOf(output))
        write.region.push_back({Substitute(range.min, vars), Substitute(range.extent, vars)});
      stores.push_back(MakeStore(output, Load(plan_.cross_thread[i], {0}), std::move(indices)));
      block.writes.push_back(std::move(write));
    }
    block.body = MakeSeq(std::move(stores));
    return RealizedBlock(std::move(block), std::move(values), PredicateOfResult());
  }
  const std::vector<Range>& RegionOf(const Buffer& output) const {
    const auto found = std::find_if(block_.writes.begin(), block_.writes.end(),
                                    [&](const BufferRegion& write) { return write.buffer.same_as(output); });
    return (found == block_.writes.end() ? block_.writes.front() : *found).region;
  }
  // What the outputs have to say; memory that threads share is written by the first.
  Expr PredicateOfResult() const {
    Expr predicate = True();
    for (const Expr& part : ConjunctsOf(realize_->predicate))
      if (!UsesAny(part, plan_.loops)) predicate = And(predicate, part);
    if (plan_.reduction.outputs[0]->scope == "local") return predicate;
    for (const For* loop : plan_.loops)
      if (IsThread(*loop)) predicate = And(predicate, Equal(loop->loop_var, IntConst(loop->loop_var.dtype(), 0)));
    return predicate;
  }

  const CrossThreadPlan& plan_;
  const BlockNode& block_;
  std::optional<BlockRealize> realize_;  // Of the block, once the nest is seen.
};

class CrossThreadReducer : public StmtExprMutator {
 public:
  explicit CrossThreadReducer(const std::string& func) : func_(func) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (!status.ok()) return stmt;
    path_.push_back(stmt);
    Stmt visited = StmtExprMutator::VisitStmt(stmt);
    path_.pop_back();
    return visited;
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    loops_.push_back(&loop);
    Stmt visited = StmtExprMutator::VisitFor(self, loop);
    loops_.pop_back();
    // Of the next kernel other threads are the same no more.
    const auto is_thread = [](const For* around) { return IsThreadIdx(*around) || IsBlockIdx(*around); };
    if (IsBlockIdx(loop) || (IsThreadIdx(loop) && std::none_of(loops_.begin(), loops_.end(), is_thread)))
      reduced_.clear();
    const auto plan = plans_.find(&loop);
    return plan == plans_.end() ? visited : ReductionMaker(plan->second).Make(visited);
  }
  Block VisitBlock(const Block& block) override {
    blocks_.push_back({block.get(), loops_.size(), {}});
    Block visited = StmtExprMutator::VisitBlock(block);
    const std::vector<Buffer> made = std::move(blocks_.back().made);
    blocks_.pop_back();
    if (made.empty()) return visited;
    std::vector<Buffer>& buffers = visited.Mutable().alloc_buffers;
    buffers.insert(buffers.end(), made.begin(), made.end());
    return visited;
  }
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    if (blocks_.empty()) return StmtExprMutator::VisitBlockRealize(self, realize);
    const std::vector<const For*> loops = LoopsToReduceAcross(realize);
    if (!loops.empty()) {
      const Status made = Plan(realize, loops);
      if (!made.ok()) status = made;
      return self;
    }
    const std::vector<ThreadDomain> unbound = ThreadsWithoutLoop(*realize.block);
    return unbound.empty() ? StmtExprMutator::VisitBlockRealize(self, realize) : OnFirstThread(realize, unbound);
  }

 private:
  struct Scope {
    const BlockNode* block;
    size_t first_loop;  // Of those around the block, the number.
    std::vector<Buffer> made;
  };

  // The loops that reduce, where one of them is bound to threads and the block is a reduction.
  std::vector<const For*> LoopsToReduceAcross(const BlockRealize& realize) const {
    if (!realize.block->init) return {};
    std::vector<const For*> found;
    for (const For* loop : loops_) {
      for (size_t i = 0; i < realize.iter_values.size(); ++i) {
        if (realize.block->iter_vars[i].kind != IterKind::kReduce || !UsesAny(realize.iter_values[i], {loop})) continue;
        found.push_back(loop);
        break;
      }
    }
    const bool crosses = std::any_of(found.begin(), found.end(), [](const For* loop) { return IsThread(*loop); });
    return crosses && IsReduction(realize) ? found : std::vector<const For*>{};
  }
  bool IsReduction(const BlockRealize& realize) const {
    const BlockNode& block = *realize.block;
    for (const IterVar& iter : block.iter_vars)
      if (iter.kind != IterKind::kReduce && iter.kind != IterKind::kSpatial) return false;
    IterDomain domain;
    for (size_t i = blocks_.back().first_loop; i < loops_.size(); ++i)
      domain.emplace_back(loops_[i]->loop_var, Range{loops_[i]->min, loops_[i]->extent});
    return IsAffineBinding(realize, domain, Analyzer()) && IsOnlyWriter(block) && !StoresByReduction(block);
  }
  bool IsOnlyWriter(const BlockNode& block) const {
    std::map<const BufferNode*, int> writers;
    WriterCounter{writers}(blocks_.back().block->body);
    return std::all_of(block.writes.begin(), block.writes.end(),
                       [&](const BufferRegion& write) { return writers[write.buffer.get()] == 1; });
  }
  static bool StoresByReduction(const BlockNode& block) {
    std::set<const ExprNode*> vars;
    for (const IterVar& iter : block.iter_vars)
      if (iter.kind == IterKind::kReduce) vars.insert(iter.var.get());
    const auto moves = [&](const Expr& e) {
      return UsesVar(e, [&](const ExprNode* used) { return vars.contains(used); });
    };
    bool found = false;
    PostOrderVisit(block.body, [&](const Stmt& part) {
      const BufferStore* store = part.As<BufferStore>();
      found |= store != nullptr && std::any_of(store->indices.begin(), store->indices.end(), moves);
    });
    return found;
  }

  Status Refused(const BlockNode& block, const std::string& why) const {
    return InvalidArgument(fmt::format("LowerCrossThreadReduction @{} block \"{}\": {}", func_, block.name, why));
  }
  Status Plan(const BlockRealize& realize, const std::vector<const For*>& loops) {
    const BlockNode& block = *realize.block;
    RETURN_IF_ERROR(CheckLoops(block, loops));
    StatusOr<MatchedReduction> reduction = MatchReduction(block);
    if (!reduction.ok()) return Refused(block, std::string(reduction.status().message()));
    const auto is_local = [](const Buffer& buffer) { return buffer->scope == "local"; };
    const auto num_local = std::count_if(reduction->outputs.begin(), reduction->outputs.end(), is_local);
    if (num_local != 0 && size_t(num_local) != reduction->outputs.size())
      return Refused(block, "its results are to be all in local memory, or none");
    RETURN_IF_ERROR(CheckLast(block, *loops[0]));
    const bool has_own_part = !std::all_of(loops.begin(), loops.end(), [](const For* loop) { return IsThread(*loop); });
    CrossThreadPlan plan{realize.block, loops, *std::move(reduction), {}, {}};
    plan.cross_thread = Scratchpads(plan.reduction.outputs, "cross_thread_");
    if (has_own_part || !IsConstInt(realize.predicate, 1))
      plan.in_thread = Scratchpads(plan.reduction.outputs, "in_thread_");
    std::vector<Buffer>& made = blocks_.back().made;
    made.insert(made.end(), plan.cross_thread.begin(), plan.cross_thread.end());
    made.insert(made.end(), plan.in_thread.begin(), plan.in_thread.end());
    std::vector<ThreadDomain> threads;
    for (const For* loop : loops)
      if (IsThread(*loop)) threads.push_back({loop->thread, {loop->min, loop->extent}});
    for (const Buffer& output : plan.reduction.outputs) reduced_.insert_or_assign(output.get(), threads);
    plans_.emplace(loops[0], std::move(plan));
    return OkStatus();
  }
  Status CheckLoops(const BlockNode& block, const std::vector<const For*>& loops) const {
    size_t deepest = 0;
    for (auto stmt = path_.rbegin() + 1; stmt != path_.rend(); ++stmt) {
      if (stmt->As<Seq>() != nullptr) continue;
      if (std::find(loops.begin(), loops.end(), stmt->As<For>()) == loops.end()) break;
      ++deepest;
    }
    if (deepest != loops.size())
      return Refused(block,
                     "the loops that reduce are to be the innermost statements around it, and others are between; "
                     "reorder the loops");
    for (const For* loop : loops)
      if (IsThread(*loop) && !IsThreadIdx(*loop))
        return Refused(block, fmt::format("loop \"{}\", which reduces, is bound to {}, and not to threadIdx.x, y or z",
                                          loop->loop_var.name(), loop->thread));
    return OkStatus();
  }
  Status CheckLast(const BlockNode& block, const For& top) const {
    const BlockNode* last = nullptr;
    LastBlockFinder{last}(top.body);
    return last == &block ? OkStatus() : Refused(block, "another block stands behind it in a loop that reduces");
  }

  // Threads that reduced what the block reads, and that no loop around it is bound to.
  std::vector<ThreadDomain> ThreadsWithoutLoop(const BlockNode& block) const {
    for (const BufferRegion& write : block.writes)
      if (write.buffer->scope == "local") return {};
    std::vector<ThreadDomain> found;
    for (const BufferRegion& read : block.reads) {
      const auto threads = reduced_.find(read.buffer.get());
      if (threads == reduced_.end()) continue;
      for (const ThreadDomain& one : threads->second) {
        const auto is_same = [&](const ThreadDomain& other) { return other.thread == one.thread; };
        const auto is_bound = [&](const For* loop) { return loop->thread == one.thread; };
        if (std::none_of(found.begin(), found.end(), is_same) && std::none_of(loops_.begin(), loops_.end(), is_bound))
          found.push_back(one);
      }
    }
    return found;
  }
  static Stmt OnFirstThread(BlockRealize realize, const std::vector<ThreadDomain>& threads) {
    std::vector<Var> vars;
    for (const ThreadDomain& one : threads) {
      vars.emplace_back(std::string("t") + one.thread.back(), one.domain.min.dtype());
      realize.predicate = And(Equal(vars.back(), one.domain.min), realize.predicate);
    }
    Stmt body = std::move(realize);
    for (size_t i = 0; i < threads.size(); ++i)
      body = For{vars[i], threads[i].domain.min, threads[i].domain.extent, ForKind::kThreadBinding, threads[i].thread,
                 {},      std::move(body)};
    return body;
  }

  const std::string& func_;
  std::vector<Stmt> path_;
  std::vector<const For*> loops_;  // Around the statement, blocks notwithstanding.
  std::vector<Scope> blocks_;
  std::map<const For*, CrossThreadPlan> plans_;                     // By the outermost loop that reduces.
  std::map<const BufferNode*, std::vector<ThreadDomain>> reduced_;  // Results, by which threads.
};

}  // namespace

StatusOr<PrimFunc> LowerCrossThreadReduction(PrimFunc func) {
  CrossThreadReducer reducer(func.name);
  Stmt body = reducer(func.body);
  RETURN_IF_ERROR(reducer.status);
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
