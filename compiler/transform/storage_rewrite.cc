#include "compiler/transform/storage_rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/iter_map.h"
#include "compiler/ir/buffer_access.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/func_analysis.h"
#include "compiler/transform/memory_lives.h"
#include "compiler/transform/pointer_value_type_rewrite.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using Point = LivePoint;

// Whether a statement may write `dst` where it reads `src`: it reads an element of `src` only to store it at the same
// place of `dst`, which it does once.
class InPlaceChecker : public StmtExprVisitor {
 public:
  InPlaceChecker(DataVar dst, DataVar src) : dst_(dst), src_(src) {}
  bool Check(const Stmt& stmt) {
    const bool is_known = stmt.As<AttrStmt>() != nullptr || stmt.As<For>() != nullptr ||
                          stmt.As<IfThenElse>() != nullptr || stmt.As<BufferStore>() != nullptr;
    if (is_known) VisitStmt(stmt);
    return is_known && is_fine_;
  }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const bool is_opaque = attr != nullptr && (attr->attr_key == "extern_scope" || attr->attr_key == "volatile_scope");
    if (is_opaque || stmt.As<While>() != nullptr) is_fine_ = false;
    if (is_fine_) StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitFor(const Stmt& self, const For& loop) override {
    const bool is_once = IsConstInt(loop.extent, 1);
    if (!is_once) loops_.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
    if (!is_once) loops_.pop_back();
  }
  void VisitVar(const Expr& var) override { is_fine_ &= var.get() != dst_ && var.get() != src_; }
  void VisitBufferStore(const Stmt&, const BufferStore& store) override {
    ++depth_;
    for (const Expr& index : store.indices) VisitExpr(index);
    --depth_;
    const bool writes = store.buffer->data.get() == dst_;
    if (writes) is_fine_ &= ++num_writes_ == 1 && WritesOnce(store);
    store_ = writes ? &store : nullptr;
    VisitExpr(store.value);
    store_ = nullptr;
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const DataVar data = load.buffer->data.get();
    is_fine_ &= data != dst_ && depth_ == 0;
    if (data == src_) is_fine_ &= store_ != nullptr && ReadsWhatIsWritten(self, load);
    ++depth_;
    StmtExprVisitor::VisitBufferLoad(self, load);
    --depth_;
  }

 private:
  // Every iteration has elements of its own.
  bool WritesOnce(const BufferStore& store) const {
    std::vector<Expr> indices;
    for (const Expr& index : store.indices) {
      const std::optional<int64_t> lanes = index.dtype().is_scalar() ? 1 : AlignedLanes(Analyzer(), index);
      if (!lanes) return false;
      indices.push_back(*lanes == 1 ? index : Analyzer().Simplify(FloorDiv(index.As<Ramp>()->base, *lanes)));
    }
    return HasIterMap(indices, loops_, True(), {IterMapLevel::kBijective}, Analyzer());
  }
  static bool IsSameLayout(const Buffer& a, const Buffer& b) {
    const auto is_same = [](const Expr& x, const Expr& y) { return StructuralEqual(x, y); };
    return is_same(a->elem_offset, b->elem_offset) &&
           std::equal(a->strides.begin(), a->strides.end(), b->strides.begin(), b->strides.end(), is_same) &&
           ((a->shape.size() == 1 && b->shape.size() == 1) ||
            std::equal(a->shape.begin(), a->shape.end(), b->shape.begin(), b->shape.end(), is_same));
  }
  bool ReadsWhatIsWritten(const Expr& self, const BufferLoad& load) const {
    if (store_->value.dtype() != self.dtype() || store_->indices.size() != load.indices.size() ||
        !IsSameLayout(store_->buffer, load.buffer))
      return false;
    for (size_t i = 0; i < load.indices.size(); ++i)
      if (!StructuralEqual(store_->indices[i], load.indices[i])) return false;
    return true;
  }

  const DataVar dst_, src_;
  const BufferStore* store_ = nullptr;  // To `dst`, whose value is visited.
  IterDomain loops_;
  int num_writes_ = 0;  // Stores to `dst`.
  int depth_ = 0;       // Of loads whose indices are visited.
  bool is_fine_ = true;
};

// One allocation of the result.
struct Storage {
  const StmtNode* place;  // The statement in whose body it is; nullptr: the function.
  StorageScope scope;
  DataType element;
  int64_t bits;                         // 0: not known.
  std::vector<const Allocate*> allocs;  // That live in it.
  std::vector<Storage*> merged;         // Others of special memory, which have their places behind it.
  Storage* whole = nullptr;             // Of which it is a part; itself.
  int64_t bits_offset = 0;              // In that.
  const Var& data() const { return whole->allocs[0]->buffer_var; }
};

