#include "compiler/transform/hoist_if_then_else.h"

#include <unordered_set>

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
  const bool names_var = UsesVar(condition, [&](const ExprNode* node) { return node == var; });
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

class ConditionHoister : public StmtExprMutator {
 public:
  explicit ConditionHoister(bool across_threads) : across_threads_(across_threads) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (loop.kind == ForKind::kThreadBinding) threads_.insert(loop.loop_var.get());
    loops_.push_back({{loop.loop_var.get()}, false, {}});
    Stmt result = StmtExprMutator::VisitFor(self, loop);
    const Loop info = std::move(loops_.back());
    loops_.pop_back();
    for (size_t i = info.conditions.size(); i-- > 0;) {
      const auto& [condition, has_else] = info.conditions[i];
      result = IfThenElse{condition, result, has_else ? std::optional<Stmt>(Clone(result)) : std::nullopt};
    }
    return result;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) Hoist(*branch);
    if (stmt.As<Seq>() != nullptr && !loops_.empty()) loops_.back().has_sequence = true;
    const LetStmt* let = stmt.As<LetStmt>();
    if (let != nullptr && !loops_.empty()) loops_.back().vars.insert(let->var.get());
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* thread = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (thread != nullptr) threads_.insert(thread->var.get());
    return StmtExprMutator::VisitStmt(stmt);
  }

 private:
  struct Loop {
    std::unordered_set<const ExprNode*> vars;  // Its own, and those that its body binds.
    bool has_sequence;
    std::vector<std::pair<Expr, bool>> conditions;  // To be tested before it; whether there is something to do else.
  };
  void Hoist(const IfThenElse& branch) {
    if (!IsMovable(branch.condition) || !branch.condition.dtype().is_scalar()) return;
    const auto names = [&](const std::unordered_set<const ExprNode*>& vars) {
      return UsesVar(branch.condition, [&](const ExprNode* node) { return vars.contains(node); });
    };
    if (!across_threads_ && names(threads_)) return;
    size_t place = loops_.size();
    while (place > 0 && !loops_[place - 1].has_sequence && !names(loops_[place - 1].vars)) --place;
    if (place < loops_.size()) loops_[place].conditions.emplace_back(branch.condition, branch.else_case.has_value());
  }

  const bool across_threads_;
  std::vector<Loop> loops_;
  std::unordered_set<const ExprNode*> threads_;
};

}  // namespace

PrimFunc HoistConditions(PrimFunc func, bool across_threads) {
  func.body = ConditionHoister(across_threads)(func.body);
  return func;
}

PrimFunc HoistIfThenElse(PrimFunc func) {
  func.body = Hoister{}(func.body);
  return func;
}

}  // namespace lathe
