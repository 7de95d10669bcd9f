// What passes share that give the functions of a module a calling convention of TVM's.
#pragma once

#include <functional>

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Whether others call the function, and no pass has given it a convention.
bool NeedsApi(const PrimFunc& func);
// InvalidArgument: it has none.
StatusOr<AttrMap> TargetForApi(const PrimFunc& func, const char* pass);

using CallMaker = std::function<Expr(const FuncCall& call, DataType type)>;
using ApiMaker = std::function<StatusOr<PrimFunc>(PrimFunc func)>;
// `make` of every function that needs an API, `call` of all that call one of them.
StatusOr<IRModule> WithApi(IRModule module, const CallMaker& call, const ApiMaker& make);

}  // namespace lathe