// Which allocation becomes which.
class Planner {
 public:
  Planner(const MemoryLives& lives, const StorageRewriteOptions& options) : lives_(lives), options_(options) {}
  std::unordered_map<DataVar, Storage*> storage_of;
  std::map<const StmtNode*, std::vector<Storage*>> placed;

  Status Plan() {
    for (size_t i = 0; i < lives_.points.size(); ++i) RETURN_IF_ERROR(PlanPoint(i));
    for (const std::unique_ptr<Storage>& storage : all_) placed[storage->place].push_back(storage.get());
    for (auto& [place, storages] : placed) RETURN_IF_ERROR(MergeSpecial(storages));
    return OkStatus();
  }

 private:
  Status PlanPoint(size_t i) {
    const Point& point = lives_.points[i];
    if (point.to_pair >= 0) RETURN_IF_ERROR(Begin(point));
    if (IsPlace(Stmt::Of(*point.stmt))) EnterOrLeave(point.stmt);
    if (point.to_pair <= 0)
      for (const DataVar data : lives_.points[i + point.to_pair].dead)
        if (!taken_.contains(data)) Free(storage_of.at(data));
    return OkStatus();
  }
  bool IsPlace(const Stmt& stmt) const {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr) return attr->attr_key == "thread_extent" || attr->attr_key == "virtual_thread";
    const For* loop = stmt.As<For>();
    return loop != nullptr && loop->kind == ForKind::kParallel && (place_ == nullptr || place_ == stmt.get());
  }
  // What is free in a place is gone with it.
  void EnterOrLeave(const StmtNode* stmt) {
    if (place_ == nullptr) {
      place_ = stmt;
      return;
    }
    std::erase_if(free_, [&](const auto& item) { return item.second->place == stmt; });
    std::erase_if(free_symbolic_, [&](const Storage* storage) { return storage->place == stmt; });
    place_ = nullptr;
  }
  Status Begin(const Point& point) {
    for (const DataVar data : point.born) {
      const Allocate& alloc = *lives_.memories.at(data).alloc;
      ASSIGN_OR_RETURN(const StorageScope scope, ParseStorageScope(ScopeOf(alloc.buffer_var)));
      Storage* storage = point.born.size() <= 2 ? FindInPlace(point, alloc, scope) : nullptr;
      if (storage == nullptr) storage = FindFree(alloc, scope);
      storage->allocs.push_back(&alloc);
      storage_of[data] = storage;
    }
    return OkStatus();
  }
  Storage* FindInPlace(const Point& point, const Allocate& alloc, const StorageScope& scope) {
    for (const DataVar source : point.dead) {
      const auto found = storage_of.find(source);
      if (found == storage_of.end() || taken_.contains(source)) continue;
      Storage* storage = found->second;
      const bool fits = storage->scope == scope && storage->place == place_ &&
                        storage->element == alloc.dtype.element() && storage->bits == ConstantBits(alloc);
      if (!fits || !InPlaceChecker(alloc.buffer_var.get(), source).Check(Stmt::Of(*point.stmt))) continue;
      taken_.insert(source);
      return storage;
    }
    return nullptr;
  }
  Storage* New(const Allocate& alloc, const StorageScope& scope, int64_t bits) {
    all_.push_back(std::make_unique<Storage>(Storage{place_, scope, alloc.dtype.element(), bits, {}, {}}));
    all_.back()->whole = all_.back().get();
    return all_.back().get();
  }
  // What becomes registers is left to the compiler below.
  static bool IsForRegisters(const StorageScope& scope, DataType type, int64_t bits) {
    constexpr int64_t kFewBits = 32;
    return scope.tag.empty() &&
           (scope.rank >= StorageRank::kWarp || type.code == DataType::Code::kHandle || (bits > 0 && bits <= kFewBits));
  }
  Storage* FindFree(const Allocate& alloc, const StorageScope& scope) {
    const int64_t bits = ConstantBits(alloc);
    if (!options_.reuses || IsForRegisters(scope, alloc.dtype, bits) || alloc.extents.size() != 1)
      return New(alloc, scope, bits);
    Storage* found = bits == 0 ? TakeSymbolic(alloc, scope) : TakeConstant(alloc, scope, bits);
    return found == nullptr ? New(alloc, scope, bits) : found;
  }
  bool Suits(const Storage& storage, const StorageScope& scope) const {
    return storage.place == place_ && storage.scope == scope;
  }
  // The next larger one, of any type; else the next smaller one of the same, which grows.
  Storage* TakeConstant(const Allocate& alloc, const StorageScope& scope, int64_t bits) {
    constexpr int64_t kMostTimes = 16;
    const auto first = free_.lower_bound(bits / kMostTimes), middle = free_.lower_bound(bits);
    const auto last = bits > INT64_MAX / kMostTimes ? free_.end() : free_.upper_bound(bits * kMostTimes);
    const auto suits = [&](const Storage& storage) {
      return Suits(storage, scope) && (!options_.same_type_only || storage.element == alloc.dtype);
    };
    for (auto item = middle; item != last; ++item)
      if (suits(*item->second)) return Take(item, bits);
    for (auto item = middle; item != first;) {
      --item;
      if (suits(*item->second) && item->second->element == alloc.dtype.element()) return Take(item, bits);
    }
    return nullptr;
  }
  Storage* Take(std::multimap<int64_t, Storage*>::iterator item, int64_t bits) {
    Storage* storage = item->second;
    storage->bits = std::max(storage->bits, bits);
    free_.erase(item);
    return storage;
  }
  Storage* TakeSymbolic(const Allocate& alloc, const StorageScope& scope) {
    const auto found = std::find_if(free_symbolic_.begin(), free_symbolic_.end(), [&](const Storage* storage) {
      return Suits(*storage, scope) && storage->element == alloc.dtype.element();
    });
    if (found == free_symbolic_.end()) return nullptr;
    Storage* storage = *found;
    free_symbolic_.erase(found);
    return storage;
  }
  void Free(Storage* storage) {
    if (IsForRegisters(storage->scope, storage->allocs[0]->dtype, storage->bits)) return;
    if (storage->bits == 0)
      free_symbolic_.push_back(storage);
    else
      free_.emplace(storage->bits, storage);
  }
  // Memory of one special scope becomes one allocation.
  static Status MergeSpecial(std::vector<Storage*>& storages) {
    constexpr int64_t kAlignment = 32;
    std::vector<Storage*> kept;
    for (Storage* storage : storages) {
      const auto first =
          std::find_if(kept.begin(), kept.end(), [&](const Storage* other) { return other->scope == storage->scope; });
      if (!storage->scope.is_special() || first == kept.end()) {
        kept.push_back(storage);
        continue;
      }
      Storage& whole = **first;
      if (storage->bits == 0 || whole.bits == 0)
        return InvalidArgument(fmt::format("storage_rewrite: {} is of a special memory and has no constant size",
                                           storage->allocs[0]->buffer_var.name()));
      const auto aligned = [](int64_t bits) { return (bits + kAlignment - 1) / kAlignment * kAlignment; };
      storage->whole = &whole;
      storage->bits_offset = aligned(whole.bits);
      whole.bits = aligned(storage->bits_offset + storage->bits);
      whole.merged.push_back(storage);
    }
    storages = std::move(kept);
    return OkStatus();
  }

  const MemoryLives& lives_;
  const StorageRewriteOptions options_;
  const StmtNode* place_ = nullptr;
  std::vector<std::unique_ptr<Storage>> all_;
  std::multimap<int64_t, Storage*> free_;  // By size.
  std::list<Storage*> free_symbolic_;
  std::unordered_set<DataVar> taken_;  // Memory that goes on as another's.
};

