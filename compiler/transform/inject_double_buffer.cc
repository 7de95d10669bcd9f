#include "compiler/transform/inject_double_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/buffer_access.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/func_analysis.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

const Expr* ScopedMemory(const Stmt& stmt) {
  const AttrStmt* attr = stmt.As<AttrStmt>();
  const Attr* node =
      attr == nullptr || attr->attr_key != "double_buffer_scope" ? nullptr : std::get_if<Attr>(&attr->node);
  const Expr* data = node == nullptr ? nullptr : std::get_if<Expr>(node);
  return data != nullptr && IsVar(*data) ? data : nullptr;
}

// Memory of scopes that is only loaded and stored.
class MemoryFinder : public StmtExprVisitor {
 public:
  std::unordered_set<const ExprNode*> found;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const Expr* data = ScopedMemory(stmt);
    if (data == nullptr) return StmtExprVisitor::VisitStmt(stmt);
    found.insert(data->get());
    VisitStmt(stmt.As<AttrStmt>()->body);
  }
  void VisitVar(const Expr& var) override { found.erase(var.get()); }
};

class WriteMarkRemover : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const bool is_mark = attr != nullptr && attr->attr_key == "double_buffer_write";
    return is_mark ? VisitStmt(attr->body) : StmtExprMutator::VisitStmt(stmt);
  }
};

