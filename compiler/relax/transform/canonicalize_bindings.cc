#include "compiler/relax/transform/canonicalize_bindings.h"

#include "compiler/relax/op.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// Every view is a reshape of what is no view; a reshape to the same shape is the tensor itself.
StatusOr<Expr> CanonicalizeView(const Call& view, const StructInfo& result, const BlockBuilder& builder) {
  Expr source = view.args[0];
  if (const Expr* producer = builder.Lookup(source)) {
    const Call* call = producer->As<Call>();
    if (call != nullptr && IsView(*call)) source = call->args[0];
  }
  if (Equal(source.struct_info(), result)) return source;
  return MakeCall("reshape", {source, MakeShape(*result.As<TensorStructInfo>()->shape)});
}

}  // namespace

StatusOr<IRModule> CanonicalizeBindings(IRModule module) {
  for (Function& func : module.functions) {
    ASSIGN_OR_RETURN(
        func, RewriteBindings(func, [](const Binding&, const Expr& value, BlockBuilder& builder) -> StatusOr<Expr> {
          const Call* call = value.As<Call>();
          return call != nullptr && IsView(*call) ? CanonicalizeView(*call, value.struct_info(), builder) : value;
        }));
  }
  return module;
}

}  // namespace lathe::relax
