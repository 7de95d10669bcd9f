#include "compiler/transform/convert_blocks_to_opaque.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class IterVarReplacer : public StmtExprMutator {
 protected:
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    const BlockNode& block = *realize.block;
    CHECK(!block.init) << "block " << block.name << " still has an init";
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Var& var = block.iter_vars[i].var;
      const Expr value = VisitExpr(realize.iter_values[i]);
      values_.insert_or_assign(var.get(), value.dtype() == var.dtype() ? value : MakeCast(var.dtype(), value));
    }
    const Stmt rewritten = StmtExprMutator::VisitBlockRealize(self, realize);
    if (block.iter_vars.empty()) return rewritten;
    BlockRealize opaque = *rewritten.As<BlockRealize>();
    opaque.iter_values.clear();
    opaque.block.Mutable().iter_vars.clear();
    return opaque;
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = values_.find(var.get());
    return found == values_.end() ? var : found->second;
  }
  // Extents of allocations and views may name iter vars.
  Buffer VisitBufferDef(const Buffer& buffer) override {
    std::optional<BufferNode> mapped = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); });
    return mapped ? buffers_.insert_or_assign(buffer.get(), Buffer(*std::move(mapped))).first->second : buffer;
  }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }

 private:
  VarMap values_;
  BufferMap buffers_;
};

}  // namespace

PrimFunc ConvertBlocksToOpaque(PrimFunc func) {
  func.body = IterVarReplacer{}(func.body);
  return func;
}

}  // namespace lathe
