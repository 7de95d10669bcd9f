#include "compiler/transform/spell_out_calls.h"

#include "compiler/ir/dot_call.h"
#include "compiler/ir/plain_call.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class Speller : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    return AsDotInstruction(visited) ? visited : PlainCall(visited).value_or(visited);
  }
};

}  // namespace

PrimFunc SpellOutCalls(PrimFunc func) {
  func.body = Speller{}(func.body);
  return func;
}

}  // namespace lathe
