#include "compiler/transform/merge_shared_memory_allocations.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/buffer_access.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/memory_lives.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

bool IsDynamicShared(const Var& data) { return ScopeOf(data) == "shared.dyn"; }
bool IsStaticShared(const Var& data) { return ScopeOf(data) == "shared"; }

// A stretch of the merged memory. `beside` are smaller places side by side in it, which were needed before; `over` are
// allocations that begin where it does, one after the other.
struct SharedPlace {
  int64_t bits = 0;  // 0: not known.
  std::vector<const SharedPlace*> beside;
  std::vector<const Allocate*> over;
  // How many layers lie below those of `over`.
  size_t NumBelow() const {
    size_t below = 0;
    for (const SharedPlace* place : beside) below = std::max(below, place->NumBelow() + place->over.size());
    return below;
  }
};

class PlacePlanner {
 public:
  explicit PlacePlanner(const MemoryLives& lives) : lives_(lives) {}
  // All places, by size.
  std::vector<const SharedPlace*> Plan() {
    for (size_t i = 0; i < lives_.points.size(); ++i) PlanPoint(i);
    std::vector<const SharedPlace*> places;
    for (const auto& [bits, place] : free_) places.push_back(place);
    places.insert(places.end(), free_symbolic_.begin(), free_symbolic_.end());
    places.insert(places.end(), small_.begin(), small_.end());
    return places;
  }

 private:
  // What ends at a statement is free for what begins there.
  void PlanPoint(size_t i) {
    const int64_t to_pair = lives_.points[i].to_pair;
    const LivePoint& point = lives_.points[i + std::min<int64_t>(to_pair, 0)];
    const auto is_only_here = [&](DataVar data) {
      return to_pair == 0 && std::find(point.born.begin(), point.born.end(), data) != point.born.end();
    };
    if (to_pair <= 0)
      for (const DataVar data : point.dead)
        if (!is_only_here(data)) Free(data);
    if (to_pair >= 0)
      for (const DataVar data : point.born) place_of_[data] = FindFree(*lives_.memories.at(data).alloc);
    if (to_pair <= 0)
      for (const DataVar data : point.dead)
        if (is_only_here(data)) Free(data);
  }
  SharedPlace* New(int64_t bits, const Allocate& alloc, std::vector<const SharedPlace*> beside = {}) {
    all_.push_back(std::make_unique<SharedPlace>(SharedPlace{bits, std::move(beside), {&alloc}}));
    return all_.back().get();
  }
  SharedPlace* FindFree(const Allocate& alloc) {
    const int64_t bits = ConstantBits(alloc);
    if (bits > 0 && bits <= kFewBits) return New(bits, alloc);
    if (bits == 0) return TakeSymbolic(alloc);
    constexpr int64_t kMostTimes = 16;
    const auto larger = free_.lower_bound(bits);
    if (larger != free_.end() && larger->first / kMostTimes <= bits) {
      SharedPlace* place = larger->second;
      free_.erase(larger);
      place->over.push_back(&alloc);
      return place;
    }
    return TakeSmaller(alloc, bits, larger);
  }
  SharedPlace* TakeSymbolic(const Allocate& alloc) {
    if (free_symbolic_.empty()) return New(0, alloc);
    SharedPlace* place = free_symbolic_.front();
    free_symbolic_.pop_front();
    place->over.push_back(&alloc);
    return place;
  }
  // Smaller places side by side until they are large enough; all there are if they are not.
  SharedPlace* TakeSmaller(const Allocate& alloc, int64_t bits, std::multimap<int64_t, SharedPlace*>::iterator end) {
    std::vector<const SharedPlace*> beside;
    int64_t found = 0;
    while (end != free_.begin() && found < bits) {
      const auto item = std::prev(end);
      found += item->second->bits;
      beside.push_back(item->second);
      end = free_.erase(item);
    }
    return New(std::max(bits, found), alloc, std::move(beside));
  }
  void Free(DataVar data) {
    SharedPlace* place = place_of_.at(data);
    if (place->bits == 0)
      free_symbolic_.push_back(place);
    else if (place->bits <= kFewBits)
      small_.push_back(place);
    else
      free_.emplace(place->bits, place);
  }

  static constexpr int64_t kFewBits = 32;
  const MemoryLives& lives_;
  std::vector<std::unique_ptr<SharedPlace>> all_;
  std::unordered_map<DataVar, SharedPlace*> place_of_;
  std::multimap<int64_t, SharedPlace*> free_;  // By size.
  std::list<SharedPlace*> free_symbolic_;
  std::vector<SharedPlace*> small_;
};

