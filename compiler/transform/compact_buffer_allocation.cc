#include "compiler/transform/compact_buffer_allocation.h"

#include <fmt/format.h>

#include <map>

#include "compiler/arith/int_set.h"
#include "compiler/ir/buffer_access.h"
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

// The box around all that a statement touches of each of some buffers; variables defined inside the statement are
// relaxed.
class BoxFinder : public StmtExprVisitor {
 public:
  // `threads` are around, and all of them touch the buffers.
  BoxFinder(const std::vector<Buffer>& buffers, const std::vector<ThreadLoop>& threads, const Analyzer& analyzer)
      : analyzer_(analyzer) {
    for (const ThreadLoop& thread : threads) inside_.Add(thread.var, thread.range);
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
    const auto is_relaxed = [this](const ExprNode* var) { return inside_.Find(var) != nullptr; };
    if (UsesVar(loop.min, is_relaxed) || UsesVar(loop.extent, is_relaxed))
      inside_.Add(loop.loop_var, IntSet::Everything());
    else
      inside_.Add(loop.loop_var, Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitStmt(const Stmt& stmt) override {
    if (const LetStmt* let = stmt.As<LetStmt>()) inside_.Add(let->var, IntSet::Everything());
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBlock(const Block& block) override {  // Declared regions are hulls; accesses and views say what is touched.
    for (const MatchBufferRegion& match : block->match_buffers) Touch(match.source.buffer, match.source.region);
    VisitStmt(block->body);
  }
  void VisitVar(const Var& var) override {  // Who has the address may touch all of it.
    const auto buffer = by_data_.find(var.get());
    if (buffer != by_data_.end()) Touch(buffer->second, full_.at(buffer->second.get()));
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
  void TouchElement(const Buffer& buffer, const std::vector<Expr>& indices) {
    const auto full = full_.find(buffer.get());
    if (full == full_.end()) return;
    std::vector<Range> region;
    for (size_t d = 0; d < indices.size(); ++d) {
      const bool is_plain = indices[d].dtype().is_scalar() && indices[d].dtype() == full->second[d].extent.dtype() &&
                            !HasLoad(indices[d]);
      region.push_back(is_plain ? Range{indices[d], IntConst(indices[d].dtype(), 1)} : full->second[d]);
    }
    Touch(buffer, region);
  }
  static bool HasLoad(const Expr& e) {
    bool has_load = false;
    PostOrderVisit(e, [&](const Expr& part) { has_load |= part.As<BufferLoad>() != nullptr; });
    return has_load;
  }
  void Touch(const Buffer& buffer, const std::vector<Range>& region) {
    const auto full = full_.find(buffer.get());
    if (full == full_.end()) return;
    std::vector<Range> box = RelaxRegion(region, inside_, analyzer_, &full->second);
    const auto [found, is_first] = boxes_.emplace(buffer.get(), box);
    if (!is_first) found->second = UnionRegion(found->second, box, analyzer_);
  }

  const Analyzer& analyzer_;
  DomMap inside_;
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
      if (const auto* number = std::get_if<int64_t>(&part)) numbers.push_back(*number);
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
  explicit Compactor(Alignments alignments) : alignments_(std::move(alignments)) {}

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
    if (aligned != alignments_.end()) node.strides = AlignedStrides(node.shape, aligned->second, analyzer_);
    if (is_smaller || !node.strides.empty())
      compact_.insert_or_assign(buffer.get(), Compact{Buffer(std::move(node)), std::move(mins)});
  }
  std::vector<Expr> Move(const std::vector<Expr>& indices, const std::vector<Expr>& mins) const {
    std::vector<Expr> moved;
    for (size_t d = 0; d < indices.size(); ++d) moved.push_back(analyzer_.Simplify(indices[d] - mins[d]));
    return moved;
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
      range.min = analyzer_.Simplify(range.min - compact->mins[d]);
      const int64_t *extent = AsIntConst(range.extent), *whole = AsIntConst(compact->buffer->shape[d]);
      if (!is_exact && extent != nullptr && whole != nullptr && *extent > *whole)
        range = {IntConst(range.min.dtype(), 0), compact->buffer->shape[d]};
    }
  }

  const Alignments alignments_;
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

}  // namespace

StatusOr<PrimFunc> CompactBufferAllocation(PrimFunc func) {
  ScopeChecker checker;
  checker(func.body);
  if (!checker.status.ok())
    return InvalidArgument(fmt::format("compact_buffer_allocation @{}: {}", func.name, checker.status.message()));
  AlignmentFinder alignments;
  alignments(func.body);
  func.body = Compactor(std::move(alignments.found))(func.body);
  return func;
}

}  // namespace lathe
