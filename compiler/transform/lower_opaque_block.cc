#include "compiler/transform/lower_opaque_block.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class BlockRemover : public StmtExprMutator {
 protected:
  Stmt VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    const BlockNode& block = *realize.block;
    CHECK(block.iter_vars.empty() && block.match_buffers.empty() && !block.init)
        << "block " << block.name << " is not opaque";
    Stmt body = VisitStmt(block.body);
    const Expr predicate = VisitExpr(realize.predicate);
    for (size_t i = block.alloc_buffers.size(); i-- > 0;) body = AllocBuffer{block.alloc_buffers[i], body};
    if (IsConstInt(predicate, 1)) return body;
    return IfThenElse{predicate, body, std::nullopt};
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (!IsConstInt(loop.extent, 1) || loop.kind == ForKind::kThreadBinding || !loop.annotations.empty())
      return StmtExprMutator::VisitFor(self, loop);
    values_.insert_or_assign(loop.loop_var.get(), VisitExpr(loop.min));
    return VisitStmt(loop.body);
  }
  Expr VisitVar(const Var& var) override {
    const auto found = values_.find(var.get());
    return found == values_.end() ? Expr(var) : found->second;
  }

 private:
  VarMap values_;
};

}  // namespace

PrimFunc LowerOpaqueBlock(PrimFunc func) {
  func.body = BlockRemover{}(func.body);
  return func;
}

}  // namespace lathe
