#include "compiler/transform/return_by_buffer.h"

#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Buffer MemoryFor(DataType type) {
  BufferNode node;
  node.name = kReturnParam;
  node.dtype = type;
  node.shape = {Expr(1)};
  return Buffer(std::move(node));
}

class ReturnStorer : public StmtExprMutator {
 public:
  std::optional<Buffer> memory;
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const Expr* value = ReturnedBy(stmt)) return Returned(stmt, *value);
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const Seq* seq = visited.As<Seq>();
    return seq == nullptr || visited.same_as(stmt) ? visited : MakeSeq(seq->stmts);
  }
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const bool is_ordered = loop.kind == ForKind::kSerial || loop.kind == ForKind::kUnrolled;
    const std::string outer = is_ordered ? concurrent_ : std::exchange(concurrent_, loop.loop_var.name());
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    concurrent_ = outer;
    return visited;
  }

 private:
  Stmt Returned(const Stmt& stmt, const Expr& value) {
    if (value.dtype().code == DataType::Code::kHandle || !value.dtype().is_scalar()) return stmt;  // Has no code.
    if (!memory) memory = MemoryFor(value.dtype());
    Check(value.dtype());
    return Seq{{BufferStore{*memory, value, {Expr(0)}}, Evaluate{MakeCall(DataType::Int(32), "ret", {Expr(0)})}}};
  }
  void Check(DataType type) {
    if (!status.ok()) return;
    if (type != (*memory)->dtype)
      status =
          InvalidArgument(fmt::format("T.ret of {} and of {}; cast one", (*memory)->dtype.ToString(), type.ToString()));
    else if (!concurrent_.empty())
      status = InvalidArgument(
          fmt::format("T.ret inside of loop \"{}\", whose iterations run side by side; make it serial", concurrent_));
  }
  std::string concurrent_;  // The innermost loop around that has no order.
};

bool HasReturnParam(const PrimFunc& func) {
  return !func.buffer_map.empty() && func.buffer_map.back().buffer->name == kReturnParam;
}

}  // namespace

const Expr* ReturnedBy(const Stmt& stmt) {
  const Evaluate* evaluate = stmt.As<Evaluate>();
  const Call* call = evaluate == nullptr ? nullptr : evaluate->value.As<Call>();
  return call != nullptr && call->op->name == "ret" && call->args.size() == 1 ? &call->args[0] : nullptr;
}

StatusOr<PrimFunc> ReturnByBuffer(PrimFunc func) {
  if (HasReturnParam(func)) return func;
  ReturnStorer rewriter;
  Stmt body = rewriter(func.body);
  if (!rewriter.status.ok()) return rewriter.status.WithContext(fmt::format("return_by_buffer @{}", func.name));
  if (!rewriter.memory) return func;
  func.body = std::move(body);
  func.params.push_back(Var(fmt::format("{}_handle", kReturnParam), DataType::Handle()));
  func.buffer_map.push_back({func.params.back(), *rewriter.memory});
  func.ret_type.reset();
  return func;
}

}  // namespace lathe
