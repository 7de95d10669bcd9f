#include "compiler/transform/inject_virtual_thread.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/child_stmts.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr int64_t kMaxThreadCopies = 16;

const Var* AccessedData(const Expr& e) {
  const Call* call = e.As<Call>();
  if (call == nullptr || call->op->name != "tvm_access_ptr" || call->args.size() != 5) return nullptr;
  return IsVar(call->args[1]) ? static_cast<const Var*>(&call->args[1]) : nullptr;
}

using Variables = std::unordered_set<const ExprNode*>;

// Which variables, memory among them, differ between virtual threads: those that are made from one that does.
class DependenceFinder : public StmtExprVisitor {
 public:
  explicit DependenceFinder(const Var& thread) { dependent_.insert(thread.get()); }
  Variables Find(const Stmt& body) {
    for (size_t known = 0; known != dependent_.size();) {
      known = dependent_.size();
      VisitStmt(body);
    }
    return dependent_;
  }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const BufferStore* store = stmt.As<BufferStore>()) {
      if (Depends(store->value) || AnyDepends(store->indices)) dependent_.insert(store->buffer->data.get());
    } else if (const LetStmt* let = stmt.As<LetStmt>()) {
      if (Depends(let->value)) dependent_.insert(let->var.get());
    } else if (const For* loop = stmt.As<For>()) {
      if (Depends(loop->min) || Depends(loop->extent)) dependent_.insert(loop->loop_var.get());
    } else if (const Evaluate* evaluate = stmt.As<Evaluate>()) {
      if (Depends(evaluate->value)) AddWritten(evaluate->value);
    }
    StmtExprVisitor::VisitStmt(stmt);
  }

 private:
  bool Depends(const Expr& e) const {
    bool depends = false;
    PostOrderVisit(e, [&](const Expr& each) {
      const BufferLoad* load = each.As<BufferLoad>();
      depends |= dependent_.contains(load == nullptr ? each.get() : load->buffer->data.get());
    });
    return depends;
  }
  bool AnyDepends(const std::vector<Expr>& exprs) const {
    return std::any_of(exprs.begin(), exprs.end(), [&](const Expr& e) { return Depends(e); });
  }
  void AddWritten(const Expr& value) {
    PostOrderVisit(value, [&](const Expr& e) {
      const Var* data = AccessedData(e);
      const int64_t* mask = data == nullptr ? nullptr : AsIntConst(e.As<Call>()->args[4]);
      if (mask != nullptr && (*mask & 2) != 0) dependent_.insert(data->get());
    });
  }
  Variables dependent_;
};

