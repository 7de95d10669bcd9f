#include "compiler/transform/widen_index_to_int64.h"

#include <utility>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

bool IsInt32(DataType type) { return type.element() == DataType::Int(32); }
DataType AsWideType(DataType type) { return IsInt32(type) ? DataType::Int(64).shaped_as(type) : type; }
Expr AsWide(const Expr& e) {
  const int64_t* value = AsIntConst(e);
  if (!IsInt32(e.dtype())) return e;
  return value != nullptr ? IntConst(AsWideType(e.dtype()), *value) : MakeCast(AsWideType(e.dtype()), e);
}
bool ComparesNumbers(BinaryOp op) { return op >= BinaryOp::kEQ && op <= BinaryOp::kGE; }

class IndexWidener : public StmtExprMutator {
 public:
  Var VisitVarDef(const Var& var) override {
    if (!IsInt32(var.dtype())) return var;
    const bool is_size = var.As<VarName>()->is_size;
    const Var wide =
        is_size ? Var::Size(var.name(), AsWideType(var.dtype())) : Var(var.name(), AsWideType(var.dtype()));
    return Var(vars_.insert_or_assign(var.get(), wide).first->second);
  }
  Buffer VisitBufferDef(const Buffer& buffer) override {
    BufferNode node = *buffer;
    const bool was = std::exchange(in_index_, true);
    for (Expr& extent : node.shape) extent = VisitExpr(extent);
    for (Expr& stride : node.strides) stride = VisitExpr(stride);
    if (!IsConstInt(node.elem_offset, 0)) node.elem_offset = VisitExpr(node.elem_offset);
    in_index_ = was;
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }

 protected:
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    if (found != vars_.end()) return found->second;
    // Nobody defines the variables of shapes.
    return VisitVarDef(Var(var));
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    const bool is_let = stmt.As<LetStmt>() != nullptr;
    if (is_let) return VisitLet(*stmt.As<LetStmt>());
    const bool was = in_index_;
    in_index_ = stmt.As<Evaluate>() == nullptr;
    Stmt visited = StmtExprMutator::VisitStmt(stmt);
    in_index_ = was;
    return visited;
  }
  Stmt VisitBufferStore(const Stmt&, const BufferStore& store) override {
    BufferStore copy = store;
    copy.buffer = VisitBufferUse(store.buffer);
    for (Expr& index : copy.indices) index = VisitExpr(index);
    const Expr value = AsValue(store.value);
    copy.value = MakeCast(store.value.dtype(), value);
    return copy;
  }
  Expr VisitExpr(const Expr& e) override {
    if (in_index_ && e.As<IntImm>() != nullptr) return AsWide(e);
    if (const Binary* op = e.As<Binary>()) return VisitBinary(*op);
    if (const Select* select = e.As<Select>()) {
      auto [yes, no] = Matched(VisitExpr(select->true_value), VisitExpr(select->false_value));
      return Expr::Make(yes.dtype(), Select{AsIndex(select->condition), yes, no});
    }
    if (const Call* call = e.As<Call>()) return VisitCall(e, *call);
    if (const Let* let = e.As<Let>()) {
      const Expr value = MakeCast(let->value.dtype(), AsValue(let->value));
      vars_.insert_or_assign(let->var.get(), let->var);
      const Expr body = VisitExpr(let->body);
      return Expr::Make(body.dtype(), Let{value, let->var, body});
    }
    if (const Ramp* ramp = e.As<Ramp>()) {
      auto [base, stride] = Matched(VisitExpr(ramp->base), VisitExpr(ramp->stride));
      return Expr::Make(base.dtype().element().shaped_as(e.dtype()), Ramp{base, stride, ramp->lanes});
    }
    if (const Broadcast* broadcast = e.As<Broadcast>()) {
      const Expr value = VisitExpr(broadcast->value);
      return Expr::Make(value.dtype().element().shaped_as(e.dtype()), Broadcast{value, broadcast->lanes});
    }
    if (const Cast* cast = e.As<Cast>()) return MakeCast(e.dtype(), AsValue(cast->value));
    return StmtExprMutator::VisitExpr(e);
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const bool was = std::exchange(in_index_, true);
    Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    in_index_ = was;
    return visited;
  }

 private:
  Expr AsIndex(const Expr& e) { return In(true, e); }
  Expr AsValue(const Expr& e) { return In(false, e); }
  Expr In(bool in_index, const Expr& e) {
    const bool was = std::exchange(in_index_, in_index);
    Expr visited = VisitExpr(e);
    in_index_ = was;
    return visited;
  }
  static std::pair<Expr, Expr> Matched(Expr a, Expr b) {
    if (a.dtype().element() != b.dtype().element()) MatchTypes(a, b);
    return {a, b};
  }
  Expr VisitBinary(const Binary& op) {
    auto [a, b] = Matched(VisitExpr(op.a), VisitExpr(op.b));
    if (in_index_ && ComparesNumbers(op.op)) {
      a = AsWide(a);
      b = AsWide(b);
    }
    return MakeBinary(op.op, a, b);
  }
  Expr VisitCall(const Expr& self, const Call& call) {
    Call copy = call;
    for (Expr& arg : copy.args) arg = AsValue(arg);
    if (call.op->name == "if_then_else") {
      copy.args[0] = AsIndex(call.args[0]);
      std::tie(copy.args[1], copy.args[2]) = Matched(copy.args[1], copy.args[2]);
      const DataType type = copy.args[1].dtype();
      return Expr::Make(type, std::move(copy));
    }
    const bool is_of_first = call.op->result == OpResult::kFirst && !copy.args.empty();
    if (!is_of_first) return Expr::Make(self.dtype(), std::move(copy));
    for (size_t round = 0; round < 2; ++round)
      for (size_t i = 1; i < copy.args.size(); ++i)
        std::tie(copy.args[0], copy.args[i]) = Matched(copy.args[0], copy.args[i]);
    const DataType type = copy.args[0].dtype();
    return Expr::Make(type, std::move(copy));
  }
  // The variable keeps the type of its value.
  Stmt VisitLet(const LetStmt& let) {
    const Expr value = MakeCast(let.value.dtype(), AsValue(let.value));
    vars_.insert_or_assign(let.var.get(), let.var);
    return LetStmt{value, let.var, VisitStmt(let.body)};
  }

  bool in_index_ = true;
  VarMap vars_;
  BufferMap buffers_;
};

}  // namespace

PrimFunc WidenIndexToInt64(PrimFunc func) {
  IndexWidener widener;
  for (Var& param : func.params) param = widener.VisitVarDef(param);
  for (ParamBuffer& entry : func.buffer_map) entry.buffer = widener.VisitBufferDef(entry.buffer);
  func.body = widener(func.body);
  return func;
}

}  // namespace lathe
