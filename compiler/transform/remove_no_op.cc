#include "compiler/transform/remove_no_op.h"

#include <algorithm>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// No effect; loads count as pure, and so does a division, as a program without faults has no other.
bool IsPure(const Expr& e) {
  bool is_pure = true;
  PostOrderVisit(e, [&](const Expr& part) {
    if (const Call* call = part.As<Call>()) is_pure &= call->op->is_pure;
  });
  return is_pure;
}

bool IsNoOp(const Stmt& stmt) {
  const Evaluate* evaluate = stmt.As<Evaluate>();
  return evaluate != nullptr && IsPure(evaluate->value);
}
Stmt NoOp() { return Evaluate{Expr(0)}; }

bool UsesData(const Stmt& body, const Buffer& buffer) { return UsesVar(body, buffer->data.get()); }
bool Accesses(const Stmt& body, const Buffer& buffer) {
  bool is_used = false;
  const std::function<void(const Stmt&)> on_stmt = [&](const Stmt& stmt) {
    if (const BufferStore* store = stmt.As<BufferStore>()) is_used |= store->buffer.same_as(buffer);
  };
  const std::function<void(const Expr&)> on_expr = [&](const Expr& e) {
    if (const BufferLoad* load = e.As<BufferLoad>()) is_used |= load->buffer.same_as(buffer);
  };
  PostOrderVisit(body, on_stmt);
  PostOrderVisit(body, on_expr);
  return is_used;
}

class NoOpRemover : public StmtExprMutator {
 protected:
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    return StoresWhatIsThere(store) ? NoOp() : self;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const Seq* seq = stmt.As<Seq>()) return VisitSeq(*seq);
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (const IfThenElse* branch = visited.As<IfThenElse>()) return SimplifyIf(visited, *branch);
    if (const LetStmt* let = visited.As<LetStmt>()) {
      const ExprNode* var = let->var.get();
      if (IsNoOp(let->body)) return EffectsOf({let->value});
      const bool is_used = !IsPure(let->value) || UsesVar(let->body, var);
      return is_used ? visited : let->body;
    }
    if (const AttrStmt* attr = visited.As<AttrStmt>()) return IsOfNothing(*attr) ? EffectsOf({attr->value}) : visited;
    if (const DeclBuffer* declaration = visited.As<DeclBuffer>())
      return Accesses(declaration->body, declaration->buffer) ? visited : declaration->body;
    if (const AllocBuffer* allocate = visited.As<AllocBuffer>()) {
      const bool is_used = Accesses(allocate->body, allocate->buffer) || UsesData(allocate->body, allocate->buffer);
      return is_used ? visited : allocate->body;
    }
    return visited;
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const int64_t* extent = AsIntConst(loop.extent);
    if (extent != nullptr && *extent <= 0) return NoOp();
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    return IsNoOp(visited.As<For>()->body) ? EffectsOf({loop.min, loop.extent}) : visited;
  }

 private:
  Stmt VisitSeq(const Seq& seq) {
    std::vector<Stmt> kept;
    for (const Stmt& stmt : seq.stmts) {
      const Stmt visited = VisitStmt(stmt);
      if (!IsNoOp(visited)) kept.push_back(visited);
    }
    return kept.empty() ? NoOp() : MakeSeq(std::move(kept));
  }
  // To wait is an effect of its own.
  static bool IsOfNothing(const AttrStmt& attr) { return IsNoOp(attr.body) && !attr.attr_key.starts_with("async_"); }
  // What is left of values that nobody uses.
  static Stmt EffectsOf(const std::vector<Expr>& values) {
    std::vector<Stmt> kept;
    for (const Expr& value : values)
      if (!IsPure(value)) kept.push_back(Evaluate{value});
    return kept.empty() ? NoOp() : MakeSeq(std::move(kept));
  }
  static Stmt SimplifyIf(const Stmt& self, const IfThenElse& branch) {
    if (const int64_t* known = AsIntConst(branch.condition))
      return *known != 0 ? branch.then_case : branch.else_case.value_or(NoOp());
    if (!IsPure(branch.condition)) {
      const bool is_empty = IsNoOp(branch.then_case) && (!branch.else_case || IsNoOp(*branch.else_case));
      return is_empty ? Stmt(Evaluate{branch.condition}) : self;
    }
    const bool has_else = branch.else_case && !IsNoOp(*branch.else_case);
    if (!IsNoOp(branch.then_case))
      return has_else || !branch.else_case ? self : Stmt(IfThenElse{branch.condition, branch.then_case, std::nullopt});
    return has_else ? Stmt(IfThenElse{MakeNot(branch.condition), *branch.else_case, std::nullopt}) : NoOp();
  }
};

}  // namespace

bool IsNothing(const Stmt& stmt) {
  const Evaluate* evaluate = stmt.As<Evaluate>();
  return evaluate != nullptr && evaluate->value.As<IntImm>() != nullptr;
}

bool StoresWhatIsThere(const BufferStore& store) {
  const BufferLoad* load = store.value.As<BufferLoad>();
  if (load == nullptr || store.predicate || load->predicate || !load->buffer.same_as(store.buffer)) return false;
  return std::equal(load->indices.begin(), load->indices.end(), store.indices.begin(), store.indices.end(),
                    [](const Expr& a, const Expr& b) { return IsPure(a) && StructuralEqual(a, b); });
}

PrimFunc RemoveNoOp(PrimFunc func) {
  func.body = NoOpRemover{}(func.body);
  return func;
}

}  // namespace lathe
