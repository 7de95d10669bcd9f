#include "compiler/transform/simplify.h"

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/fact_mutator.h"
#include "compiler/transform/remove_no_op.h"

namespace lathe {
namespace {

// Whether a let of it is written out.
bool IsInlined(const Expr& value) {
  if (value.As<IntImm>() != nullptr || value.As<FloatImm>() != nullptr || IsVar(value)) return true;
  if (!value.dtype().is_int() || HasLoad(value)) return false;
  bool is_pure = true;
  PostOrderVisit(value, [&](const Expr& part) {
    const Call* call = part.As<Call>();
    is_pure &= part.As<FuncCall>() == nullptr && (call == nullptr || call->op->is_pure);
  });
  return is_pure;
}

enum class Removes : uint8_t { kNothing, kLoops, kLets };

// `Facts` is an Analyzer or a Simplifier: what is learnt, and what makes expressions simple.
template <typename Facts, typename Scope>
class StmtSimplifier : public StmtExprMutator {
 public:
  explicit StmtSimplifier(Removes removes, Facts facts = Facts()) : removes_(removes), facts_(std::move(facts)) {}

 protected:
  Expr VisitExpr(const Expr& e) override { return facts_.Simplify(e); }

  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Expr min = VisitExpr(loop.min), extent = VisitExpr(loop.extent);
    const int64_t* count = AsIntConst(extent);
    if (removes_ == Removes::kLoops && count != nullptr && *count <= 0) return Evaluate{Expr(0)};
    if (removes_ == Removes::kLoops && count != nullptr && *count == 1 && loop.kind != ForKind::kThreadBinding &&
        loop.annotations.empty()) {
      return VisitStmt(Substitute(loop.body, {{loop.loop_var.get(), min}}));
    }
    const Scope inside(facts_, loop.loop_var, Range{min, extent});
    const Stmt body = VisitStmt(loop.body);
    if (min.same_as(loop.min) && extent.same_as(loop.extent) && body.same_as(loop.body)) return self;
    For copy = loop;
    copy.min = min;
    copy.extent = extent;
    copy.body = body;
    return copy;
  }

  Stmt VisitStmt(const Stmt& stmt) override {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VisitIf(stmt, *branch);
    if (const Seq* seq = stmt.As<Seq>()) return VisitSeq(stmt, *seq);
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) return VisitAttr(stmt, *attr);
    if (const AssertStmt* assertion = stmt.As<AssertStmt>()) return VisitAssert(stmt, *assertion);
    const LetStmt* let = stmt.As<LetStmt>();
    if (let != nullptr && removes_ == Removes::kLets && IsInlined(let->value))
      return VisitStmt(Substitute(let->body, {{let->var.get(), VisitExpr(let->value)}}));
    return StmtExprMutator::VisitStmt(stmt);
  }

  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    return StoresWhatIsThere(*visited.As<BufferStore>()) ? Stmt(Evaluate{Expr(0)}) : visited;
  }

  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    const Expr predicate = VisitExpr(realize.predicate);
    if (IsConstInt(predicate, 0)) return Evaluate{Expr(0)};
    // TVM's takes no predicate for granted.
    const Scope inside(facts_, std::is_same_v<Facts, Simplifier> ? True() : predicate);
    for (const IterVar& iter : realize.block->iter_vars)
      facts_.Bind(iter.var, Range{VisitExpr(iter.domain.min), VisitExpr(iter.domain.extent)});
    const Stmt visited = StmtExprMutator::VisitBlockRealize(self, realize);
    // Below its own constraint the predicate is true; it has to stay.
    if (visited.same_as(self) && predicate.same_as(realize.predicate)) return self;
    BlockRealize copy = *visited.As<BlockRealize>();
    copy.predicate = predicate;
    return copy;
  }

 private:
  Stmt VisitSeq(const Stmt& self, const Seq& seq) {
    std::vector<Stmt> stmts;
    bool is_changed = false;
    for (const Stmt& stmt : seq.stmts) {
      Stmt visited = VisitStmt(stmt);
      is_changed |= !visited.same_as(stmt);
      if (visited.same_as(stmt) || !IsNothing(visited)) stmts.push_back(std::move(visited));
    }
    if (stmts.empty()) return Evaluate{Expr(0)};
    return is_changed ? MakeSeq(std::move(stmts)) : self;
  }
  // What is asserted holds in the body.
  Stmt VisitAssert(const Stmt& self, const AssertStmt& assertion) {
    if (HasLoad(assertion.condition)) return StmtExprMutator::VisitStmt(self);
    const Expr condition = VisitExpr(assertion.condition);
    const Scope inside(facts_, assertion.condition);
    const Stmt body = VisitStmt(assertion.body);
    if (condition.same_as(assertion.condition) && body.same_as(assertion.body)) return self;
    return AssertStmt{condition, assertion.message, body};
  }

  // Threads that are launched are known by their number.
  Stmt VisitAttr(const Stmt& self, const AttrStmt& attr) {
    const IterVar* axis = std::get_if<IterVar>(&attr.node);
    if (axis == nullptr) return StmtExprMutator::VisitStmt(self);
    const Scope inside(facts_, axis->var, Range{IntConst(attr.value.dtype(), 0), attr.value});
    return StmtExprMutator::VisitStmt(self);
  }
  Stmt VisitIf(const Stmt& self, const IfThenElse& branch) {
    if (!branch.condition.dtype().is_scalar()) return VisitChildren(self);
    const Expr condition = VisitExpr(branch.condition);
    if (const int64_t* known = AsIntConst(condition)) {
      if (*known != 0) return VisitStmt(branch.then_case);
      return branch.else_case ? VisitStmt(*branch.else_case) : Stmt(Evaluate{Expr(0)});
    }
    const Stmt then_case = VisitUnder(condition, branch.then_case);
    std::optional<Stmt> else_case;
    if (branch.else_case) else_case = VisitUnder(MakeNot(condition), *branch.else_case);
    if (condition.same_as(branch.condition) && then_case.same_as(branch.then_case) &&
        (!else_case || else_case->same_as(*branch.else_case)))
      return self;
    return IfThenElse{condition, then_case, else_case};
  }
  // What a condition says about memory may end with the next store.
  Stmt VisitUnder(const Expr& condition, const Stmt& stmt) {
    if (HasLoad(condition)) return VisitStmt(stmt);
    const Scope inside(facts_, condition);
    return VisitStmt(stmt);
  }

  const Removes removes_;
  Facts facts_;
};
using PlainSimplifier = StmtSimplifier<Analyzer, FactScope>;

}  // namespace

PrimFunc Simplify(PrimFunc func) {
  func.body = PlainSimplifier(Removes::kNothing)(func.body);
  return func;
}

PrimFunc SimplifyLets(PrimFunc func) {
  func.body = PlainSimplifier(Removes::kLets)(func.body);
  return func;
}

PrimFunc SimplifyAsTvm(PrimFunc func, const SimplifyExtensions& extensions) {
  func.body = StmtSimplifier<Simplifier, Simplifier::Scope>(Removes::kLets, Simplifier(extensions))(func.body);
  return func;
}

PrimFunc SimplifyLoops(PrimFunc func) {
  func.body = PlainSimplifier(Removes::kLoops)(func.body);
  return func;
}

}  // namespace lathe
