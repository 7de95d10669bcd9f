#include "compiler/codegen/llvm/uses.h"

#include "compiler/ir/may_trap.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class UseCollector : public StmtExprVisitor {
 public:
  Uses uses;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VisitBranch(*branch);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& e) override {
    uses.has_guarded_division |= num_guards_ > 0 && MayTrap(e);
    const Call* call = e.As<Call>();
    const bool is_choice = call != nullptr && call->op->name == "if_then_else";
    num_guards_ += is_choice;
    StmtExprVisitor::VisitExpr(e);
    num_guards_ -= is_choice;
  }
  void VisitVar(const Expr& var) override { uses.vars.insert(var.get()); }
  void VisitBufferDef(const Buffer& buffer) override {
    uses.allocations.push_back(buffer);
    Use(buffer);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Use(store.buffer);
    uses.has_vectors = uses.has_vectors || store.value.dtype().lanes > 1;
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Use(load.buffer);
    uses.has_vectors = uses.has_vectors || self.dtype().lanes > 1;
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void VisitBranch(const IfThenElse& branch) {
    (*this)(branch.condition);
    ++num_guards_;
    (*this)(branch.then_case);
    if (branch.else_case) (*this)(*branch.else_case);
    --num_guards_;
  }
  void Use(const Buffer& buffer) {
    if (!uses.buffers.emplace(buffer.get(), buffer).second) return;
    for (const Expr& extent : buffer->shape) (*this)(extent);
    for (const Expr& stride : buffer->strides) (*this)(stride);
    (*this)(buffer->elem_offset);
  }

  int num_guards_ = 0;  // Conditions around.
};

}  // namespace

Uses CollectUses(const Stmt& stmt) {
  UseCollector collector;
  collector(stmt);
  return std::move(collector.uses);
}

}  // namespace lathe
