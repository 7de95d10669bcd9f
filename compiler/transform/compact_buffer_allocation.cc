#include "compiler/transform/compact_buffer_allocation.h"

#include <fmt/format.h>

#include <map>
#include <unordered_set>

#include "compiler/arith/guarded_region.h"
#include "compiler/arith/int_set.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/buffer_access.h"
#include "compiler/ir/number_attr.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Threads that run the statements inside of it.
struct ThreadLoop {
  Var var;
  Range range;
  std::string tag;
};
// Whether memory of the scope is one for all of the threads, as TVM has it: global memory of all, shared memory of a
// block's, a warp's of those along x.
bool AreTogether(const Buffer& buffer, const ThreadLoop& thread) {
  const StatusOr<StorageScope> scope = ParseStorageScope(buffer->scope);
  CHECK(scope.ok()) << "CheckScopes lets no other through";
  if (scope->rank == StorageRank::kGlobal) return true;
  if (scope->rank == StorageRank::kWarp) return thread.tag == "threadIdx.x";
  return scope->rank == StorageRank::kShared && !thread.tag.starts_with("blockIdx");
}

// Whether another look gives the same answer.
bool IsRepeatable(const Expr& e) {
  bool is_repeatable = true;
  PostOrderVisit(e, [&](const Expr& part) {
    const Call* call = part.As<Call>();
    is_repeatable &= part.As<BufferLoad>() == nullptr && part.As<FuncCall>() == nullptr;
    is_repeatable &= call == nullptr || call->op->is_pure;
  });
  return is_repeatable;
}

