#include "compiler/transform/skip_zero_terms.h"

#include <algorithm>
#include <vector>

#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/guarded_value.h"

namespace lathe {
namespace {

bool IsZero(const Expr& e) {
  const FloatImm* number = e.As<FloatImm>();
  return number != nullptr ? number->value == 0 : IsConstInt(e, 0);
}
bool IsIdentityOf(BinaryOp op, const Expr& e) {
  return (op == BinaryOp::kAdd && IsZero(e)) || (op == BinaryOp::kMax && AsCall(e, "min_value") != nullptr) ||
         (op == BinaryOp::kMin && AsCall(e, "max_value") != nullptr);
}

bool SameElement(const BufferLoad& load, const BufferStore& store) {
  if (!load.buffer.same_as(store.buffer)) return false;
  for (size_t i = 0; i < load.indices.size(); ++i)
    if (!SameExpr(load.indices[i], store.indices[i])) return false;
  return true;
}

// The guarded value of a term that is the operation's identity where the guard fails; nullptr: there is none.
const Expr* FindGuarded(const Expr& term, BinaryOp op) {
  if (const Call* call = AsGuardedValue(term)) return IsIdentityOf(op, call->args[2]) ? &term : nullptr;
  const Binary* product = term.As<Binary>();
  if (op != BinaryOp::kAdd || product == nullptr || product->op != BinaryOp::kMul) return nullptr;
  const Expr* in_a = FindGuarded(product->a, op);
  return in_a != nullptr ? in_a : FindGuarded(product->b, op);
}

// Of R[i] = R[i] + term; nullptr: it is no such store.
const Expr* GuardedTermOf(const BufferStore& store) {
  const Binary* sum = store.predicate ? nullptr : store.value.As<Binary>();
  const BufferLoad* element = sum == nullptr ? nullptr : sum->a.As<BufferLoad>();
  return element == nullptr || !SameElement(*element, store) ? nullptr : FindGuarded(sum->b, sum->op);
}

// Loops that hold nothing but each other and a store.
struct Nest {
  std::vector<const ExprNode*> vars;
  const BufferStore* store = nullptr;
};
Nest NestOf(const Stmt& stmt) {
  Nest nest;
  const Stmt* at = &stmt;
  for (const For* loop = at->As<For>(); loop != nullptr; loop = at->As<For>()) {
    nest.vars.push_back(loop->loop_var.get());
    at = &loop->body;
  }
  nest.store = at->As<BufferStore>();
  return nest;
}

// Takes conjuncts away from one guard.
class Unguarder : public StmtExprMutator {
 public:
  Unguarder(const Expr& guarded, Expr rest) : guarded_(guarded), rest_(std::move(rest)) {}

 protected:
  Expr VisitExpr(const Expr& e) override {
    return e.same_as(guarded_) ? UnderGuard(e, rest_) : StmtExprMutator::VisitExpr(e);
  }

 private:
  const Expr guarded_, rest_;
};

class Skipper : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const bool may_hold_condition = loop.kind == ForKind::kSerial || loop.kind == ForKind::kParallel;
    if (!may_hold_condition) return self;  // Conditions below it are those of a tile.
    For copy = loop;
    copy.body = VisitStmt(Guard(loop));
    return copy.body.same_as(loop.body) ? self : Stmt(std::move(copy));
  }

 private:
  // The loop's body under those conjuncts that name the loop and none inside it.
  static Stmt Guard(const For& loop) {
    const Nest nest = NestOf(loop.body);
    const Expr* guarded = nest.store == nullptr ? nullptr : GuardedTermOf(*nest.store);
    if (guarded == nullptr) return loop.body;
    Expr here = True(), rest = True();
    for (const Expr& part : ConjunctsOf(AsGuardedValue(*guarded)->args[0])) {
      Expr& side = BelongsTo(part, loop.loop_var.get(), nest) ? here : rest;
      side = And(side, part);
    }
    if (IsConstInt(here, 1)) return loop.body;
    return IfThenElse{here, Unguarder(*guarded, rest)(loop.body), std::nullopt};
  }
  static bool BelongsTo(const Expr& part, const ExprNode* var, const Nest& nest) {
    const auto is_inside = [&](const ExprNode* other) {
      return std::find(nest.vars.begin(), nest.vars.end(), other) != nest.vars.end();
    };
    return !HasLoad(part) && UsesVar(part, var) && !UsesVar(part, is_inside);
  }
};

}  // namespace

PrimFunc SkipZeroTerms(PrimFunc func) {
  func.body = Skipper{}(func.body);
  return func;
}

}  // namespace lathe
