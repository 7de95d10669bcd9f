#include "compiler/transform/use_output_memory.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/arith/index_space.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr int64_t kSmallestBytes = 16384;

// Elements of memory that may move; nullopt: it stays.
std::optional<int64_t> LengthOf(const Buffer& buffer) {
  const int64_t* length = buffer->shape.size() == 1 ? AsIntConst(buffer->shape[0]) : nullptr;
  const bool is_ordinary = (buffer->scope == "local" || buffer->scope == "global") && buffer->strides.empty();
  if (length == nullptr || !is_ordinary || *length * buffer->dtype.bytes() < kSmallestBytes) return std::nullopt;
  return *length;
}

// How statements use memory.
class UseFinder : public StmtExprVisitor {
 public:
  explicit UseFinder(const Buffer& buffer) : buffer_(buffer) {}
  std::vector<Expr> loads;  // Their indices.
  int num_stores = 0;
  bool is_plain = true;  // One element at a time, by this buffer.

  bool any() const { return !loads.empty() || num_stores > 0 || !is_plain; }

 protected:
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    if (IsPlain(store.buffer, store.indices)) ++num_stores;
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    if (IsPlain(load.buffer, load.indices)) loads.push_back(load.indices[0]);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitVar(const Expr& var) override { is_plain = is_plain && !var.same_as(buffer_->data); }
  void VisitBufferDef(const Buffer& buffer) override {
    is_plain = is_plain && (buffer.same_as(buffer_) || !MayAlias(buffer, buffer_));
    StmtExprVisitor::VisitBufferDef(buffer);
  }

 private:
  bool IsPlain(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (!MayAlias(buffer, buffer_)) return false;
    const bool is_element = buffer.same_as(buffer_) && indices.size() == 1 && indices[0].dtype().lanes == 1;
    is_plain = is_plain && is_element;
    return is_element;
  }

  const Buffer& buffer_;
};

UseFinder UsesOf(const Buffer& buffer, const Stmt& stmt) {
  UseFinder uses(buffer);
  uses(stmt);
  return uses;
}

// The last of the statements that follow each other in `body` and use the memory.
const Stmt& LastUser(const Stmt& body, const Buffer& buffer) {
  if (const AllocBuffer* inner = body.As<AllocBuffer>()) return LastUser(inner->body, buffer);
  const Seq* seq = body.As<Seq>();
  if (seq == nullptr) return body;
  const auto last = std::find_if(seq->stmts.rbegin(), seq->stmts.rend(),
                                 [&](const Stmt& stmt) { return UsesOf(buffer, stmt).any(); });
  return last == seq->stmts.rend() ? body : LastUser(*last, buffer);
}

using Loops = std::vector<const For*>;  // Outermost first.

// Of loops that hold nothing but each other and a store, the store; nullptr: there is more.
const BufferStore* StoreIn(const Stmt& stmt, Loops& loops) {
  const Stmt* at = &stmt;
  for (const For* loop = at->As<For>(); loop != nullptr; loop = at->As<For>()) {
    loops.push_back(loop);
    at = &loop->body;
  }
  return at->As<BufferStore>();
}

// constant + sum of by_loop * loop.
struct Place {
  int64_t constant = 0;
  std::vector<int64_t> by_loop;
};

// The loops around something as numbers.
class LoopNumbers {
 public:
  // nullopt: a loop does not go from 0 to a constant, or is of threads.
  static std::optional<LoopNumbers> Of(const Loops& loops) {
    LoopNumbers numbers;
    for (const For* loop : loops) {
      const int64_t* extent = AsIntConst(loop->extent);
      if (extent == nullptr || *extent < 1 || !IsConstInt(loop->min, 0) || loop->kind == ForKind::kThreadBinding)
        return std::nullopt;
      numbers.space_.AddLoop(loop->loop_var, *extent);
      numbers.extents_.push_back(*extent);
    }
    return numbers;
  }
  int64_t extent(size_t loop) const { return extents_[loop]; }
  // Nullopt: `index` is no sum of these loops.
  std::optional<Place> Read(const Expr& index) {
    const std::optional<AffineForm> form = space_.ParseExactly(index);
    if (!form) return std::nullopt;
    Place place{form->constant, std::vector<int64_t>(extents_.size(), 0)};
    for (const IndexTerm& term : form->terms) {
      if (static_cast<size_t>(term.id) >= extents_.size()) return std::nullopt;
      place.by_loop[static_cast<size_t>(term.id)] = term.coeff;
    }
    return place;
  }

 private:
  IndexSpace space_;
  std::vector<int64_t> extents_;
};

// Whether the loops from the `first` on go through all of [0, length), one element at a time, and no other moves it.
bool GoesThrough(const Place& place, const LoopNumbers& loops, size_t first, int64_t length) {
  std::vector<std::pair<int64_t, int64_t>> digits;  // Step and extent.
  for (size_t i = 0; i < place.by_loop.size(); ++i) {
    if (i < first && place.by_loop[i] != 0) return false;
    if (i >= first && loops.extent(i) > 1) digits.emplace_back(place.by_loop[i], loops.extent(i));
  }
  std::sort(digits.begin(), digits.end());
  int64_t covered = 1;
  for (const auto& [step, extent] : digits) {
    if (step != covered) return false;
    covered *= extent;
  }
  return place.constant == 0 && covered == length;
}

