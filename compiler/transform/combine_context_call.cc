#include "compiler/transform/combine_context_call.h"

#include <unordered_set>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/fact_mutator.h"

namespace lathe {
namespace {

class ContextCombiner : public StmtExprMutator {
 public:
  Stmt WithCaches(const Stmt& body) { return InLets(VisitStmt(body)); }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const For* loop = stmt.As<For>();
    if (loop != nullptr && loop->kind == ForKind::kParallel) return InThread(stmt, loop->loop_var, &For::body);
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr && (attr->attr_key == "thread_extent" || attr->attr_key == "coproc_uop_scope")) {
      const IterVar* axis = std::get_if<IterVar>(&attr->node);
      return InThread(stmt, axis == nullptr ? std::nullopt : std::optional(axis->var), &AttrStmt::body);
    }
    return StmtExprMutator::VisitStmt(stmt);
  }
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Call* call = AsCall(visited, "tvm_thread_context");
    return call != nullptr ? CacheOf(call->args[0]) : visited;
  }
  Var VisitVarDef(const Var& var) override {
    inner_.insert(var.get());
    return var;
  }

 private:
  struct Cache {
    Var var;
    Expr value;
  };

  // A thread of its own: what the threads outside know is of those.
  template <typename Node>
  Stmt InThread(const Stmt& self, const std::optional<Var>& own, Stmt Node::* body) {
    std::vector<Cache> caches;
    std::unordered_set<const ExprNode*> inner;
    std::swap(caches, caches_);
    std::swap(inner, inner_);
    const Stmt inside = WithCaches(self.As<Node>()->*body);
    std::swap(caches, caches_);
    std::swap(inner, inner_);
    if (own) inner_.insert(own->get());
    if (inside.same_as(self.As<Node>()->*body)) return self;
    Node node = *self.As<Node>();
    node.*body = inside;
    return node;
  }

  Expr CacheOf(const Expr& value) {
    for (const Cache& cache : caches_) {
      if (StructuralEqual(cache.value, value)) return cache.var;
    }
    if (HasLoad(value) || UsesVar(value, [&](const ExprNode* var) { return inner_.contains(var); })) return value;
    const Call* call = value.As<Call>();
    const std::string name = call == nullptr ? "ctx_cache_" : std::string(call->op->name) + "_cache";
    caches_.push_back({Var(name, value.dtype()), value});
    return caches_.back().var;
  }
  Stmt InLets(Stmt body) const {
    for (size_t i = caches_.size(); i-- > 0;) body = LetStmt{caches_[i].value, caches_[i].var, body};
    return body;
  }

  std::vector<Cache> caches_;                  // Of the thread around.
  std::unordered_set<const ExprNode*> inner_;  // Variables that begin after it.
};

}  // namespace

PrimFunc CombineContextCall(PrimFunc func) {
  func.body = ContextCombiner{}.WithCaches(func.body);
  return func;
}

}  // namespace lathe
