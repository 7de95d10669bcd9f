#include "compiler/relax/transform/legalize_ops.h"

#include <fmt/format.h>

#include "compiler/relax/op.h"
#include "compiler/relax/slices.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {

StatusOr<IRModule> LegalizeOps(IRModule module) {
  PrimFuncTable table(module);
  const auto rewrite = [&](const Binding& original, const Expr& value, BlockBuilder&) -> StatusOr<Expr> {
    const Call* call = value.As<Call>();
    if (call == nullptr || call->op == nullptr || call->op == &CallTirOp()) return value;
    if (IsView(*call))
      return MakeCall("reshape", {call->args[0], MakeShape(*value.struct_info().As<TensorStructInfo>()->shape)});
    if (call->op->legalize == nullptr) {
      return InternalError(fmt::format("LegalizeOps {}: {} has no kernel; run SimplifyInference before",
                                       original.var.name(), call->op->name));
    }
    ASSIGN_OR_RETURN(PrimFunc func, call->op->legalize(*call, value.struct_info()));
    return MakeCallTir(table.Add(std::move(func)), KernelArgs(*call), value.struct_info(),
                       SliceAttrs(*call, value.struct_info()));
  };
  for (Function& func : module.functions) {
    ASSIGN_OR_RETURN(func, RewriteBindings(func, rewrite));
  }
  return module;
}

}  // namespace lathe::relax
