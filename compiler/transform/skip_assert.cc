#include "compiler/transform/skip_assert.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class AssertRemover : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AssertStmt* assertion = stmt.As<AssertStmt>();
    return assertion != nullptr ? VisitStmt(assertion->body) : StmtExprMutator::VisitStmt(stmt);
  }
};

}  // namespace

PrimFunc SkipAssert(PrimFunc func) {
  func.body = AssertRemover{}(func.body);
  return func;
}

}  // namespace lathe
