#include "compiler/transform/skip_assert.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class AssertRemover : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (stmt.As<AssertStmt>() != nullptr) return Evaluate{0};
    const Seq* seq = stmt.As<Seq>();
    if (seq == nullptr) return StmtExprMutator::VisitStmt(stmt);
    std::vector<Stmt> kept;
    for (const Stmt& part : seq->stmts)
      if (part.As<AssertStmt>() == nullptr) kept.push_back(VisitStmt(part));
    return kept.empty() ? Stmt(Evaluate{0}) : MakeSeq(std::move(kept));
  }
};

}  // namespace

PrimFunc SkipAssert(PrimFunc func) {
  func.body = AssertRemover{}(func.body);
  return func;
}

}  // namespace lathe