// The box around all that a statement touches of each of some buffers; variables defined inside the statement are
// relaxed, as far as the conditions around an access let them run.
class BoxFinder : public StmtExprVisitor {
 public:
  // `threads` are around, and all of them touch the buffers.
  BoxFinder(const std::vector<Buffer>& buffers, const std::vector<ThreadLoop>& threads, const Analyzer& analyzer)
      : analyzer_(analyzer) {
    for (const ThreadLoop& thread : threads) loops_.emplace_back(thread.var, thread.range);
    for (const Buffer& buffer : buffers) {
      full_.emplace(buffer.get(), FullRegion(buffer).region);
      by_data_.emplace(buffer->data.get(), buffer);
    }
  }
  // nullptr: untouched.
  const std::vector<Range>* Find(const Buffer& buffer) const {
    const auto found = boxes_.find(buffer.get());
    return found == boxes_.end() ? nullptr : &found->second;
  }

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    const bool is_known = IsKnown(loop.min) && IsKnown(loop.extent);
    if (!is_known) return VisitWithUnknown(self, loop);
    loops_.emplace_back(loop.loop_var, Range{Expand(loop.min), Expand(loop.extent)});
    StmtExprVisitor::VisitFor(self, loop);
    loops_.pop_back();
  }
  void VisitStmt(const Stmt& stmt) override {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VisitBranches(*branch);
    if (const LetStmt* let = stmt.As<LetStmt>()) Define(let->var, let->value);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& expr) override {
    static const Op* const if_then_else = FindOp("if_then_else");
    const Call* call = expr.As<Call>();
    if (call != nullptr && call->op == if_then_else) return VisitChoice(*call);
    if (const Let* let = expr.As<Let>()) Define(let->var, let->value);
    StmtExprVisitor::VisitExpr(expr);
  }
  void VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    for (size_t i = 0; i < realize.iter_values.size(); ++i)
      Define(realize.block->iter_vars[i].var, realize.iter_values[i]);
    Under(realize.predicate, [&] { StmtExprVisitor::VisitBlockRealize(self, realize); });
  }
  void VisitBlock(const Block& block) override {  // Declared regions are hulls; accesses and views say what is touched.
    for (const MatchBufferRegion& match : block->match_buffers) Touch(match.source.buffer, match.source.region);
    VisitStmt(block->body);
  }
  void VisitVar(const Expr& var) override {  // Who has the address may touch all of it.
    const auto buffer = by_data_.find(var.get());
    if (buffer != by_data_.end()) Join(buffer->second, full_.at(buffer->second.get()));
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    TouchElement(store.buffer, store.indices);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    TouchElement(load.buffer, load.indices);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void VisitWithUnknown(const Stmt& self, const For& loop) {
    unknown_.insert(loop.loop_var.get());
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitBranches(const IfThenElse& branch) {
    VisitExpr(branch.condition);
    Under(branch.condition, [&] { VisitStmt(branch.then_case); });
    if (branch.else_case) Under(MakeNot(branch.condition), [&] { VisitStmt(*branch.else_case); });
  }
  void VisitChoice(const Call& choice) {
    VisitExpr(choice.args[0]);
    Under(choice.args[0], [&] { VisitExpr(choice.args[1]); });
    Under(MakeNot(choice.args[0]), [&] { VisitExpr(choice.args[2]); });
  }
  // Visits what happens only where `condition` holds.
  template <typename F>
  void Under(const Expr& condition, F visit) {
    const size_t count = conditions_.size();
    for (const Expr& part : ConjunctsOf(analyzer_.Simplify(condition)))
      if (IsKnown(part) && !IsConstInt(part, 1)) conditions_.push_back(Expand(part));
    visit();
    conditions_.resize(count, True());
  }
  void Define(const Var& var, const Expr& value) {
    if (IsKnown(value))
      values_.insert_or_assign(var.get(), Expand(value));
    else
      unknown_.insert(var.get());
  }
  Expr Expand(const Expr& e) const { return Substitute(e, values_); }
  // Made of loops and of what is known outside of the statement.
  bool IsKnown(const Expr& e) const {
    return e.dtype().is_scalar() && IsRepeatable(e) &&
           !UsesVar(e, [this](const ExprNode* var) { return unknown_.count(var) != 0; });
  }
  void TouchElement(const Buffer& buffer, const std::vector<Expr>& indices) {
    const auto full = full_.find(buffer.get());
    if (full == full_.end()) return;
    std::vector<Range> region;
    for (size_t d = 0; d < indices.size(); ++d) {
      const bool is_plain = indices[d].dtype() == full->second[d].extent.dtype() && IsKnown(indices[d]);
      region.push_back(is_plain ? Range{indices[d], IntConst(indices[d].dtype(), 1)} : full->second[d]);
    }
    Touch(buffer, std::move(region));
  }
  void Touch(const Buffer& buffer, std::vector<Range> region) {
    const auto full = full_.find(buffer.get());
    if (full == full_.end()) return;
    for (size_t d = 0; d < region.size(); ++d) {
      const bool is_known = IsKnown(region[d].min) && IsKnown(region[d].extent);
      region[d] = is_known ? Range{Expand(region[d].min), Expand(region[d].extent)} : full->second[d];
    }
    Join(buffer, BoxOf(region, full->second));
  }
  void Join(const Buffer& buffer, const std::vector<Range>& box) {
    const auto [found, is_first] = boxes_.emplace(buffer.get(), box);
    if (!is_first) found->second = UnionRegion(found->second, box, analyzer_);
  }
  // Cut where the conditions make it shorter.
  std::vector<Range> BoxOf(const std::vector<Range>& region, const std::vector<Range>& full) const {
    if (conditions_.empty()) return RelaxRegion(region, loops_, analyzer_, &full);
    GuardedAccess access{region, NarrowLoops()};
    for (const Expr& condition : conditions_) access.predicate = And(access.predicate, condition);
    const GuardedRegion touched = TouchedAtMost(access, full, analyzer_);
    std::vector<Range> box = touched.box, cut = CutBox(touched, analyzer_);
    for (size_t d = 0; d < box.size(); ++d)
      if (LongestOf(cut[d]) < LongestOf(box[d])) box[d] = cut[d];
    return box;
  }
  int64_t LongestOf(const Range& range) const { return analyzer_.ConstIntBound(range.extent).max; }
  // The iterations in which the conditions may hold.
  IterDomain NarrowLoops() const {
    Analyzer inside = Analyzer::Under(analyzer_);
    for (const auto& [var, range] : loops_) inside.Bind(var, range);
    for (const Expr& condition : conditions_) inside.Assume(condition);
    IterDomain narrow = loops_;
    for (auto& [var, range] : narrow) range = Narrowed(range, inside.ConstIntBound(var));
    return narrow;
  }
  static Range Narrowed(const Range& range, const IntBound& bound) {
    const int64_t *min = AsIntConst(range.min), *extent = AsIntConst(range.extent);
    if (min == nullptr || extent == nullptr || bound.min > bound.max) return range;
    const int64_t first = std::max(*min, bound.min), last = std::min(*min + *extent - 1, bound.max);
    if (first > last) return range;
    return {IntConst(range.min.dtype(), first), IntConst(range.extent.dtype(), last - first + 1)};
  }

  const Analyzer& analyzer_;
  IterDomain loops_;  // Around the place that is visited, outermost first.
  std::vector<Expr> conditions_;
  VarMap values_;                                // Of what is defined inside.
  std::unordered_set<const ExprNode*> unknown_;  // Defined inside by memory.
  std::unordered_map<const BufferNode*, std::vector<Range>> full_, boxes_;
  std::unordered_map<const ExprNode*, Buffer> by_data_;
};

// Up to this many elements a dimension of symbolic extent is given a constant one. A greater bound says no more than
// the type of the symbol does.
constexpr int64_t kMaxOfSymbolic = 1 << 16;

// What storage_align asks for: the stride of an axis is `offset` more than a multiple of `factor`.
struct Alignment {
  int64_t factor = 0, offset = 0;
};
using Alignments = std::unordered_map<const BufferNode*, std::map<int64_t, Alignment>>;  // By axis.

// By the annotations of the blocks that write a buffer: lists of [index among the writes, axis, factor, offset].
class AlignmentFinder : public StmtExprVisitor {
 public:
  Alignments found;

 protected:
  void VisitBlock(const Block& block) override {
    StmtExprVisitor::VisitBlock(block);
    const auto annotation = block->annotations.find("buffer_dim_align");
    const Attr none, &requests = annotation == block->annotations.end() ? none : annotation->second;
    if (const auto* list = std::get_if<std::vector<Attr>>(&requests))
      for (const Attr& request : *list) Note(*block, request);
  }

 private:
  void Note(const BlockNode& block, const Attr& request) {
    const auto* parts = std::get_if<std::vector<Attr>>(&request);
    if (parts == nullptr || parts->size() != 4) return;
    std::vector<int64_t> numbers;
    for (const Attr& part : *parts)
      if (const auto number = IntOf(part)) numbers.push_back(*number);
    if (numbers.size() != 4 || numbers[0] < 0 || numbers[0] >= std::ssize(block.writes) || numbers[2] <= 0) return;
    found[block.writes[numbers[0]].buffer.get()][numbers[1]] = {numbers[2], numbers[3]};
  }
};

// From the innermost axis outwards, each as far as it must be and then up to what is asked for.
std::vector<Expr> AlignedStrides(const std::vector<Expr>& shape, const std::map<int64_t, Alignment>& alignments,
                                 const Analyzer& analyzer) {
  std::vector<Expr> strides = shape;
  Expr stride = IntConst(shape[0].dtype(), 1);
  for (size_t d = shape.size(); d-- > 0;) {
    if (const auto found = alignments.find(static_cast<int64_t>(d)); found != alignments.end()) {
      const Expr factor = IntConst(stride.dtype(), found->second.factor);
      const Expr offset = IntConst(stride.dtype(), found->second.offset);
      stride = stride + FloorMod(factor + offset - FloorMod(stride, factor), factor);
    }
    strides[d] = analyzer.Simplify(stride);
    stride = strides[d] * shape[d];
  }
  return strides;
}

class Compactor : public StmtExprMutator {
 public:
  Compactor(Alignments alignments, bool simplifies) : alignments_(std::move(alignments)), simplifies_(simplifies) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    if (loop.kind != ForKind::kThreadBinding) return StmtExprMutator::VisitFor(self, loop);
    threads_.push_back({loop.loop_var, {loop.min, loop.extent}, loop.thread});
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    threads_.pop_back();
    return visited;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const LetStmt* let = stmt.As<LetStmt>()) return VisitLet(stmt, *let);
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (axis == nullptr) return StmtExprMutator::VisitStmt(stmt);
    threads_.push_back({axis->var, {0, attr->value}, axis->thread_tag});
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    threads_.pop_back();
    return visited;
  }
  Block VisitBlock(const Block& self) override {
    std::map<std::vector<bool>, std::vector<Buffer>> by_threads;  // Of which their memory is one.
    for (const Buffer& buffer : self->alloc_buffers) {
      std::vector<bool> together;
      for (const ThreadLoop& thread : threads_) together.push_back(AreTogether(buffer, thread));
      by_threads[together].push_back(buffer);
    }
    for (const auto& [together, buffers] : by_threads) ShrinkAll(self, together, buffers);
    Block block = StmtExprMutator::VisitBlock(self);
    MoveRegions(block);
    return block;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override { return VisitBufferUse(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = compact_.find(buffer.get());
    return found == compact_.end() ? buffer : found->second.buffer;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = VisitChildren(self);
    const auto found = compact_.find(load.buffer.get());
    if (found == compact_.end()) return visited;
    return WithIndices(visited, Move(visited.As<BufferLoad>()->indices, found->second.mins));
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = VisitChildren(self);
    const auto found = compact_.find(store.buffer.get());
    if (found == compact_.end()) return visited;
    return WithIndices(visited, Move(visited.As<BufferStore>()->indices, found->second.mins));
  }

 private:
  struct Compact {
    Buffer buffer;
    std::vector<Expr> mins;
  };

  Stmt VisitLet(const Stmt& self, const LetStmt& let) {
    const FactScope inside(analyzer_);
    if (let.value.dtype().is_int() && IsRepeatable(let.value)) analyzer_.Bind(let.var, let.value);
    return StmtExprMutator::VisitStmt(self);
  }
  void ShrinkAll(const Block& block, const std::vector<bool>& together, const std::vector<Buffer>& buffers) {
    std::vector<ThreadLoop> threads;
    for (size_t i = 0; i < threads_.size(); ++i)
      if (together[i]) threads.push_back(threads_[i]);
    BoxFinder boxes(buffers, threads, analyzer_);
    boxes(BlockRealize{{}, True(), block});
    for (const Buffer& buffer : buffers)
      if (const std::vector<Range>* box = boxes.Find(buffer)) Shrink(buffer, *box);
  }
  void Shrink(const Buffer& buffer, const std::vector<Range>& box) {
    if (!buffer->strides.empty()) return;  // The layout was chosen by the schedule.
    BufferNode node = *buffer;
    std::vector<Expr> mins;
    bool is_smaller = false;
    for (size_t d = 0; d < box.size(); ++d) {
      const int64_t* whole = AsIntConst(node.shape[d]);
      const Expr extent = analyzer_.Simplify(box[d].extent);
      const int64_t* known = AsIntConst(extent);
      const int64_t bound = known != nullptr ? *known : analyzer_.ConstIntBound(extent).max;
      if (bound <= 0 || bound > (whole != nullptr ? *whole - 1 : kMaxOfSymbolic)) {
        mins.push_back(IntConst(node.shape[d].dtype(), 0));
        continue;
      }
      is_smaller = true;
      mins.push_back(analyzer_.Simplify(box[d].min));
      node.shape[d] = IntConst(node.shape[d].dtype(), bound);
    }
    const auto aligned = alignments_.find(buffer.get());
    if (aligned != alignments_.end() && !node.shape.empty())
      node.strides = AlignedStrides(node.shape, aligned->second, analyzer_);
    if (is_smaller || !node.strides.empty())
      compact_.insert_or_assign(buffer.get(), Compact{Buffer(std::move(node)), std::move(mins)});
  }
  std::vector<Expr> Move(const std::vector<Expr>& indices, const std::vector<Expr>& mins) const {
    std::vector<Expr> moved;
    for (size_t d = 0; d < indices.size(); ++d) moved.push_back(Moved(indices[d], mins[d]));
    return moved;
  }
  Expr Moved(const Expr& index, const Expr& min) const {
    const Expr moved = index - min;
    return simplifies_ ? analyzer_.Simplify(moved) : moved;
  }
  // Regions name the new buffer already.
  void MoveRegions(Block& block) const {
    const auto needs_move = [this](const BufferRegion& region) { return FindCompact(region.buffer) != nullptr; };
    const auto matches = [&](const MatchBufferRegion& match) { return needs_move(match.source); };
    const BlockNode& node = *block;
    if (std::none_of(node.reads.begin(), node.reads.end(), needs_move) &&
        std::none_of(node.writes.begin(), node.writes.end(), needs_move) &&
        std::none_of(node.match_buffers.begin(), node.match_buffers.end(), matches)) {
      return;
    }
    BlockNode& copy = block.Mutable();
    for (BufferRegion& region : copy.reads) MoveRegion(region, /*is_exact=*/false);
    for (BufferRegion& region : copy.writes) MoveRegion(region, /*is_exact=*/false);
    for (MatchBufferRegion& match : copy.match_buffers) MoveRegion(match.source, /*is_exact=*/true);
  }
  const Compact* FindCompact(const Buffer& now) const {
    for (const auto& [before, compact] : compact_) {
      if (compact.buffer.same_as(now)) return &compact;
    }
    return nullptr;
  }
  void MoveRegion(BufferRegion& region, bool is_exact) const {
    const Compact* compact = FindCompact(region.buffer);
    if (compact == nullptr) return;
    for (size_t d = 0; d < region.region.size(); ++d) {
      Range& range = region.region[d];
      range.min = Moved(range.min, compact->mins[d]);
      const int64_t *extent = AsIntConst(range.extent), *whole = AsIntConst(compact->buffer->shape[d]);
      if (!is_exact && extent != nullptr && whole != nullptr && *extent > *whole)
        range = {IntConst(range.min.dtype(), 0), compact->buffer->shape[d]};
    }
  }

  const Alignments alignments_;
  const bool simplifies_;
  Analyzer analyzer_;
  std::vector<ThreadLoop> threads_;  // Around.
  std::unordered_map<const BufferNode*, Compact> compact_;
};

// Whether it is known of all memory who shares it.
class ScopeChecker : public StmtExprVisitor {
 public:
  Status status;

 protected:
  void VisitBufferDef(const Buffer& buffer) override {
    const StatusOr<StorageScope> scope = ParseStorageScope(buffer->scope);
    if (!scope.ok()) status = scope.status();
    StmtExprVisitor::VisitBufferDef(buffer);
  }
};

StatusOr<PrimFunc> Compacted(PrimFunc func, bool simplifies) {
  ScopeChecker checker;
  checker(func.body);
  if (!checker.status.ok())
    return InvalidArgument(fmt::format("compact_buffer_allocation @{}: {}", func.name, checker.status.message()));
  AlignmentFinder alignments;
  alignments(func.body);
  func.body = Compactor(std::move(alignments.found), simplifies)(func.body);
  return func;
}

}  // namespace

StatusOr<PrimFunc> CompactBufferAllocation(PrimFunc func) { return Compacted(std::move(func), true); }
StatusOr<PrimFunc> CompactBufferAllocationPlainly(PrimFunc func) { return Compacted(std::move(func), false); }

}  // namespace lathe
