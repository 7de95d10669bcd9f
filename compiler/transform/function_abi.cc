#include "compiler/transform/function_abi.h"

#include <fmt/format.h>

#include <set>

#include "compiler/ir/visitor.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class CallReplacer : public StmtExprMutator {
 public:
  CallReplacer(const std::set<std::string>& callees, const CallMaker& make) : callees_(callees), make_(make) {}

 protected:
  Expr VisitExpr(const Expr& expr) override {
    const Expr visited = StmtExprMutator::VisitExpr(expr);
    const FuncCall* call = visited.As<FuncCall>();
    return call == nullptr || !callees_.contains(call->callee) ? visited : make_(*call, visited.dtype());
  }

 private:
  const std::set<std::string>& callees_;
  const CallMaker& make_;
};

}  // namespace

bool NeedsApi(const PrimFunc& func) {
  const auto convention = func.attrs.find("calling_conv");
  return !func.is_private && (convention == func.attrs.end() || convention->second == Attr(0));
}

StatusOr<AttrMap> TargetForApi(const PrimFunc& func, const char* pass) {
  const AttrMap* target = TargetOf(func.attrs);
  if (target != nullptr) return *target;
  return InvalidArgument(fmt::format(
      "{} required the function to be annotated with tvm::attr::kTarget (target): @{} has none. Require the "
      "target attribute; run BindTarget before",
      pass, func.name));
}

StatusOr<IRModule> WithApi(IRModule module, const CallMaker& call, const ApiMaker& make) {
  std::set<std::string> callees;
  for (const PrimFunc& func : module.prim_funcs)
    if (NeedsApi(func)) callees.insert(func.name);
  CallReplacer replacer(callees, call);
  for (PrimFunc& func : module.prim_funcs) {
    func.body = replacer(func.body);
    if (!NeedsApi(func)) continue;
    ASSIGN_OR_RETURN(func, make(std::move(func)));
  }
  return module;
}

}  // namespace lathe