// One launch of virtual threads is taken apart.
class ThreadInjector : public StmtExprMutator {
 public:
  ThreadInjector(const Var& thread, int64_t num_threads, Variables dependent, bool shares)
      : thread_(thread), num_threads_(num_threads), dependent_(std::move(dependent)), shares_(shares) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const AllocBuffer* alloc = stmt.As<AllocBuffer>()) {
      NoteMemory(alloc->buffer->data, alloc->buffer->shape, alloc->buffer->dtype.lanes);
    } else if (const Allocate* allocate = stmt.As<Allocate>()) {
      NoteMemory(allocate->buffer_var, allocate->extents, allocate->dtype.lanes);
    }
    if (is_injected_ || !NeedsCopies(stmt)) {
      const Stmt visited = stmt.As<Seq>() != nullptr ? VisitSeq(stmt) : StmtExprMutator::VisitStmt(stmt);
      if (stmt.As<For>() != nullptr) ++loop_depth_;
      return Enlarged(visited);
    }
    is_injected_ = true;
    const Stmt visited = VisitStmt(stmt);
    is_injected_ = false;
    const Stmt copies = Copies(visited);
    if (stmt.As<For>() != nullptr) ++loop_depth_;
    return copies;
  }
  Expr VisitExpr(const Expr& expr) override {
    const Var* data = AccessedData(expr);
    if (data != nullptr && strides_.contains(data->get())) {
      std::vector<Expr> args = expr.As<Call>()->args;
      args[2] = OfThread(VisitExpr(args[2]), strides_.at(data->get()));
      return Expr::Make(expr.dtype(), Call{expr.As<Call>()->op, std::move(args)});
    }
    const Call* call = expr.As<Call>();
    if (call != nullptr && call->op->name == "tvm_context_id" && !shares_) return thread_;
    return StmtExprMutator::VisitExpr(expr);
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const auto stride = strides_.find(load.buffer->data.get());
    if (stride == strides_.end()) return visited;
    BufferLoad moved = *visited.As<BufferLoad>();
    moved.indices[0] = OfThread(moved.indices[0], stride->second);
    return Expr::Make(visited.dtype(), std::move(moved));
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const auto stride = strides_.find(store.buffer->data.get());
    if (stride == strides_.end()) return visited;
    BufferStore moved = *visited.As<BufferStore>();
    moved.indices[0] = OfThread(moved.indices[0], stride->second);
    return moved;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override { return Larger(buffer); }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return Larger(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override { return Larger(buffer); }

 private:
  // Memory that each thread has for itself: of one dimension, as FlattenBuffer leaves it.
  void NoteMemory(const Var& data, const std::vector<Expr>& extents, int lanes) {
    if (extents.size() != 1 || (shares_ && !dependent_.contains(data.get()))) return;
    strides_.emplace(data.get(), extents[0] * lanes);
    dependent_.insert(data.get());
  }
  // Whether the statement itself, not one inside of it, differs between threads.
  bool NeedsCopies(const Stmt& stmt) const {
    if (stmt.As<Seq>() != nullptr || stmt.As<AllocBuffer>() != nullptr || stmt.As<DeclBuffer>() != nullptr)
      return false;
    const bool acts = stmt.As<BufferStore>() != nullptr || stmt.As<Evaluate>() != nullptr;
    if (acts && !shares_) return true;
    const BufferStore* store = stmt.As<BufferStore>();
    if (store != nullptr && dependent_.contains(store->buffer->data.get())) return true;
    return UsesOutsideOfChildren(stmt);
  }
  bool UsesOutsideOfChildren(const Stmt& stmt) const {
    Stmt head = stmt;
    if (!IsLeaf(stmt)) ForEachMutableChildStmt(head, [](Stmt& child) { child = Evaluate{0}; });
    bool uses = false;
    PostOrderVisit(head, [&](const Expr& e) {
      const BufferLoad* load = e.As<BufferLoad>();
      uses |= dependent_.contains(load == nullptr ? e.get() : load->buffer->data.get());
    });
    return uses;
  }
  static bool IsLeaf(const Stmt& stmt) {
    return !AnyChildStmt(stmt, [](const Stmt&) { return true; });
  }

  // Loops beside a statement do not make it a loop of threads.
  Stmt VisitSeq(const Stmt& stmt) {
    std::vector<Stmt> stmts;
    int deepest = 0;
    for (const Stmt& each : stmt.As<Seq>()->stmts) {
      loop_depth_ = 0;
      stmts.push_back(VisitStmt(each));
      deepest = std::max(deepest, loop_depth_);
    }
    loop_depth_ = deepest;
    return MakeSeq(std::move(stmts));
  }
  Stmt Copies(const Stmt& stmt) {
    if (loop_depth_ > 0 || num_threads_ >= kMaxThreadCopies) {
      const Var each(thread_.name() + "_s", thread_.dtype());
      return MakeFor(each, IntConst(thread_.dtype(), num_threads_), Substitute(stmt, {{thread_.get(), each}}));
    }
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < num_threads_; ++i)
      copies.push_back(Clone(Substitute(stmt, {{thread_.get(), IntConst(thread_.dtype(), i)}})));
    return MakeSeq(std::move(copies));
  }
  Expr OfThread(const Expr& index, const Expr& stride) const {
    const Expr begin = FoldBinary(BinaryOp::kMul, thread_, MakeCast(thread_.dtype(), stride));
    if (const Ramp* ramp = index.As<Ramp>())
      return Expr::Make(index.dtype(), Ramp{analyzer_.Simplify(begin + ramp->base), ramp->stride, ramp->lanes});
    return analyzer_.Simplify(begin + index);
  }
  Stmt Enlarged(const Stmt& stmt) {
    const Allocate* allocate = stmt.As<Allocate>();
    if (allocate == nullptr || !strides_.contains(allocate->buffer_var.get())) return stmt;
    Allocate larger = *allocate;
    larger.extents[0] = larger.extents[0] * IntConst(larger.extents[0].dtype(), num_threads_);
    return larger;
  }
  Buffer Larger(const Buffer& buffer) {
    if (!strides_.contains(buffer->data.get()) || buffer->shape.size() != 1) return buffer;
    const auto found = buffers_.find(buffer.get());
    if (found != buffers_.end()) return found->second;
    BufferNode larger = *buffer;
    larger.shape[0] = larger.shape[0] * IntConst(larger.shape[0].dtype(), num_threads_);
    return buffers_.emplace(buffer.get(), Buffer(std::move(larger))).first->second;
  }

  const Var thread_;
  const int64_t num_threads_;
  Variables dependent_;
  const bool shares_;  // Whether memory that does not differ is one for all threads.
  Analyzer analyzer_;
  bool is_injected_ = false;
  int loop_depth_ = 0;  // Of the loops in what has been visited of a statement.
  std::unordered_map<const ExprNode*, Expr> strides_;
  BufferMap buffers_;
};

// Inner launches first.
class LaunchRemover : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const AttrStmt* attr = visited.As<AttrStmt>();
    if (attr == nullptr || attr->attr_key != "virtual_thread") return visited;
    const IterVar* axis = std::get_if<IterVar>(&attr->node);
    const int64_t* num_threads = AsIntConst(attr->value);
    if (axis == nullptr || num_threads == nullptr) return visited;
    return ThreadInjector(axis->var, *num_threads, DependenceFinder(axis->var).Find(attr->body),
                          axis->thread_tag.starts_with("vthread"))(attr->body);
  }
};

}  // namespace

PrimFunc InjectVirtualThread(PrimFunc func) {
  func.body = LaunchRemover()(func.body);
  return func;
}

}  // namespace lathe
