// Relax in TVMScript's form (docs/formats/tvmscript.md): R.function, R.dataflow, R.call_tir. For people and dumps;
// there is no parser for the Relax part yet. Constants print as R.const where they hold one element, else as
// metadata["relax.expr.Constant"][n].
#pragma once

#include <string>

#include "compiler/relax/module.h"

namespace lathe::relax {

std::string Print(const IRModule& module);
std::string Print(const Function& func);
std::string Print(const Expr& e);

}  // namespace lathe::relax
