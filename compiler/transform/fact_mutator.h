// A mutator that knows what stands around: the domains of loops, threads and block iter vars, and conditions.
#pragma once

#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"

namespace lathe {

class FactMutator : public StmtExprMutator {
 protected:
  // Override the methods for kinds of statements; this one learns, and forgets at the statement's end.
  Stmt VisitStmt(const Stmt& stmt) override;

  Simplifier facts_;

 private:
  void Learn(const Stmt& stmt);
  Stmt VisitBranches(const Stmt& self, const IfThenElse& branch);
};

}  // namespace lathe
