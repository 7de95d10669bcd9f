#include "compiler/transform/widen_to_float64.h"

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

DataType Widen(DataType type) { return type.is_float() ? DataType::Float(64, type.lanes) : type; }

class Widener : public StmtExprMutator {
 public:
  Var DefineVar(const Var& var) {
    const PointerType* pointer = var.pointer();
    if (pointer != nullptr && pointer->element.is_float()) {
      const Var wide(var.name(), MakePointerType(Widen(pointer->element), pointer->scope));
      return Var(vars_.insert_or_assign(var.get(), wide).first->second);
    }
    if (!var.dtype().is_float()) return var;
    return Var(vars_.insert_or_assign(var.get(), Var(var.name(), Widen(var.dtype()))).first->second);
  }
  Buffer DefineBuffer(const Buffer& buffer) {
    if (!buffer->dtype.is_float()) return buffer;
    BufferNode node = *buffer;
    node.dtype = Widen(node.dtype);
    const auto known = vars_.find(buffer->data.get());  // A declaration lies over what is wide already.
    const Var data =
        known != vars_.end() ? Var(known->second) : Var(node.data.name(), MakePointerType(node.dtype, node.scope));
    vars_.insert_or_assign(buffer->data.get(), data);
    node.data = data;
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }

 protected:
  Var VisitVarDef(const Var& var) override { return DefineVar(var); }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    Stmt visited = StmtExprMutator::VisitStmt(stmt);
    if (visited.As<Allocate>() != nullptr) {
      Allocate& allocate = visited.Mutable<Allocate>();
      allocate.dtype = Widen(allocate.dtype);
    }
    if (visited.As<AllocateConst>() != nullptr) {
      AllocateConst& allocate = visited.Mutable<AllocateConst>();
      allocate.dtype = Widen(allocate.dtype);
    }
    return visited;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override { return DefineBuffer(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }
  Expr VisitExpr(const Expr& e) override {
    if (IsVar(e)) return VisitVar(Var(e));
    if (const FloatImm* imm = e.As<FloatImm>()) return FloatConst(DataType::Float(64), imm->value);
    const Call* call = e.As<Call>();
    if (call != nullptr && call->op->name == "reinterpret") return WidenReinterpret(e, *call);
    // Limits of the narrow type stay what they are: they stand for "less than everything".
    if (call != nullptr && e.dtype().is_float() && (call->op->name == "min_value" || call->op->name == "max_value"))
      return MakeCast(Widen(e.dtype()), e);
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Cast* cast = visited.As<Cast>();
    if (cast != nullptr && cast->value.dtype() == Widen(e.dtype())) return cast->value;
    if (!e.dtype().is_float() || visited.dtype() == Widen(e.dtype())) return visited;
    return VisitNode(visited, [&](const auto& node) { return Expr::Make(Widen(e.dtype()), node); });
  }

 private:
  Expr WidenReinterpret(const Expr& e, const Call& call) {
    const Expr arg = MakeCast(call.args[0].dtype(), VisitExpr(call.args[0]));
    return MakeCast(Widen(e.dtype()), Expr::Make(e.dtype(), Call{call.op, {arg}}));
  }
  VarMap vars_;
  BufferMap buffers_;
};

}  // namespace

PrimFunc WidenToFloat64(const PrimFunc& func) {
  Widener widener;
  PrimFunc wide = func;
  for (Var& param : wide.params) param = widener.DefineVar(param);
  for (ParamBuffer& entry : wide.buffer_map) entry.buffer = widener.DefineBuffer(entry.buffer);
  wide.body = widener(func.body);
  return wide;
}

}  // namespace lathe