// Whether tasks have parts of their own: `begin` of each part, of so many elements, in terms of the outer loops.
bool AreApart(const Place& begin, const LoopNumbers& numbers, const Loops& outer, int64_t length) {
  int64_t inside = length;  // What the loops inside span.
  for (size_t i = outer.size(); i-- > 0;) {
    if (outer[i]->kind == ForKind::kVectorized) return false;
    if (outer[i]->kind == ForKind::kParallel && numbers.extent(i) > 1 && begin.by_loop[i] < inside) return false;
    if (__builtin_add_overflow(inside, std::abs(begin.by_loop[i]) * (numbers.extent(i) - 1), &inside)) return false;
  }
  return true;
}

Expr ToExpr(const Place& place, const Loops& loops, DataType type) {
  Expr sum = IntConst(type, place.constant);
  for (size_t i = 0; i < loops.size(); ++i) {
    if (place.by_loop[i] == 0) continue;
    const Var& var = loops[i]->loop_var;
    sum = (var.dtype() == type ? Expr(var) : MakeCast(type, var)) * IntConst(type, place.by_loop[i]) + sum;
  }
  return sum;
}

// Where memory is in an output.
struct Part {
  Buffer output;
  Expr begin;
};

// Whether a parameter of the function is written by one store and never read.
bool IsWrittenOnce(const PrimFunc& func, const Buffer& output) {
  const bool is_parameter = std::any_of(func.buffer_map.begin(), func.buffer_map.end(),
                                        [&](const ParamBuffer& param) { return param.buffer.same_as(output); });
  if (!is_parameter || !output->strides.empty()) return false;
  const UseFinder uses = UsesOf(output, func.body);
  return uses.is_plain && uses.num_stores == 1 && uses.loads.empty();
}

// Whether `from`, an index of the memory, goes through all of it as `to` does through the output.
bool MovesAlong(const Place& from, const Place& to, const LoopNumbers& loops, size_t first, int64_t length) {
  const auto inner = static_cast<std::ptrdiff_t>(first);
  return GoesThrough(from, loops, first, length) &&
         std::equal(from.by_loop.begin() + inner, from.by_loop.end(), to.by_loop.begin() + inner);
}

std::optional<Part> PartFor(const PrimFunc& func, const AllocBuffer& alloc, const Loops& outer) {
  const std::optional<int64_t> length = LengthOf(alloc.buffer);
  if (!length || !UsesOf(alloc.buffer, alloc.body).is_plain) return std::nullopt;
  const Stmt& last = LastUser(alloc.body, alloc.buffer);
  Loops loops = outer;
  const BufferStore* store = StoreIn(last, loops);
  const UseFinder reads = UsesOf(alloc.buffer, last);
  if (store == nullptr || store->predicate || store->indices.size() != 1 || reads.loads.empty()) return std::nullopt;
  if (store->buffer->dtype != alloc.buffer->dtype || !IsWrittenOnce(func, store->buffer)) return std::nullopt;
  std::optional<LoopNumbers> numbers = LoopNumbers::Of(loops);
  const std::optional<Place> to = numbers ? numbers->Read(store->indices[0]) : std::nullopt;
  if (!to || !AreApart(*to, *numbers, outer, *length)) return std::nullopt;
  const bool moves_along = std::all_of(reads.loads.begin(), reads.loads.end(), [&](const Expr& index) {
    const std::optional<Place> from = numbers->Read(index);
    return from && MovesAlong(*from, *to, *numbers, outer.size(), *length);
  });
  if (!moves_along) return std::nullopt;
  return Part{store->buffer, ToExpr(*to, outer, store->indices[0].dtype())};
}

class Mover : public StmtExprMutator {
 public:
  explicit Mover(const PrimFunc& func) : func_(func) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AllocBuffer* alloc = stmt.As<AllocBuffer>();
    const std::optional<Part> part = alloc == nullptr ? std::nullopt : PartFor(func_, *alloc, outer_);
    if (!part || !taken_.insert(part->output.get()).second) return StmtExprMutator::VisitStmt(stmt);
    return AccessMover(alloc->buffer, *part)(VisitStmt(alloc->body));
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    outer_.push_back(&loop);
    Stmt result = StmtExprMutator::VisitFor(self, loop);
    outer_.pop_back();
    return result;
  }

 private:
  // Accesses to the memory become such to the output.
  class AccessMover : public StmtExprMutator {
   public:
    AccessMover(const Buffer& buffer, const Part& part) : buffer_(buffer), part_(part) {}

   protected:
    Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
      Stmt inner = StmtExprMutator::VisitBufferStore(self, store);
      if (!store.buffer.same_as(buffer_)) return inner;
      BufferStore moved = *inner.As<BufferStore>();
      moved.buffer = part_.output;
      moved.indices[0] = Moved(moved.indices[0]);
      return moved;
    }
    Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
      const Expr inner = StmtExprMutator::VisitBufferLoad(self, load);
      if (!load.buffer.same_as(buffer_)) return inner;
      return Load(part_.output, {Moved(inner.As<BufferLoad>()->indices[0])});
    }

   private:
    Expr Moved(const Expr& index) const {
      const DataType type = part_.begin.dtype();
      return part_.begin + (index.dtype() == type ? index : MakeCast(type, index));
    }

    const Buffer& buffer_;
    const Part& part_;
  };

  const PrimFunc& func_;
  Loops outer_;
  std::unordered_set<const BufferNode*> taken_;  // Outputs that memory has moved to.
};

}  // namespace

PrimFunc UseOutputMemory(PrimFunc func) {
  func.body = Mover(func)(func.body);
  return func;
}

}  // namespace lathe