// Bytes from the begin of the merged memory.
class ByteOffsets {
 public:
  explicit ByteOffsets(const std::vector<const SharedPlace*>& places) {
    for (const SharedPlace* place : places) Align(*place);
    for (const SharedPlace* place : places) {
      size_ = Aligned(size_, Largest());
      size_ = size_ + Put(*place, size_);
    }
  }
  const Expr& size() const { return size_; }
  const Expr* Find(const Var& data) const {
    const auto found = offsets_.find(data.get());
    return found == offsets_.end() ? nullptr : &found->second;
  }

 private:
  static Expr Aligned(const Expr& size, int64_t alignment) {
    if (Analyzer().CanProveEqual(FloorMod(size, IntConst(size.dtype(), alignment)), IntConst(size.dtype(), 0)))
      return size;
    const Expr width = IntConst(size.dtype(), alignment);
    return size + FloorMod(width - FloorMod(size, width), width);
  }
  int64_t Largest() const { return *std::max_element(alignments_.begin(), alignments_.end()); }
  void Align(const SharedPlace& place) {
    for (const SharedPlace* part : place.beside) Align(*part);
    const size_t below = place.NumBelow();
    alignments_.resize(std::max(alignments_.size(), below + place.over.size()), 1);
    for (size_t i = 0; i < place.over.size(); ++i)
      alignments_[below + i] = std::max<int64_t>(alignments_[below + i], place.over[i]->dtype.bytes());
  }
  // The size of a place that begins at `begin`.
  Expr Put(const SharedPlace& place, const Expr& begin) {
    Expr size = 0;
    for (const SharedPlace* part : place.beside) {
      if (!IsConstInt(size, 0)) size = Aligned(size, Largest());
      size = size + Put(*part, begin + size);
    }
    for (size_t i = 0; i < place.over.size(); ++i) {
      const Allocate& alloc = *place.over[i];
      offsets_.emplace(alloc.buffer_var.get(), begin);
      const Expr bytes = alloc.extents[0] * IntConst(alloc.extents[0].dtype(), alloc.dtype.bytes());
      size = Max(size, Aligned(bytes, alignments_[place.NumBelow() + i]));
    }
    return size;
  }
  std::vector<int64_t> alignments_;  // Of a layer of any place.
  std::unordered_map<DataVar, Expr> offsets_;
  Expr size_ = 0;
};

