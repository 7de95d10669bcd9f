#include "compiler/transform/remove_hints.h"

#include <fmt/format.h>

#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "compiler/transform/remove_no_op.h"

namespace lathe {
namespace {

bool Calls(const Expr& e, std::string_view name) {
  const Call* call = e.As<Call>();
  return call != nullptr && call->op->name == name;
}

class AssumeRemover : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Evaluate* evaluate = stmt.As<Evaluate>();
    if (evaluate != nullptr && Calls(evaluate->value, "assume")) return Evaluate{Expr(0)};
    return StmtExprMutator::VisitStmt(stmt);
  }
};

class UndefRemover : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const LetStmt* let = stmt.As<LetStmt>();
    if (let != nullptr && IsUndefined(let->value)) {
      undefined_.insert(let->var.get());
      return VisitStmt(let->body);
    }
    return StmtExprMutator::VisitStmt(stmt);
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    if (IsUndefined(store.value)) return Evaluate{Expr(0)};
    return StmtExprMutator::VisitBufferStore(self, store);
  }

 private:
  // Undefined as a whole: also an expression of an undefined value.
  bool IsUndefined(const Expr& e) const {
    bool is_undefined = false;
    PostOrderVisit(e,
                   [&](const Expr& part) { is_undefined |= Calls(part, "undef") || undefined_.contains(part.get()); });
    return is_undefined;
  }
  std::unordered_set<const ExprNode*> undefined_;
};

bool UsesUndef(const Stmt& body) {
  bool uses = false;
  PostOrderVisit(body, std::function<void(const Expr&)>([&](const Expr& e) { uses |= Calls(e, "undef"); }));
  return uses;
}

}  // namespace

PrimFunc RemoveAssume(PrimFunc func) {
  func.body = AssumeRemover{}(func.body);
  return RemoveNoOp(std::move(func));
}

StatusOr<PrimFunc> RemoveStoreUndef(PrimFunc func) {
  func.body = UndefRemover{}(func.body);
  if (UsesUndef(func.body))
    return InvalidArgument(fmt::format(
        "remove_store_undef @{}: T.undef() may be stored only; here it is part of an index or a condition", func.name));
  return RemoveNoOp(std::move(func));
}

}  // namespace lathe
