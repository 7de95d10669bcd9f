#include "compiler/schedule/memory_uses.h"

#include <algorithm>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class MemoryUseFinder : public StmtExprVisitor {
 public:
  explicit MemoryUseFinder(const StmtNode* scope) : scope_(scope) {}
  MemoryUses uses;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    if (scope_ == nullptr) StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    if (scope_ == nullptr || self.get() == scope_) StmtExprVisitor::VisitBlockRealize(self, realize);
  }
  void VisitExpr(const Expr& expr) override {
    if (expr.As<IntImm>() != nullptr) return;
    if (!IsVar(expr)) return StmtExprVisitor::VisitExpr(expr);
    if (expr.dtype() == DataType::Handle()) AddOnce(uses.pointers, expr.get());
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    AddOnce(uses.buffers, load.buffer.get());
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    AddOnce(uses.buffers, store.buffer.get());
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBlock(const Block& block) override {
    for (const MatchBufferRegion& match : block->match_buffers) AddOnce(uses.pointers, match.source.buffer->data.get());
    StmtExprVisitor::VisitBlock(block);
  }

 private:
  template <typename Known, typename T>
  static void AddOnce(Known& known, const T* found) {
    if (std::find(known.begin(), known.end(), found) == known.end()) known.push_back(found);
  }
  const StmtNode* const scope_;  // If given, other loops and blocks are not entered.
};

MemoryUses Find(const Stmt& stmt, const StmtNode* scope) {
  MemoryUseFinder finder(scope);
  finder(stmt);
  return std::move(finder.uses);
}

}  // namespace

MemoryUses MemoryUsesIn(const Stmt& stmt) { return Find(stmt, nullptr); }
MemoryUses MemoryUsesAroundNests(const Stmt& scope) { return Find(scope, scope.get()); }

bool IsViewedBy(const MemoryUses& uses, const Buffer& buffer) {
  const ExprNode* data = buffer->data.get();
  const auto is_other = [&](const BufferNode* used) { return used->data.get() == data && used != buffer.get(); };
  return std::find(uses.pointers.begin(), uses.pointers.end(), data) != uses.pointers.end() ||
         std::any_of(uses.buffers.begin(), uses.buffers.end(), is_other);
}

}  // namespace lathe
