#include "compiler/relax/transform/fold_constant.h"

#include "compiler/relax/evaluate.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {

StatusOr<IRModule> FoldConstant(IRModule module) {
  EvaluationBudget budget;
  for (Function& func : module.functions) {
    ASSIGN_OR_RETURN(
        func, RewriteBindings(func, [&](const Binding&, const Expr& value, BlockBuilder&) -> StatusOr<Expr> {
          const Call* call = value.As<Call>();
          if (call == nullptr) return value;
          ASSIGN_OR_RETURN(std::optional<TensorData> data, EvaluateCall(*call, value.struct_info(), budget));
          return data ? MakeConstant(*std::move(data)) : value;
        }));
  }
  return module;
}

}  // namespace lathe::relax
