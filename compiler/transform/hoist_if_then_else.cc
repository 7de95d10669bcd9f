#include "compiler/transform/hoist_if_then_else.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

bool IsMovable(const Expr& condition) {
  bool is_movable = true;
  PostOrderVisit(condition, [&](const Expr& e) {
    if (e.As<BufferLoad>() != nullptr) is_movable = false;
    if (const Call* call = e.As<Call>()) is_movable &= call->op->is_pure;
  });
  return is_movable;
}

// The conjuncts of `condition`, apart by whether they name `var`.
void SplitConjunction(const Expr& condition, const ExprNode* var, Expr& invariant, Expr& variant) {
  const Binary* both = condition.As<Binary>();
  if (both != nullptr && both->op == BinaryOp::kAnd) {
    SplitConjunction(both->a, var, invariant, variant);
    SplitConjunction(both->b, var, invariant, variant);
    return;
  }
  const bool names_var = UsesVar(condition, var);
  Expr& side = names_var ? variant : invariant;
  side = And(side, condition);
}

class Hoister : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For&) override {
    const Stmt visited = VisitChildren(self);
    const For& loop = *visited.As<For>();
    if (loop.kind == ForKind::kThreadBinding) return visited;
    const IfThenElse* branch = loop.body.As<IfThenElse>();
    if (branch == nullptr || !IsMovable(branch->condition) || !branch->condition.dtype().is_scalar()) return visited;
    Expr invariant = True(), variant = True();
    SplitConjunction(branch->condition, loop.loop_var.get(), invariant, variant);
    if (IsConstInt(invariant, 1)) return visited;
    const bool is_whole = IsConstInt(variant, 1);
    if (branch->else_case && !is_whole) return visited;
    const auto loop_of = [&](Stmt body, Var var) {
      For copy = loop;
      copy.loop_var = var;
      copy.body = std::move(body);
      return Stmt(std::move(copy));
    };
    const Stmt inside = is_whole ? branch->then_case : Stmt(IfThenElse{variant, branch->then_case, std::nullopt});
    std::optional<Stmt> otherwise;
    if (branch->else_case) {
      const Var fresh(loop.loop_var.name(), loop.loop_var.dtype());
      otherwise = loop_of(Substitute(*branch->else_case, {{loop.loop_var.get(), fresh}}), fresh);
    }
    return IfThenElse{invariant, loop_of(inside, loop.loop_var), otherwise};
  }
};

}  // namespace

PrimFunc HoistIfThenElse(PrimFunc func) {
  func.body = Hoister{}(func.body);
  return func;
}

}  // namespace lathe
