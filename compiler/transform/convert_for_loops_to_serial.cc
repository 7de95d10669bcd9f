#include "compiler/transform/convert_for_loops_to_serial.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class SerialLoopMaker : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    Stmt visited = StmtExprMutator::VisitFor(self, loop);
    if (loop.kind != ForKind::kParallel) return visited;
    visited.Mutable<For>().kind = ForKind::kSerial;
    return visited;
  }
};

}  // namespace

PrimFunc ConvertForLoopsToSerial(PrimFunc func) {
  func.body = SerialLoopMaker{}(func.body);
  return func;
}

}  // namespace lathe
