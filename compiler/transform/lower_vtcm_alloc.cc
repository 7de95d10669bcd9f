#include "compiler/transform/lower_vtcm_alloc.h"

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr char kVtcm[] = "global.vtcm";

class VtcmLowerer : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (const Allocate* memory = visited.As<Allocate>(); memory != nullptr && ScopeOf(memory->buffer_var) == kVtcm)
      return FromRuntime(memory->buffer_var, memory->extents, memory->body);
    if (const AllocBuffer* memory = visited.As<AllocBuffer>();
        memory != nullptr && ScopeOf(memory->buffer->data) == kVtcm)
      return FromRuntime(memory->buffer->data, memory->buffer->shape, DeclBuffer{memory->buffer, memory->body});
    return visited;
  }

 private:
  static Stmt FromRuntime(const Var& data, const std::vector<Expr>& extents, const Stmt& body) {
    const Expr scope = Expr::Make(DataType::Handle(), StringImm{kVtcm});
    const Expr rank = IntConst(DataType::Int(64), static_cast<int64_t>(extents.size()));
    const Expr shape = MakeCall(DataType::Handle(), "tvm_stack_make_shape", extents);
    return LetStmt{MakeCall(DataType::Handle(), "nd_mem_alloc_with_scope", {scope, rank, shape}), data, body};
  }
};

}  // namespace

PrimFunc LowerVtcmAlloc(PrimFunc func) {
  func.body = VtcmLowerer{}(func.body);
  return func;
}

}  // namespace lathe
