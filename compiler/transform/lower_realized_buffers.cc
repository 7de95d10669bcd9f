#include "compiler/transform/lower_realized_buffers.h"

#include <algorithm>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class RealizeLowering : public StmtExprMutator {
 public:
  explicit RealizeLowering(int64_t cache_line_bytes) : cache_line_bytes_(cache_line_bytes) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const BufferRealize* realize = stmt.As<BufferRealize>()) return Lower(*realize);
    if (const Prefetch* prefetch = stmt.As<Prefetch>()) return Lower(*prefetch);
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (axis == nullptr) return StmtExprMutator::VisitStmt(stmt);
    return Inside(axis->thread_tag, [&] { return StmtExprMutator::VisitStmt(stmt); });
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    return Inside(loop.thread, [&] { return StmtExprMutator::VisitFor(self, loop); });
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const auto place = places_.find(store.buffer.get());
    if (place == places_.end()) return visited;
    BufferStore moved = *visited.As<BufferStore>();
    moved.indices = Moved(moved.indices, place->second.bounds);
    return moved;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const auto place = places_.find(load.buffer.get());
    if (place == places_.end()) return visited;
    BufferLoad moved = *visited.As<BufferLoad>();
    moved.indices = Moved(moved.indices, place->second.bounds);
    return Expr::Make(self.dtype(), std::move(moved));
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto place = places_.find(buffer.get());
    return place == places_.end() ? buffer : place->second.memory;
  }

 private:
  struct Place {
    Buffer memory;
    std::vector<Range> bounds;
  };

  Stmt Lower(const BufferRealize& realize) {
    BufferNode node = *realize.buffer;
    node.scope = !realize.storage_scope.empty() ? realize.storage_scope
                 : threads_ > 0                 ? "local"
                 : blocks_ > 0                  ? "shared"
                                                : "global";
    node.data = UnsetData();
    node.shape.clear();
    for (const Range& range : realize.bounds) node.shape.push_back(analyzer_.Simplify(VisitExpr(range.extent)));
    const Buffer memory(std::move(node));
    places_.insert_or_assign(realize.buffer.get(), Place{memory, realize.bounds});
    Stmt body = VisitStmt(realize.body);
    places_.erase(realize.buffer.get());
    if (!IsConstInt(realize.condition, 1)) body = IfThenElse{VisitExpr(realize.condition), body, std::nullopt};
    return AllocBuffer{memory, body};
  }

  // The innermost dimensions that fit into a line are named once, the one above as often as it has lines.
  Stmt Lower(const Prefetch& prefetch) {
    const Buffer& buffer = prefetch.buffer;
    const int64_t per_line = std::max<int64_t>(1, cache_line_bytes_ / buffer->dtype.bytes());
    int64_t in_line = 1;
    size_t last = prefetch.bounds.size();
    for (; last > 1; --last) {
      const int64_t* extent = AsIntConst(buffer->shape[last - 1]);
      if (extent == nullptr || *extent > per_line / in_line) break;
      in_line *= std::max<int64_t>(1, *extent);
    }
    std::vector<Expr> indices;
    for (const Range& range : prefetch.bounds) indices.push_back(range.min);
    std::vector<Var> vars;
    const Expr stride(per_line / in_line);
    for (size_t d = 0; d < last; ++d) {
      vars.emplace_back("prefetch." + buffer->name + "." + std::to_string(d), indices[d].dtype());
      indices[d] = indices[d] + (d + 1 == last ? vars[d] * stride : Expr(vars[d]));
    }
    const Expr address = MakeCall(DataType::Handle(), "address_of", {Load(buffer, indices)});
    Stmt loops = Evaluate{MakeCall(buffer->dtype, "prefetch", {address, 0, 3, 1})};
    for (size_t d = last; d-- > 0;) {
      const Expr& extent = prefetch.bounds[d].extent;
      loops = MakeFor(vars[d], d + 1 == last ? FloorDiv(extent - Expr(1), stride) + Expr(1) : extent, loops);
    }
    return VisitStmt(loops);
  }

  std::vector<Expr> Moved(std::vector<Expr> indices, const std::vector<Range>& bounds) {
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr index = indices[d], min = VisitExpr(bounds[d].min);
      MatchTypes(index, min);
      indices[d] = analyzer_.Simplify(index - min);
    }
    return indices;
  }
  template <typename F>
  Stmt Inside(const std::string& tag, const F& visit) {
    int* const depth = tag.empty() ? nullptr : tag.starts_with("blockIdx") ? &blocks_ : &threads_;
    if (depth != nullptr) ++*depth;
    Stmt result = visit();
    if (depth != nullptr) --*depth;
    return result;
  }

  const int64_t cache_line_bytes_;
  std::unordered_map<const BufferNode*, Place> places_;  // Of the realized buffers around.
  int blocks_ = 0, threads_ = 0;                         // Axes of threads around.
  Analyzer analyzer_;
};

}  // namespace

PrimFunc LowerRealizedBuffers(PrimFunc func, int64_t cache_line_bytes) {
  func.body = RealizeLowering(cache_line_bytes)(func.body);
  return func;
}

}  // namespace lathe