class SharedMerger : public StmtExprMutator {
 public:
  SharedMerger(ByteOffsets offsets, Var merged) : offsets_(std::move(offsets)), merged_(std::move(merged)) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr && attr->attr_key == "thread_extent" && !is_allocated_) {
      is_allocated_ = is_in_launch_ = true;
      AttrStmt launch = *attr;
      launch.body = Allocate{merged_, DataType::UInt(8), {offsets_.size()}, True(), {}, VisitStmt(attr->body)};
      is_in_launch_ = false;
      return launch;
    }
    if (const Allocate* alloc = stmt.As<Allocate>(); alloc != nullptr && alloc->buffer_var.pointer() != nullptr &&
                                                     alloc->buffer_var.pointer()->scope == merged_.pointer()->scope) {
      removed_.insert(alloc->buffer_var.get());
      if (!is_in_launch_)
        status = InvalidArgument(
            fmt::format("MergeSharedMemoryAllocations: {} is allocated outside of the first launch of threads; run "
                        "SplitHostDevice before",
                        alloc->buffer_var.name()));
      return VisitStmt(alloc->body);
    }
    const DeclBuffer* declared = stmt.As<DeclBuffer>();
    const bool is_unused = declared != nullptr && removed_.contains(declared->buffer->data.get()) &&
                           offsets_.Find(declared->buffer->data) == nullptr;
    return is_unused ? VisitStmt(declared->body) : StmtExprMutator::VisitStmt(stmt);
  }
  Expr VisitVar(const Expr& var) override { return offsets_.Find(Var(var)) == nullptr ? var : merged_; }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return Over(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override { return Over(buffer); }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const Expr* offset = offsets_.Find(load.buffer->data);
    if (offset == nullptr) return visited;
    return WithIndices(
        visited, {Behind(FlatIndex(load.buffer, visited.As<BufferLoad>()->indices), *offset, load.buffer->dtype)});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const Expr* offset = offsets_.Find(store.buffer->data);
    if (offset == nullptr) return visited;
    return WithIndices(
        visited, {Behind(FlatIndex(store.buffer, visited.As<BufferStore>()->indices), *offset, store.buffer->dtype)});
  }
  Expr VisitExpr(const Expr& expr) override {
    const Expr visited = StmtExprMutator::VisitExpr(expr);
    const Call* call = expr.As<Call>();
    const bool is_access = call != nullptr && call->op->name == "tvm_access_ptr";
    const bool is_copy = call != nullptr && call->op->name == "ptx_cp_async";
    if (!is_access && !is_copy) return visited;
    const size_t data = is_access ? 1 : 0;
    const Expr* offset = IsVar(call->args[data]) ? offsets_.Find(Var(call->args[data])) : nullptr;
    if (offset == nullptr) return visited;
    Call moved = *visited.As<Call>();
    const DataType type = is_access ? call->args[0].dtype() : expr.dtype();
    Expr& index = moved.args[data + 1];
    index = Elements(*offset, type, index.dtype()) + index;
    if (is_copy) index = index * IntConst(index.dtype(), type.bytes());
    return Expr::Make(visited.dtype(), std::move(moved));
  }

 private:
  Expr FlatIndex(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (indices.size() == 1) return indices[0];
    status = InvalidArgument(
        fmt::format("MergeSharedMemoryAllocations: buffer \"{}\" has {} dimensions; run FlattenBuffer before",
                    buffer->name, indices.size()));
    return Expr(0);
  }
  Expr Elements(const Expr& offset, DataType type, DataType index) {
    const int64_t* bytes = AsIntConst(offset);
    if (bytes != nullptr && *bytes % type.bytes() != 0)
      status =
          InvalidArgument(fmt::format("MergeSharedMemoryAllocations: elements of {} have no place {} bytes behind "
                                      "the begin of the merged memory",
                                      type.ToString(), *bytes));
    return FloorDiv(MakeCast(index, offset), IntConst(index, type.bytes()));
  }
  Expr Behind(const Expr& index, const Expr& offset, DataType type) {
    const Expr elements = Elements(offset, type, index.dtype().element());
    if (index.dtype().is_scalar()) return index + elements;
    const int lanes = index.dtype().lanes;
    return MakeBinary(BinaryOp::kAdd, index, Expr::Make(index.dtype(), Broadcast{elements, lanes}));
  }
  Buffer Over(const Buffer& buffer) {
    if (offsets_.Find(buffer->data) == nullptr) return buffer;
    const auto found = buffers_.find(buffer.get());
    if (found != buffers_.end()) return found->second;
    BufferNode node = *buffer;
    node.data = merged_;
    return buffers_.emplace(buffer.get(), Buffer(std::move(node))).first->second;
  }

  const ByteOffsets offsets_;
  const Var merged_;
  std::unordered_set<DataVar> removed_;
  BufferMap buffers_;
  bool is_allocated_ = false, is_in_launch_ = false;
};

// Allocations that are wanted and used, of one dimension.
StatusOr<Stmt> Merge(const Stmt& body, bool (*is_wanted)(const Var&), const Var& merged) {
  int num_allocations = 0;
  bool is_flat = true;
  PostOrderVisit(body, [&](const Stmt& stmt) {
    const Allocate* alloc = stmt.As<Allocate>();
    if (alloc == nullptr || !is_wanted(alloc->buffer_var)) return;
    ++num_allocations;
    is_flat &= alloc->extents.size() == 1;
  });
  if (num_allocations < 2) return body;
  if (!is_flat)
    return InvalidArgument("MergeSharedMemoryAllocations expects flat memory buffers; run FlattenBuffer before");
  ASSIGN_OR_RETURN(const MemoryLives lives,
                   FindMemoryLives(body, {"MergeSharedMemoryAllocations", /*lets_hold=*/false, is_wanted}));
  SharedMerger merger(ByteOffsets(PlacePlanner(lives).Plan()), merged);
  const Stmt result = merger(body);
  RETURN_IF_ERROR(merger.status);
  return result;
}

}  // namespace

StatusOr<PrimFunc> MergeSharedMemoryAllocations(PrimFunc func, bool merges_static) {
  const DataType byte = DataType::UInt(8);
  Stmt body = SplitAllocBuffers(func.body);
  const Stmt before = body;
  ASSIGN_OR_RETURN(body, Merge(body, IsDynamicShared, Var("buf_dyn_shmem", MakePointerType(byte, "shared.dyn"))));
  if (merges_static) {
    ASSIGN_OR_RETURN(body, Merge(body, IsStaticShared, Var("buf_shmem", MakePointerType(byte, "shared"))));
  }
  if (!body.same_as(before)) func.body = std::move(body);
  return func;
}

}  // namespace lathe
