#include "compiler/transform/make_unpacked_api.h"

#include <fmt/format.h>

#include "compiler/transform/function_abi.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

StatusOr<PrimFunc> Unpacked(PrimFunc func) {
  ASSIGN_OR_RETURN(const AttrMap target, TargetForApi(func, "MakeUnpackedAPI"));
  const std::optional<AttrMap> host = HostOf(target);
  if (!host) return func;
  Stmt body = func.body;
  for (size_t i = func.buffer_map.size(); i-- > 0;) body = DeclBuffer{func.buffer_map[i].buffer, std::move(body)};
  if (!func.buffer_map.empty()) {
    body = AttrStmt{"device_type", DeviceTypeOf(KindOf(target)), Attr("default"), std::move(body)};
    body = AttrStmt{"device_id", 0, Attr("default"), std::move(body)};
  }
  for (Var& param : func.params)
    if (const Buffer* buffer = FindBuffer(func, param)) param = (*buffer)->data;
  func.body = std::move(body);
  func.buffer_map.clear();
  func.ret_type = DataType::Int(32);
  func.attrs.insert_or_assign("target", *host);
  return func;
}

}  // namespace

StatusOr<IRModule> MakeUnpackedAPI(IRModule module) {
  const auto call_external = [](const FuncCall& call, DataType type) {
    std::vector<Expr> args = {Expr::Make(DataType::Handle(), StringImm{call.callee})};
    args.insert(args.end(), call.args.begin(), call.args.end());
    return Expr::Make(type, Call{FindOp("call_extern"), std::move(args)});
  };
  return WithApi(std::move(module), call_external, Unpacked);
}

}  // namespace lathe
