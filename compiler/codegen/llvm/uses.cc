#include "compiler/codegen/llvm/uses.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class UseCollector : public StmtExprVisitor {
 public:
  Uses uses;

 protected:
  void VisitVar(const Var& var) override { uses.vars.insert(var.get()); }
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
  void Use(const Buffer& buffer) {
    if (!uses.buffers.emplace(buffer.get(), buffer).second) return;
    for (const Expr& extent : buffer->shape) (*this)(extent);
    for (const Expr& stride : buffer->strides) (*this)(stride);
    (*this)(buffer->elem_offset);
  }
};

}  // namespace

Uses CollectUses(const Stmt& stmt) {
  UseCollector collector;
  collector(stmt);
  return std::move(collector.uses);
}

}  // namespace lathe
