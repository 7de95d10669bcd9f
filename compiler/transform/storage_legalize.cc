#include "compiler/transform/storage_legalize.h"

#include <fmt/format.h>

#include "compiler/ir/memory.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/compute_legalize.h"
#include "compiler/transform/float_conversion.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class StorageLegalizer : public StmtExprMutator {
 public:
  explicit StorageLegalizer(bool (*is_narrow)(DataType)) : is_narrow_(is_narrow) {}
  Status status;
  using StmtExprMutator::VisitVarDef;
  Var Redefined(const Var& var) { return VisitVarDef(var); }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const Allocate* alloc = visited.As<Allocate>();
    if (alloc == nullptr || !is_narrow_(alloc->dtype)) return visited;
    Allocate copy = *alloc;
    copy.dtype = UIntOf(copy.dtype);
    return copy;
  }
  // Uses may come before definitions are seen: the fields of a node are not in the order of its text.
  Var VisitVarDef(const Var& var) override { return Var(VisitVar(var)); }
  Expr VisitVar(const Expr& use) override {
    const Var var(use);
    if (is_narrow_(var.dtype())) Refuse(fmt::format("variable \"{}\"", var.name()));
    if (var.pointer() == nullptr || !is_narrow_(var.pointer()->element)) return use;
    const auto [found, is_new] = vars_.try_emplace(var.get(), use);
    if (is_new) found->second = Var(var.name(), MakePointerType(UIntOf(var.pointer()->element), var.pointer()->scope));
    return found->second;
  }
  Buffer VisitBufferDecl(const Buffer& buffer) override { return VisitBufferUse(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const Var data(VisitVar(buffer->data));
    if (data.same_as(buffer->data) && !is_narrow_(buffer->dtype)) return buffer;
    const auto [found, is_new] = buffers_.try_emplace(buffer.get(), buffer);
    if (is_new) {
      BufferNode node = *buffer;
      if (is_narrow_(node.dtype)) node.dtype = UIntOf(node.dtype);
      node.data = data;
      found->second = Buffer(std::move(node));
    }
    return found->second;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    return is_narrow_(self.dtype()) ? Expr::Make(UIntOf(self.dtype()), *visited.As<BufferLoad>()) : visited;
  }
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Call* call = visited.As<Call>();
    if (call != nullptr && call->op->name == "reinterpret") return Reinterpreted(visited, *call);
    if (call != nullptr && call->op->name == "type_annotation" && is_narrow_(e.dtype()))
      return MakeCall(UIntOf(e.dtype()), "type_annotation", {});
    if (is_narrow_(visited.dtype())) Refuse("an expression");
    return visited;
  }

 private:
  Expr Reinterpreted(const Expr& self, const Call& call) const {
    const DataType type = is_narrow_(self.dtype()) ? UIntOf(self.dtype()) : self.dtype();
    if (call.args[0].dtype() == type) return call.args[0];
    return type == self.dtype() ? self : MakeCall(type, "reinterpret", call.args);
  }
  void Refuse(const std::string& what) {
    if (status.ok())
      status = InvalidArgument("StorageLegalize: " + what +
                               " still computes with the type; run BF16ComputeLegalize or FP8ComputeLegalize before");
  }

  bool (*const is_narrow_)(DataType);
  VarMap vars_;
  BufferMap buffers_;
};

StatusOr<PrimFunc> StorageLegalized(PrimFunc func, bool (*is_narrow)(DataType)) {
  if (!func.buffer_map.empty())
    return InvalidArgument(fmt::format(
        "StorageLegalize @{}: This pass must be called after MakePackedAPI: parameters stand for buffers", func.name));
  StorageLegalizer legalizer(is_narrow);
  for (Var& param : func.params) param = legalizer.Redefined(param);
  Stmt body = legalizer(SplitAllocBuffers(func.body));
  RETURN_IF_ERROR(legalizer.status);
  func.body = std::move(body);
  return func;
}

}  // namespace

StatusOr<PrimFunc> BF16StorageLegalize(PrimFunc func) {
  if (ComputesWithBF16(func)) return func;
  return StorageLegalized(std::move(func), [](DataType type) { return type.code == DataType::Code::kBFloat; });
}

StatusOr<PrimFunc> FP8StorageLegalize(PrimFunc func) {
  if (ComputesWithFP8(func)) return func;
  return StorageLegalized(std::move(func), [](DataType type) { return type.is_narrow_float() && type.bits == 8; });
}

}  // namespace lathe