class StorageRewriter : public StmtExprMutator {
 public:
  StorageRewriter(const MemoryLives& lives, const Planner& planner) : lives_(lives), planner_(planner) {}
  Stmt Rewrite(const Stmt& body) { return WithStorages(nullptr, VisitStmt(body)); }
  const Status& status() const { return status_; }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const Allocate* alloc = stmt.As<Allocate>()) return VisitStmt(alloc->body);
    if (const DeclBuffer* declared = stmt.As<DeclBuffer>()) {
      const bool is_gone = !lives_.accessed.contains(declared->buffer.get()) || IsMoved(declared->buffer);
      return is_gone ? VisitStmt(declared->body) : StmtExprMutator::VisitStmt(stmt);
    }
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (!planner_.placed.contains(stmt.get())) return visited;
    return WithStoragesInside(stmt.get(), visited);
  }
  Expr VisitVar(const Expr& var) override {
    const Storage* storage = StorageOf(Var(var));
    return storage == nullptr ? var : storage->data();
  }
  Expr VisitExpr(const Expr& expr) override {
    const Call* call = expr.As<Call>();
    const bool is_access = call != nullptr && call->op->name == "tvm_access_ptr" && call->args.size() == 5;
    const Storage* storage = is_access && IsVar(call->args[1]) ? StorageOf(Var(call->args[1])) : nullptr;
    const Expr visited = StmtExprMutator::VisitExpr(expr);
    if (storage == nullptr || storage->bits_offset == 0) return visited;
    Call moved = *visited.As<Call>();
    moved.args[2] = Behind(*storage, BitsOf(call->args[0].dtype()), moved.args[2]);
    return Expr::Make(visited.dtype(), std::move(moved));
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    return WithIndices(visited, InStorage(load.buffer, visited.As<BufferLoad>()->indices));
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    return WithIndices(visited, InStorage(store.buffer, visited.As<BufferStore>()->indices));
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return Over(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override { return Over(buffer); }

 private:
  const Storage* StorageOf(const Var& data) const {
    const auto found = planner_.storage_of.find(data.get());
    return found == planner_.storage_of.end() ? nullptr : found->second;
  }
  // The buffer over the memory that it has now.
  Buffer Over(const Buffer& buffer) {
    const Storage* storage = StorageOf(buffer->data);
    if (storage == nullptr || storage->data().same_as(buffer->data)) return buffer;
    const auto found = buffers_.find(buffer.get());
    if (found != buffers_.end()) return found->second;
    BufferNode node = *buffer;
    node.data = storage->data();
    node.name = storage->data().name();
    return buffers_.emplace(buffer.get(), Buffer(std::move(node))).first->second;
  }
  std::vector<Expr> InStorage(const Buffer& buffer, std::vector<Expr> indices) {
    const Storage* storage = StorageOf(buffer->data);
    if (storage != nullptr && storage->bits_offset != 0)
      indices.back() = Behind(*storage, buffer->dtype.bits, indices.back());
    return indices;
  }
  Expr Behind(const Storage& storage, int64_t element_bits, const Expr& index) {
    if (storage.bits_offset % element_bits != 0)
      status_ = InvalidArgument(fmt::format("storage_rewrite: {} has no place in {}: {} bits are no multiple of {}",
                                            storage.allocs[0]->buffer_var.name(), storage.data().name(),
                                            storage.bits_offset, element_bits));
    return IntConst(index.dtype(), storage.bits_offset / element_bits) + index;
  }
  // A view that says nothing of what is between is declared where the memory is.
  bool IsMoved(const Buffer& view) const {
    const auto is_constant = [](const Expr& e) { return AsIntConst(e) != nullptr; };
    return StorageOf(view->data) != nullptr && is_constant(view->elem_offset) &&
           std::all_of(view->shape.begin(), view->shape.end(), is_constant) &&
           std::all_of(view->strides.begin(), view->strides.end(), is_constant);
  }

  Stmt WithStoragesInside(const StmtNode* place, const Stmt& stmt) {
    if (const For* loop = stmt.As<For>()) {
      For changed = *loop;
      changed.body = WithStorages(place, changed.body);
      return changed;
    }
    AttrStmt changed = *stmt.As<AttrStmt>();
    changed.body = WithStorages(place, changed.body);
    return changed;
  }
  Stmt WithStorages(const StmtNode* place, Stmt body) {
    const auto found = planner_.placed.find(place);
    if (found == planner_.placed.end()) return body;
    for (size_t i = found->second.size(); i-- > 0;) body = WithStorage(*found->second[i], std::move(body));
    return body;
  }
  Stmt WithStorage(const Storage& storage, Stmt body) {
    body = WithViews(storage, std::move(body));
    const Allocate& first = *storage.allocs[0];
    const DataType type = TypeOf(storage);
    const bool is_one = storage.merged.empty() && AreAlike(storage);
    return Allocate{storage.data(),
                    type,
                    is_one ? first.extents : std::vector<Expr>{SizeOf(storage, type)},
                    is_one ? first.condition : True(),
                    {},
                    std::move(body)};
  }
  Stmt WithViews(const Storage& storage, Stmt body) {
    for (size_t i = storage.merged.size(); i-- > 0;) body = WithViews(*storage.merged[i], std::move(body));
    for (size_t i = storage.allocs.size(); i-- > 0;) {
      const auto found = lives_.views.find(storage.allocs[i]->buffer_var.get());
      if (found == lives_.views.end()) continue;
      for (size_t k = found->second.size(); k-- > 0;) {
        const Buffer& view = found->second[k];
        if (lives_.accessed.contains(view.get()) && IsMoved(view)) body = DeclBuffer{Over(view), std::move(body)};
      }
    }
    return body;
  }
  static DataType TypeOf(const Storage& storage) {
    if (!storage.merged.empty()) return storage.element;
    DataType type = storage.allocs[0]->dtype;
    for (const Allocate* alloc : storage.allocs)
      if (alloc->dtype.lanes > type.lanes) type = alloc->dtype;
    return type;
  }
  static bool AreAlike(const Storage& storage) {
    const Allocate& first = *storage.allocs[0];
    return std::all_of(storage.allocs.begin(), storage.allocs.end(), [&](const Allocate* alloc) {
      return alloc->dtype == first.dtype &&
             std::equal(alloc->extents.begin(), alloc->extents.end(), first.extents.begin(), first.extents.end(),
                        [](const Expr& a, const Expr& b) { return StructuralEqual(a, b); });
    });
  }
  // In elements of `type`, what the largest needs.
  static Expr SizeOf(const Storage& storage, DataType type) {
    const int64_t type_bits = BitsOf(type);
    const DataType index = storage.allocs[0]->extents[0].dtype();
    if (storage.bits != 0) {
      const int64_t size = (storage.bits + type_bits - 1) / type_bits;
      return size > INT32_MAX ? IntConst(DataType::Int(64), size) : IntConst(index, size);
    }
    std::optional<Expr> bits;
    for (const Allocate* alloc : storage.allocs) {
      const Expr mine = alloc->extents[0] * IntConst(alloc->extents[0].dtype(), BitsOf(alloc->dtype));
      bits = bits ? Max(*bits, mine) : mine;
    }
    const Analyzer analyzer;
    const Expr width = IntConst(bits->dtype(), type_bits);
    const Expr size = FloorDiv(*bits, width);
    const bool is_whole = analyzer.CanProveEqual(FloorMod(*bits, width), IntConst(bits->dtype(), 0));
    return analyzer.Simplify(is_whole ? size : size + 1);
  }

  const MemoryLives& lives_;
  const Planner& planner_;
  BufferMap buffers_;
  Status status_;
};

class LoopChecker : public StmtExprVisitor {
 public:
  Status status;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    if (loop.kind == ForKind::kVectorized)
      status = InvalidArgument(
          fmt::format("storage_rewrite: loop {} is vectorized; run VectorizeLoop before", loop.loop_var.name()));
    const Var* const around = parallel_;
    if (loop.kind == ForKind::kParallel) parallel_ = &loop.loop_var;
    StmtExprVisitor::VisitFor(self, loop);
    parallel_ = around;
  }
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const bool was_launched = is_launched_;
    is_launched_ |= parallel_ != nullptr && attr != nullptr && attr->attr_key == "thread_extent";
    if (is_launched_ && stmt.As<Allocate>() != nullptr)
      status = InvalidArgument(
          fmt::format("storage_rewrite: threads that have memory are launched in parallel loop {}, whose turns would "
                      "share it; launch them outside of the loop",
                      parallel_->name()));
    StmtExprVisitor::VisitStmt(stmt);
    is_launched_ = was_launched;
  }

 private:
  const Var* parallel_ = nullptr;  // The loop around.
  bool is_launched_ = false;       // Inside of it.
};

}  // namespace

StatusOr<PrimFunc> StorageRewrite(PrimFunc func, const StorageRewriteOptions& options) {
  const Stmt body = SplitAllocBuffers(func.body);
  LoopChecker checker;
  checker(body);
  RETURN_IF_ERROR(checker.status);
  ASSIGN_OR_RETURN(const MemoryLives lives, FindMemoryLives(body, {.pass = "storage_rewrite"}));
  Planner planner(lives, options);
  RETURN_IF_ERROR(planner.Plan());
  StorageRewriter rewriter(lives, planner);
  func.body = rewriter.Rewrite(body);
  RETURN_IF_ERROR(rewriter.status());
  if (const std::optional<Var> lost = NewlyUndefined(body, func.body))
    return InvalidArgument(
        fmt::format("storage_rewrite: the extent of an allocation uses {}, which is not known where the memory would "
                    "be allocated",
                    lost->name()));
  return PointerValueTypeRewrite(std::move(func), {.params = false, .shuffles = false});
}

}  // namespace lathe