class DoubleBufferInjector : public StmtExprMutator {
 public:
  DoubleBufferInjector(std::unordered_set<const ExprNode*> memory, int64_t split_loop)
      : memory_(std::move(memory)), split_loop_(split_loop) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const Expr* data = ScopedMemory(stmt)) return VisitScope(Var(*data), stmt.As<AttrStmt>()->body);
    const DeclBuffer* declared = stmt.As<DeclBuffer>();
    if (declared != nullptr && memory_.contains(declared->buffer->data.get())) {
      views_[declared->buffer->data.get()].push_back(Doubled(declared->buffer));
      return VisitStmt(declared->body);
    }
    const Allocate* alloc = stmt.As<Allocate>();
    const bool is_double = alloc != nullptr && memory_.contains(alloc->buffer_var.get());
    return is_double ? VisitAllocate(*alloc) : StmtExprMutator::VisitStmt(stmt);
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    loops_.push_back({loop.loop_var, loop.extent, {}, {}});
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    const Around around = std::move(loops_.back());
    loops_.pop_back();
    if (around.before.empty()) return visited;
    std::vector<Stmt> stmts = around.before;
    if (!IsConstInt(loop.min, 0)) Refuse("{}: the loop around the scope begins at another value than 0", loop.loop_var);
    stmts.push_back(split_loop_ == 0 ? visited : Split(*visited.As<For>()));
    Stmt result = MakeSeq(std::move(stmts));
    for (size_t i = around.allocations.size(); i-- > 0;) result = WithBody(around.allocations[i], std::move(result));
    return result;
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const Half* half = HalfOf(store.buffer);
    if (half == nullptr) return visited;
    if (!in_scope_) Refuse("{} is written outside of its double buffer scope", store.buffer->data);
    return WithIndices(visited, {InHalf(half->written, *half, FlatIndex(visited.As<BufferStore>()->indices))});
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const Half* half = HalfOf(load.buffer);
    if (half == nullptr) return visited;
    return WithIndices(visited, {InHalf(half->read, *half, FlatIndex(visited.As<BufferLoad>()->indices))});
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return Doubled(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override { return Doubled(buffer); }

 private:
  struct Around {  // Of a loop.
    Var var;
    Expr extent;
    std::vector<Stmt> before;           // What fills memory for the first turn.
    std::vector<Allocate> allocations;  // Their bodies are to come.
  };
  struct Half {
    Expr stride;         // Elements of one half.
    Expr written, read;  // Which half.
    size_t loop;         // How many loops are around the memory's.
  };

  void Refuse(const char* what, const Var& var) {
    if (status.ok()) status = InvalidArgument("InjectDoubleBuffer: " + fmt::format(fmt::runtime(what), var.name()));
  }
  // Declarations of buffers over the memory go where it goes.
  Stmt WithBody(Allocate alloc, Stmt body) const {
    const auto views = views_.find(alloc.buffer_var.get());
    if (views != views_.end())
      for (const Buffer& view : views->second) body = DeclBuffer{view, std::move(body)};
    alloc.body = std::move(body);
    return alloc;
  }
  const Half* HalfOf(const Buffer& buffer) {
    const auto found = halves_.find(buffer->data.get());
    if (found != halves_.end()) return &found->second;
    if (memory_.contains(buffer->data.get())) Refuse("{} is used before its double buffer scope", buffer->data);
    return nullptr;
  }
  Expr FlatIndex(const std::vector<Expr>& indices) {
    if (indices.size() == 1) return indices[0];
    if (status.ok())
      status = InvalidArgument("InjectDoubleBuffer: a view has not one dimension; run FlattenBuffer before");
    return 0;
  }
  static Expr InHalf(const Expr& half, const Half& of, const Expr& index) { return half * of.stride + index; }

  // The memory moves out of the loop around its scope, which is known once the body is visited.
  Stmt VisitAllocate(const Allocate& alloc) {
    if (alloc.extents.size() != 1) {
      Refuse("{} has not one dimension; run FlattenBuffer before", alloc.buffer_var);
      return VisitStmt(alloc.body);
    }
    strides_.insert_or_assign(alloc.buffer_var.get(), alloc.extents[0]);
    const Stmt body = VisitStmt(alloc.body);
    const auto half = halves_.find(alloc.buffer_var.get());
    if (half == halves_.end() || half->second.loop >= loops_.size()) {
      Refuse("{} is allocated outside of the loop that fills it", alloc.buffer_var);
      return body;
    }
    Allocate larger = alloc;
    larger.extents[0] = alloc.extents[0] * IntConst(alloc.extents[0].dtype(), 2);
    loops_[half->second.loop].allocations.push_back(std::move(larger));
    return body;
  }
  Stmt VisitScope(const Var& data, const Stmt& body) {
    if (!memory_.contains(data.get())) return VisitStmt(body);
    if (loops_.empty() || !strides_.contains(data.get())) {
      Refuse("{}: a double buffer scope must be inside of a loop and of the memory's allocation", data);
      return body;
    }
    const Var loop = loops_.back().var;
    const Expr zero = IntConst(loop.dtype(), 0), two = IntConst(loop.dtype(), 2);
    const Var written(loop.name() + ".db", loop.dtype());
    const size_t depth = loops_.size() - 1;
    halves_.insert_or_assign(data.get(), Half{strides_.at(data.get()), written, FloorMod(loop, two), depth});
    in_scope_ = true;
    const Stmt fill = VisitStmt(body);
    in_scope_ = false;
    const Expr next = loop + 1;
    loops_.back().before.push_back(Clone(Substitute(fill, {{written.get(), zero}, {loop.get(), zero}})));
    const Stmt later = Substitute(fill, {{written.get(), FloorMod(next, two)}, {loop.get(), next}});
    return IfThenElse{Less(next, loops_.back().extent), AttrStmt{"double_buffer_write", 1, Attr(Expr(data)), later},
                      std::nullopt};
  }

  // `split_loop` turns at once; what is left over, one by one.
  Stmt Split(const For& loop) {
    const DataType type = loop.loop_var.dtype();
    const Expr factor = IntConst(type, split_loop_);
    const Expr num_outer = FoldBinary(BinaryOp::kDiv, loop.extent - 1, factor), tail = num_outer * factor;
    const Var outer(loop.loop_var.name() + ".outer", type);
    const Stmt last = WriteMarkRemover()(loop.body);
    std::vector<Stmt> turns, rest;
    for (int64_t i = 0; i < split_loop_; ++i) {
      const Expr turn = outer * factor + i, left = tail + i;
      turns.push_back(Clone(Substitute(loop.body, {{loop.loop_var.get(), turn}})));
      const Stmt body = Clone(Substitute(last, {{loop.loop_var.get(), left}}));
      rest.push_back(IfThenElse{Less(left, loop.extent), body, std::nullopt});
    }
    std::vector<Stmt> stmts = {MakeFor(outer, num_outer, MakeSeq(std::move(turns)), loop.kind)};
    stmts.insert(stmts.end(), rest.begin(), rest.end());
    return MakeSeq(std::move(stmts));
  }
  Buffer Doubled(const Buffer& buffer) {
    const auto stride = strides_.find(buffer->data.get());
    if (!memory_.contains(buffer->data.get()) || stride == strides_.end()) return buffer;
    const auto known = buffers_.find(buffer.get());
    if (known != buffers_.end()) return known->second;
    if (buffer->shape.size() != 1) {
      Refuse("{} has several dimensions; run FlattenBuffer before", buffer->data);
      return buffer;
    }
    BufferNode larger = *buffer;
    larger.shape[0] = larger.shape[0] + stride->second;
    return buffers_.emplace(buffer.get(), Buffer(std::move(larger))).first->second;
  }

  const std::unordered_set<const ExprNode*> memory_;
  const int64_t split_loop_;
  std::vector<Around> loops_;
  std::unordered_map<const ExprNode*, Expr> strides_;
  std::unordered_map<const ExprNode*, Half> halves_;
  std::unordered_map<const ExprNode*, std::vector<Buffer>> views_;
  BufferMap buffers_;
  bool in_scope_ = false;
};

}  // namespace

StatusOr<PrimFunc> InjectDoubleBuffer(PrimFunc func, int64_t split_loop) {
  if (split_loop < 0 || (split_loop != 1 && split_loop % 2 != 0))
    return InvalidArgument(fmt::format("InjectDoubleBuffer: split_loop is {}; it is 0, 1 or even", split_loop));
  MemoryFinder finder;
  finder(func.body);
  if (finder.found.empty()) return func;
  const Stmt body = SplitAllocBuffers(func.body);
  DoubleBufferInjector injector(finder.found, split_loop);
  func.body = injector(body);
  RETURN_IF_ERROR(injector.status);
  if (const std::optional<Var> lost = NewlyUndefined(body, func.body))
    return InvalidArgument(fmt::format("InjectDoubleBuffer: {} is used where it is not known any more", lost->name()));
  return func;
}

}  // namespace lathe
