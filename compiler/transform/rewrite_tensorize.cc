#include "compiler/transform/rewrite_tensorize.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/tensorize.h"
#include "compiler/script/complete.h"

namespace lathe {
namespace {

// a * b as b * a, in blocks that say in this order what they read.
class FactorSwapper : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    const Binary* op = e.As<Binary>();
    if (op == nullptr || op->op != BinaryOp::kMul || !HasLoad(op->a) || !HasLoad(op->b))
      return StmtExprMutator::VisitExpr(e);
    return MakeBinary(BinaryOp::kMul, op->b, op->a);
  }
  Block VisitBlock(const Block& self) override {
    Block block = StmtExprMutator::VisitBlock(self);
    RecomputeRegions(block.Mutable());
    return block;
  }
};

// People write T.Cast("int32", 0); a description has the zero as it is.
class ZeroFolder : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    const Cast* cast = e.As<Cast>();
    if (cast == nullptr || !e.dtype().is_scalar() || !IsConstInt(cast->value, 0)) return StmtExprMutator::VisitExpr(e);
    return e.dtype().is_float() ? FloatConst(e.dtype(), 0) : IntConst(e.dtype(), 0);
  }
};

// A description says one order of factors; the other is the same product.
StatusOr<BlockRealize> InEitherOrder(const BlockRealize& realize, const std::string& name) {
  StatusOr<BlockRealize> made = TensorizedInAnyScope(realize, name);
  if (made.ok()) return made;
  const Stmt swapped = FactorSwapper{}(Stmt(realize));
  StatusOr<BlockRealize> other = TensorizedInAnyScope(*swapped.As<BlockRealize>(), name);
  return other.ok() ? std::move(other) : std::move(made);
}

class Rewriter : public StmtExprMutator {
 public:
  explicit Rewriter(const std::string& function) : function_(function) {}
  Status status;

 protected:
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    const auto named = realize.block->annotations.find(kAutoTensorize);
    const std::string* name =
        named == realize.block->annotations.end() ? nullptr : std::get_if<std::string>(&named->second);
    if (name == nullptr || !status.ok()) return StmtExprMutator::VisitBlockRealize(self, realize);
    BlockRealize plain = realize;
    plain.block.Mutable().annotations.erase(kAutoTensorize);
    const Stmt folded = ZeroFolder{}(Stmt(plain));
    StatusOr<BlockRealize> made = InEitherOrder(*folded.As<BlockRealize>(), *name);
    if (made.ok()) return *std::move(made);
    status = Status(made.status().code(), fmt::format("rewrite_tensorize @{} block \"{}\": intrinsic \"{}\": {}",
                                                      function_, realize.block->name, *name, made.status().message()));
    return self;
  }

 private:
  const std::string& function_;
};

}  // namespace

StatusOr<PrimFunc> RewriteTensorize(PrimFunc func) {
  Rewriter rewriter(func.name);
  Stmt body = rewriter(func.body);
  if (!rewriter.status.ok()) return rewriter.status;
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
