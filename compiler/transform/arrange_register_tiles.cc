#include "compiler/transform/arrange_register_tiles.h"

#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/may_trap.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// A vectorized loop that stands around.
struct Lanes {
  Var var;
  int64_t extent = 0;  // 0: not known.

  bool In(const Expr& e) const { return UsesVar(e, var.get()); }
  Expr FirstOf(const Expr& e) const { return Substitute(e, {{var.get(), IntConst(var.dtype(), 0)}}); }
};

// What the accesses to a register buffer have in common.
struct Tile {
  std::optional<size_t> dimension;  // In whose index lanes stand; nullopt: in none.
  bool is_mixed = false;            // They disagree on it.
  int64_t lanes = 0;                // Of each vector; 0: they disagree.
  bool is_filled = true;            // Rows may be as long as whole vectors are.
  int64_t padded = 0;               // Extent of `dimension` then.

  bool MovesLanes(const Buffer& buffer) const {
    return dimension && !is_mixed && buffer->strides.empty() && *dimension + 1 != buffer->shape.size();
  }
};
using Tiles = std::unordered_map<const BufferNode*, Tile>;

// A store to a register buffer under a condition that leaves lanes out.
struct GuardedStore {
  const BufferStore* store = nullptr;
  std::vector<Expr> guards, others;  // Parts of the condition: those of lanes, and what else there is.
};
std::optional<GuardedStore> AsGuardedStore(const IfThenElse& branch, const Lanes& lanes) {
  GuardedStore found{.store = branch.then_case.As<BufferStore>()};
  if (found.store == nullptr || branch.else_case || found.store->buffer->scope != "register") return std::nullopt;
  for (const Expr& part : ConjunctsOf(branch.condition)) (lanes.In(part) ? found.guards : found.others).push_back(part);
  return found.guards.empty() ? std::nullopt : std::optional(std::move(found));
}

class TileFinder : public StmtExprVisitor {
 public:
  Tiles tiles;
  std::unordered_set<const ExprNode*> shared_data;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(facts_, loop.loop_var, Range{loop.min, loop.extent});
    const bool is_vector = loop.kind == ForKind::kVectorized;
    const int64_t* extent = IsConstInt(loop.min, 0) ? AsIntConst(loop.extent) : nullptr;
    if (is_vector) lanes_.push_back({loop.loop_var, extent == nullptr ? 0 : *extent});
    VisitChildren(self);
    if (is_vector) lanes_.pop_back();
  }
  void VisitStmt(const Stmt& stmt) override {  // Memory that is seen in two ways keeps its order.
    if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) shared_data.insert(declaration->buffer->data.get());
    const IfThenElse* branch = stmt.As<IfThenElse>();
    const bool leaves_lanes = branch != nullptr && std::any_of(lanes_.begin(), lanes_.end(), [&](const Lanes& lanes) {
                                return lanes.In(branch->condition);
                              });
    const auto guarded =
        leaves_lanes && lanes_.size() == 1 ? AsGuardedStore(*branch, lanes_[0]) : std::optional<GuardedStore>();
    if (guarded) NoteGuard(*guarded);
    const bool is_unknown = leaves_lanes && !guarded;
    num_unknown_guards_ += is_unknown;
    StmtExprVisitor::VisitStmt(stmt);
    num_unknown_guards_ -= is_unknown;
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    VisitChildren(self);
    Note(store.buffer, store.indices);
    const bool may_leave_lanes = store.predicate || num_unknown_guards_ > 0;
    if (store.buffer->scope == "register" && may_leave_lanes) tiles[store.buffer.get()].is_filled = false;
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    VisitChildren(self);
    Note(load.buffer, load.indices);
  }

 private:
  void Note(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (buffer->scope != "register") return;
    const bool is_first = !tiles.contains(buffer.get());
    Tile& tile = tiles[buffer.get()];
    for (size_t i = 0; i < indices.size(); ++i) {
      for (const Lanes& lanes : lanes_) {
        if (!lanes.In(indices[i])) continue;
        tile.is_mixed |= tile.dimension.value_or(i) != i;
        tile.dimension = i;
        NoteVector(indices[i], lanes, is_first, buffer->shape[i], tile);
      }
    }
  }
  // Whole rows are filled only where vectors of one length follow each other from their beginning.
  void NoteVector(const Expr& index, const Lanes& lanes, bool is_first, const Expr& extent, Tile& tile) {
    const int64_t* elements = AsIntConst(extent);
    const Expr base = facts_.Simplify(lanes.FirstOf(index));
    const Expr step = facts_.Simplify(index - base);
    const IntBound begin = facts_.ConstIntBound(base);
    const bool is_whole =
        step.same_as(lanes.var) && elements != nullptr && lanes.extent > 0 &&
        facts_.CanProveEqual(FloorMod(base, IntConst(base.dtype(), lanes.extent)), IntConst(base.dtype(), 0));
    tile.is_filled &= is_whole && (is_first || tile.lanes == 0 || tile.lanes == lanes.extent);
    if (!tile.is_filled) return;
    tile.lanes = lanes.extent;
    tile.padded = (*elements + lanes.extent - 1) / lanes.extent * lanes.extent;
    tile.is_filled = begin.min >= 0 && begin.max <= tile.padded - lanes.extent;
  }
  // Lanes that are off compute as well: nothing of that may trap, and what their first lane reads must be there.
  void NoteGuard(const GuardedStore& guarded) {
    bool is_harmless = true;
    PostOrderVisit(guarded.store->value, [&](const Expr& e) { is_harmless &= !MayTrap(e); });
    for (const Expr& guard : guarded.guards)
      is_harmless &= !HasLoad(guard) && facts_.CanProve(lanes_[0].FirstOf(guard));
    tiles[guarded.store->buffer.get()].is_filled &= is_harmless;
  }

  Analyzer facts_;
  std::vector<Lanes> lanes_;
  int num_unknown_guards_ = 0;  // Conditions around that leave lanes out, of another form than GuardedStore.
};

