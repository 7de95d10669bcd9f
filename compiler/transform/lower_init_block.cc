#include "compiler/transform/lower_init_block.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

Expr FirstIteration(const BlockNode& block) {
  Expr condition = True();
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::kReduce) condition = And(condition, Equal(iter.var, iter.domain.min));
  }
  return condition;
}

class InitLowerer : public StmtExprMutator {
 protected:
  Block VisitBlock(const Block& self) override {
    Block block = StmtExprMutator::VisitBlock(self);
    if (!block->init) return block;
    BlockNode& node = block.Mutable();
    const Expr condition = FirstIteration(node);
    const Stmt init = IsConstInt(condition, 1) ? *node.init : Stmt(IfThenElse{condition, *node.init, std::nullopt});
    node.body = MakeSeq({init, node.body});
    node.init.reset();
    return block;
  }
};

}  // namespace

PrimFunc LowerInitBlock(PrimFunc func) {
  func.body = InitLowerer{}(func.body);
  return func;
}

}  // namespace lathe
