#include "compiler/transform/rewrite_unsafe_select.h"

#include <algorithm>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

bool IsUnsafe(const Expr& e);

bool IsUnsafeCall(const Call& call) {
  static const Op* const if_then_else = FindOp("if_then_else");
  if (call.op == if_then_else) return IsUnsafe(call.args[0]);  // Its values are guarded already.
  return !call.op->is_pure || std::any_of(call.args.begin(), call.args.end(), IsUnsafe);
}

bool IsUnsafe(const Expr& e) {
  if (e.As<BufferLoad>() != nullptr || e.As<FuncCall>() != nullptr) return true;
  if (const Call* call = e.As<Call>()) return IsUnsafeCall(*call);
  if (const Binary* op = e.As<Binary>()) return IsUnsafe(op->a) || IsUnsafe(op->b);
  if (const Cast* cast = e.As<Cast>()) return IsUnsafe(cast->value);
  if (const Not* op = e.As<Not>()) return IsUnsafe(op->a);
  if (const Broadcast* op = e.As<Broadcast>()) return IsUnsafe(op->value);
  if (const Ramp* op = e.As<Ramp>()) return IsUnsafe(op->base) || IsUnsafe(op->stride);
  if (const Let* let = e.As<Let>()) return IsUnsafe(let->value) || IsUnsafe(let->body);
  if (const Select* op = e.As<Select>())
    return IsUnsafe(op->condition) || IsUnsafe(op->true_value) || IsUnsafe(op->false_value);
  return false;
}

class SelectRewriter : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Select* op = visited.As<Select>();
    if (op == nullptr || !op->condition.dtype().is_scalar()) return visited;
    if (!IsUnsafe(op->true_value) && !IsUnsafe(op->false_value)) return visited;
    return MakeCall(visited.dtype(), "if_then_else", {op->condition, op->true_value, op->false_value});
  }
};

}  // namespace

PrimFunc RewriteUnsafeSelect(PrimFunc func) {
  func.body = SelectRewriter{}(func.body);
  return func;
}

}  // namespace lathe