template <typename T>
std::vector<T> MoveToEnd(std::vector<T> items, size_t from) {
  const auto first = items.begin() + static_cast<std::ptrdiff_t>(from);
  std::rotate(first, first + 1, items.end());
  return items;
}

class Arranger : public StmtExprMutator {
 public:
  explicit Arranger(const Tiles& tiles) : tiles_(tiles) {}

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override {
    const Tile* tile = TileOf(buffer);
    if (tile == nullptr) return buffer;
    BufferNode node = *buffer;
    if (tile->is_filled) {
      const DataType type = node.shape[*tile->dimension].dtype();
      node.shape[*tile->dimension] = IntConst(type, tile->padded);
    }
    if (tile->MovesLanes(buffer)) node.shape = MoveToEnd(node.shape, *tile->dimension);
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const bool is_vector = loop.kind == ForKind::kVectorized;
    if (is_vector) lanes_.push_back({loop.loop_var});
    Stmt visited = VisitChildren(self);
    if (is_vector) lanes_.pop_back();
    return visited;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    const IfThenElse* branch = stmt.As<IfThenElse>();
    const auto guarded =
        branch != nullptr && lanes_.size() == 1 ? AsGuardedStore(*branch, lanes_[0]) : std::optional<GuardedStore>();
    const Tile* tile = guarded ? TileOf(guarded->store->buffer) : nullptr;
    if (tile == nullptr || !tile->is_filled) return StmtExprMutator::VisitStmt(stmt);
    guard_ = All(guarded->guards);
    const Stmt store = VisitStmt(branch->then_case);
    guard_.reset();
    return guarded->others.empty() ? store : Stmt(IfThenElse{All(guarded->others), store, std::nullopt});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt inner = VisitChildren(self);
    const auto moved = buffers_.find(store.buffer.get());
    if (moved == buffers_.end()) return inner;
    const BufferStore& visited = *inner.As<BufferStore>();
    return BufferStore{moved->second, visited.value, Indices(store.buffer, visited.indices), visited.predicate};
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr inner = VisitChildren(self);
    const auto moved = buffers_.find(load.buffer.get());
    const BufferLoad& visited = *inner.As<BufferLoad>();
    const Expr result = moved == buffers_.end()
                            ? inner
                            : Expr::Make(self.dtype(), BufferLoad{moved->second, Indices(load.buffer, visited.indices),
                                                                  visited.predicate});
    return IsThereInAllLanes(load) ? result
                                   : MakeCall(self.dtype(), "if_then_else", {*guard_, result, Undefined(self)});
  }

 private:
  static Expr All(const std::vector<Expr>& parts) {
    Expr all = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) all = MakeBinary(BinaryOp::kAnd, all, parts[i]);
    return all;
  }
  static Expr Undefined(const Expr& like) { return MakeCall(like.dtype(), "undef", {}); }
  // Of a store whose condition is gone.
  bool IsThereInAllLanes(const BufferLoad& load) const {
    if (!guard_) return true;
    const Tile* tile = TileOf(load.buffer);
    return (tile != nullptr && tile->is_filled) ||
           std::none_of(load.indices.begin(), load.indices.end(), [this](const Expr& e) { return lanes_[0].In(e); });
  }
  std::vector<Expr> Indices(const Buffer& buffer, const std::vector<Expr>& indices) const {
    const Tile& tile = tiles_.at(buffer.get());
    return tile.MovesLanes(buffer) ? MoveToEnd(indices, *tile.dimension) : indices;
  }
  // nullptr: the buffer stays as it is.
  const Tile* TileOf(const Buffer& buffer) const {
    const auto found = tiles_.find(buffer.get());
    const bool changes = found != tiles_.end() && (found->second.is_filled || found->second.MovesLanes(buffer));
    return changes ? &found->second : nullptr;
  }

  const Tiles& tiles_;
  BufferMap buffers_;
  std::vector<Lanes> lanes_;
  std::optional<Expr> guard_;  // Of the lanes that the program has.
};

}  // namespace

PrimFunc ArrangeRegisterTiles(PrimFunc func) {
  TileFinder finder;
  finder(func.body);
  for (auto& [buffer, tile] : finder.tiles) {
    tile.is_mixed |= finder.shared_data.contains(buffer->data.get());
    tile.is_filled &= tile.dimension && !tile.is_mixed && buffer->strides.empty();
  }
  func.body = Arranger(finder.tiles)(func.body);
  return func;
}

}  // namespace lathe
