#include "compiler/transform/hoist_expression.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/may_trap.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Each condition that is tested twice over doubles the loop.
constexpr size_t kMaxConditions = 10;

bool IsSameAnywhere(const Expr& value) {
  bool is_movable = value.dtype().is_scalar();
  PostOrderVisit(value, [&](const Expr& e) {
    if (e.As<BufferLoad>() != nullptr || e.As<Reduce>() != nullptr || MayTrap(e)) is_movable = false;
    if (const Call* call = e.As<Call>()) is_movable &= call->op->is_pure;
  });
  return is_movable;
}

class ExpressionHoister : public StmtExprMutator {
 public:
  explicit ExpressionHoister(const HoistOptions& options) : options_(options) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    return InLoop(loop.loop_var, false, [&] { return StmtExprMutator::VisitFor(self, loop); });
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const LetStmt* let = stmt.As<LetStmt>()) return VisitLet(stmt, *let);
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* thread = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (thread != nullptr) {
      threads_.insert(thread->var.get());
      return InLoop(thread->var, true, [&] { return StmtExprMutator::VisitStmt(stmt); });
    }
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VisitIf(stmt, *branch);
    if (stmt.As<Seq>() != nullptr && !loops_.empty()) loops_.back().has_sequence = true;
    return StmtExprMutator::VisitStmt(stmt);
  }
  Block VisitBlock(const Block& block) override {
    for (const IterVar& iter : block->iter_vars) known_in_[iter.var.get()] = loops_.size();
    for (const MatchBufferRegion& match : block->match_buffers) KnowVarsOf(match.buffer);
    return StmtExprMutator::VisitBlock(block);
  }
  Expr VisitExpr(const Expr& expr) override {
    const Call* call = expr.As<Call>();
    if (call != nullptr && call->op->name == "if_then_else")
      Hoist(call->args[0], hoisted_conditional::kIfElseExpr, true);
    const Binary* both = expr.As<Binary>();
    if (both != nullptr && (both->op == BinaryOp::kAnd || both->op == BinaryOp::kOr)) {
      Hoist(both->a, hoisted_conditional::kBooleanExpression, true);
      Hoist(both->b, hoisted_conditional::kBooleanExpression, true);
    }
    const Let* let = expr.As<Let>();
    if (let != nullptr && !loops_.empty()) known_in_[let->var.get()] = loops_.size();
    return StmtExprMutator::VisitExpr(expr);
  }

 private:
  struct Condition {
    Expr test;
    bool has_else;
  };
  struct Binding {
    Var var;
    Expr value;
  };
  struct Loop {
    bool is_launch = false, has_sequence = false;
    std::vector<Condition> conditions;  // To be tested before it, and
    std::vector<Binding> bindings;      // bound before that.
  };

  // A view may introduce variables of its shape, strides and offset.
  void KnowVarsOf(const Buffer& view) {
    const auto know = [&](const Expr& e) {
      if (IsVar(e)) known_in_.emplace(e.get(), loops_.size());
    };
    for (const auto* exprs : {&view->shape, &view->strides})
      for (const Expr& e : *exprs) PostOrderVisit(e, know);
    PostOrderVisit(view->elem_offset, know);
  }
  // What stands in one of two branches is not all that the loop does.
  Stmt VisitIf(const Stmt& self, const IfThenElse& branch) {
    Hoist(branch.condition, hoisted_conditional::kIfElseStmt, branch.else_case.has_value());
    if (branch.else_case) branches_.push_back(loops_.size());
    Stmt result = StmtExprMutator::VisitStmt(self);
    if (branch.else_case) branches_.pop_back();
    return result;
  }

  template <typename F>
  Stmt InLoop(const Var& var, bool is_launch, const F& visit) {
    loops_.emplace_back().is_launch = is_launch;
    known_in_[var.get()] = loops_.size();
    Stmt result = visit();
    const Loop loop = std::move(loops_.back());
    loops_.pop_back();
    for (size_t i = loop.conditions.size(); i-- > 0;) {
      const auto& [test, has_else] = loop.conditions[i];
      result = IfThenElse{test, result, has_else ? std::optional<Stmt>(Clone(result)) : std::nullopt};
    }
    for (size_t i = loop.bindings.size(); i-- > 0;)
      result = LetStmt{loop.bindings[i].value, loop.bindings[i].var, std::move(result)};
    return result;
  }

  // How many of the loops around must stay around.
  size_t PlaceOf(const Expr& value) const {
    size_t needed = 0;
    PostOrderVisit(value, [&](const Expr& e) {
      const auto known = known_in_.find(e.get());
      if (known != known_in_.end()) needed = std::max(needed, known->second);
    });
    size_t place = loops_.size();
    while (place > needed && !loops_[place - 1].has_sequence && (!loops_[place - 1].is_launch || CrossesLaunches()))
      --place;
    return place;
  }
  bool CrossesLaunches() const { return (options_.conditionals & hoisted_conditional::kUsingBlockVar) != 0; }

  void Hoist(const Expr& condition, int kind, bool has_else) {
    if ((options_.conditionals & kind) == 0 || !IsSameAnywhere(condition) || AsIntConst(condition) != nullptr) return;
    const bool names_thread = UsesVar(condition, [&](const ExprNode* var) { return threads_.contains(var); });
    if (names_thread && !CrossesLaunches()) return;
    const size_t place = PlaceOf(condition);
    if (place == loops_.size() || loops_[place].conditions.size() == kMaxConditions) return;
    const bool is_in_branch =
        std::any_of(branches_.begin(), branches_.end(), [&](size_t num_around) { return num_around > place; });
    loops_[place].conditions.push_back({condition, has_else || is_in_branch});
  }

  // A variable that may move is known where it would be; whether it does is known once all conditions are.
  Stmt VisitLet(const Stmt& self, const LetStmt& let) {
    const bool may_move = (options_.let_bindings & (hoisted_let::kLetStmt | hoisted_let::kRequiredByConditional)) != 0;
    const size_t place = may_move && IsSameAnywhere(let.value) ? PlaceOf(let.value) : loops_.size();
    known_in_[let.var.get()] = place;
    if (place == loops_.size()) return StmtExprMutator::VisitStmt(self);
    const size_t num_bindings = loops_[place].bindings.size();
    const Expr value = VisitExpr(let.value);
    const Stmt body = VisitStmt(let.body);
    if ((options_.let_bindings & hoisted_let::kLetStmt) == 0 && !IsRequired(let.var))
      return LetStmt{value, let.var, body};
    std::vector<Binding>& bindings = loops_[place].bindings;
    bindings.insert(bindings.begin() + static_cast<ptrdiff_t>(num_bindings), {let.var, value});
    return body;
  }
  bool IsRequired(const Var& var) const {
    const auto names = [&](const Expr& e) { return UsesVar(e, var.get()); };
    for (const Loop& loop : loops_) {
      for (const Condition& condition : loop.conditions)
        if (names(condition.test)) return true;
      for (const Binding& binding : loop.bindings)
        if (names(binding.value)) return true;
    }
    return false;
  }

  const HoistOptions options_;
  std::vector<Loop> loops_;
  std::unordered_map<const ExprNode*, size_t> known_in_;  // How many loops are around what introduces a variable.
  std::unordered_set<const ExprNode*> threads_;
  std::vector<size_t> branches_;  // How many loops are around each if with an else that is around.
};

}  // namespace

PrimFunc HoistExpression(PrimFunc func, const HoistOptions& options) {
  func.body = ExpressionHoister(options)(func.body);
  return func;
}

}  // namespace lathe
