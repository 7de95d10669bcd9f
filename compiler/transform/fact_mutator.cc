#include "compiler/transform/fact_mutator.h"

namespace lathe {

Stmt FactMutator::VisitStmt(const Stmt& stmt) {
  const IfThenElse* branch = stmt.As<IfThenElse>();
  // What a condition says about memory may end with the next store.
  if (branch != nullptr && branch->condition.dtype().is_scalar() && !HasLoad(branch->condition))
    return VisitBranches(stmt, *branch);
  const Simplifier::Scope inside(facts_);
  Learn(stmt);
  return StmtExprMutator::VisitStmt(stmt);
}

void FactMutator::Learn(const Stmt& stmt) {
  if (const For* loop = stmt.As<For>()) {
    facts_.Bind(loop->loop_var, Range{loop->min, loop->extent});
  } else if (const BlockRealize* realize = stmt.As<BlockRealize>()) {
    if (!HasLoad(realize->predicate)) facts_.Assume(realize->predicate);
    for (const IterVar& iter : realize->block->iter_vars) facts_.Bind(iter.var, iter.domain);
  } else if (const AttrStmt* attr = stmt.As<AttrStmt>()) {
    const IterVar* axis = std::get_if<IterVar>(&attr->node);
    if (axis != nullptr) facts_.Bind(axis->var, Range{IntConst(attr->value.dtype(), 0), attr->value});
  } else if (const LetStmt* let = stmt.As<LetStmt>()) {
    if (let->value.dtype().is_int() && !HasLoad(let->value)) facts_.Bind(let->var, let->value);
  }
}

Stmt FactMutator::VisitBranches(const Stmt& self, const IfThenElse& branch) {
  const auto under = [&](const Expr& condition, const Stmt& stmt) {
    const Simplifier::Scope inside(facts_, condition);
    return VisitStmt(stmt);
  };
  const Expr condition = VisitExpr(branch.condition);
  const Stmt then_case = under(branch.condition, branch.then_case);
  std::optional<Stmt> else_case;
  if (branch.else_case) else_case = under(MakeNot(branch.condition), *branch.else_case);
  const bool is_same = condition.same_as(branch.condition) && then_case.same_as(branch.then_case) &&
                       (!else_case || else_case->same_as(*branch.else_case));
  return is_same ? self : Stmt(IfThenElse{condition, then_case, else_case});
}

}  // namespace lathe
