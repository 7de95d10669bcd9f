#include "compiler/ir/memory.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

Buffer BufferOver(const Var& data, DataType dtype, std::vector<Expr> shape) {
  BufferNode node;
  node.name = data.name();
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.scope = data.pointer() == nullptr ? "global" : data.pointer()->scope;
  node.data = data;
  return Buffer(std::move(node));
}

class AllocationSplitter : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const AllocBuffer* alloc = visited.As<AllocBuffer>();
    if (alloc == nullptr) return visited;
    const Buffer& buffer = alloc->buffer;
    return Allocate{buffer->data, buffer->dtype, buffer->shape, True(), {}, DeclBuffer{buffer, alloc->body}};
  }
  Expr VisitExpr(const Expr& expr) override { return expr; }
};

}  // namespace

Stmt SplitAllocBuffers(const Stmt& stmt) { return AllocationSplitter()(stmt); }

std::optional<Stmt> AsAllocBuffer(const Allocate& allocate) {
  if (!IsConstInt(allocate.condition, 1)) return std::nullopt;
  return AllocBuffer{BufferOver(allocate.buffer_var, allocate.dtype, allocate.extents), allocate.body};
}

Stmt AsAllocBuffer(const AllocateConst& allocate) {
  const Buffer flat =
      BufferOver(allocate.buffer_var, allocate.dtype, {Expr(static_cast<int64_t>(allocate.data.size()))});
  std::vector<Stmt> stmts;
  for (size_t i = 0; i < allocate.data.size(); ++i)
    stmts.push_back(MakeStore(flat, allocate.data[i], {Expr(static_cast<int64_t>(i))}));
  stmts.push_back(allocate.body);
  return AllocBuffer{flat, MakeSeq(std::move(stmts))};
}

}  // namespace lathe
