#include "compiler/transform/arrange_register_tiles.h"

#include <unordered_map>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr int kUnknown = -1, kMixed = -2;

// For each register buffer: the dimension in whose index a vectorized loop's variable stands.
class LaneDimensionFinder : public StmtExprVisitor {
 public:
  std::unordered_map<const BufferNode*, int> lane_dimension;
  std::unordered_set<const ExprNode*> shared_data;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    const bool is_vector = loop.kind == ForKind::kVectorized;
    if (is_vector) lanes_.push_back(loop.loop_var.get());
    VisitChildren(self);
    if (is_vector) lanes_.pop_back();
  }
  void VisitStmt(const Stmt& stmt) override {  // Memory that is seen in two ways keeps its order.
    if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) shared_data.insert(declaration->buffer->data.get());
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    VisitChildren(self);
    Note(store.buffer, store.indices);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    VisitChildren(self);
    Note(load.buffer, load.indices);
  }

 private:
  void Note(const Buffer& buffer, const std::vector<Expr>& indices) {
    if (buffer->scope != "register") return;
    int& known = lane_dimension.emplace(buffer.get(), kUnknown).first->second;
    for (size_t i = 0; i < indices.size(); ++i) {
      const bool has_lanes = UsesVar(indices[i], [&](const ExprNode* var) {
        return std::find(lanes_.begin(), lanes_.end(), var) != lanes_.end();
      });
      if (has_lanes) known = known == kUnknown || known == static_cast<int>(i) ? static_cast<int>(i) : kMixed;
    }
  }

  std::vector<const ExprNode*> lanes_;
};

template <typename T>
std::vector<T> MoveToEnd(std::vector<T> items, int from) {
  std::rotate(items.begin() + from, items.begin() + from + 1, items.end());
  return items;
}

class Arranger : public StmtExprMutator {
 public:
  explicit Arranger(const std::unordered_map<const BufferNode*, int>& lane_dimension)
      : lane_dimension_(lane_dimension) {}

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override {
    const int dimension = DimensionOf(buffer);
    if (dimension < 0) return buffer;
    BufferNode node = *buffer;
    node.shape = MoveToEnd(node.shape, dimension);
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt inner = VisitChildren(self);
    const auto moved = buffers_.find(store.buffer.get());
    if (moved == buffers_.end()) return inner;
    const BufferStore& visited = *inner.As<BufferStore>();
    return BufferStore{moved->second, visited.value, MoveToEnd(visited.indices, DimensionOf(store.buffer)),
                       visited.predicate};
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr inner = VisitChildren(self);
    const auto moved = buffers_.find(load.buffer.get());
    if (moved == buffers_.end()) return inner;
    const BufferLoad& visited = *inner.As<BufferLoad>();
    return Expr::Make(self.dtype(), BufferLoad{moved->second, MoveToEnd(visited.indices, DimensionOf(load.buffer)),
                                               visited.predicate});
  }

 private:
  // Where the lanes are, if they have to move; kUnknown otherwise.
  int DimensionOf(const Buffer& buffer) const {
    const auto found = lane_dimension_.find(buffer.get());
    if (found == lane_dimension_.end() || found->second < 0 || !buffer->strides.empty()) return kUnknown;
    return found->second + 1 == static_cast<int>(buffer->shape.size()) ? kUnknown : found->second;
  }

  const std::unordered_map<const BufferNode*, int>& lane_dimension_;
  BufferMap buffers_;
};

}  // namespace

PrimFunc ArrangeRegisterTiles(PrimFunc func) {
  LaneDimensionFinder finder;
  finder(func.body);
  for (auto& [buffer, dimension] : finder.lane_dimension) {
    if (finder.shared_data.contains(buffer->data.get())) dimension = kMixed;
  }
  func.body = Arranger(finder.lane_dimension)(func.body);
  return func;
}

}  // namespace lathe
