#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "compiler/transform/narrow_data_type.h"

namespace lathe {
namespace {

bool IsWide(DataType type) { return type.element() == DataType::Int(64); }
DataType Narrow(DataType type) { return IsWide(type) ? DataType::Int(32).shaped_as(type) : type; }

class Narrower : public StmtExprMutator {
 public:
  Status status() const { return status_; }
  Var VisitVarDef(const Var& var) override {
    if (!IsWide(var.dtype())) return var;
    const bool is_size = var.As<VarName>()->is_size;
    const DataType type = Narrow(var.dtype());
    const Var narrow = is_size ? Var::Size(var.name(), type) : Var(var.name(), type);
    return Var(vars_.insert_or_assign(var.get(), narrow).first->second);
  }
  Buffer VisitBufferDef(const Buffer& buffer) override {
    if (IsWide(buffer->dtype))
      status_ = InvalidArgument(fmt::format(
          "force_narrow_index_to_int32: buffer {} holds int64, which cannot be told from indices", buffer->name));
    BufferNode node = MapDims(buffer, [this](const Expr& e) { return VisitExpr(e); }).value_or(*buffer);
    return buffers_.insert_or_assign(buffer.get(), Buffer(std::move(node))).first->second;
  }

 protected:
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found != vars_.end() ? found->second : IsWide(var.dtype()) ? VisitVarDef(Var(var)) : var;
  }
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    if (!IsWide(visited.dtype()) || IsVar(visited)) return visited;
    if (const IntImm* number = visited.As<IntImm>()) CheckFits(number->value);
    const Cast* cast = visited.As<Cast>();
    if (cast != nullptr && cast->value.dtype() == Narrow(visited.dtype())) return cast->value;
    return VisitNode(visited, [&](const auto& node) { return Expr::Make(Narrow(visited.dtype()), node); });
  }

 private:
  void CheckFits(int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) return;
    status_ = InvalidArgument(fmt::format("force_narrow_index_to_int32: {} is no int32", value));
  }
  VarMap vars_;
  BufferMap buffers_;
  Status status_;
};

}  // namespace

StatusOr<PrimFunc> ForceNarrowIndexToInt32(PrimFunc func) {
  Narrower narrower;
  for (Var& param : func.params) param = narrower.VisitVarDef(param);
  for (ParamBuffer& entry : func.buffer_map) entry.buffer = narrower.VisitBufferDef(entry.buffer);
  func.body = narrower(func.body);
  if (!narrower.status().ok()) return narrower.status();
  return func;
}

}  // namespace lathe
