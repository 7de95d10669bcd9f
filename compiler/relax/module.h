// A whole network: Relax functions side by side with the PrimFuncs that they call.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/relax/expr.h"

namespace lathe::relax {

// Everything that takes a lathe::IRModule sees the PrimFuncs alone. Names are unique among all functions. "main" is
// what is run.
struct IRModule : lathe::IRModule {
  std::vector<Function> functions;
  const Function* FindFunction(std::string_view name) const {
    for (const Function& func : functions) {
      if (func.name == name) return &func;
    }
    return nullptr;
  }
  Function* FindFunction(std::string_view name) {
    return const_cast<Function*>(std::as_const(*this).FindFunction(name));
  }
};

inline constexpr std::string_view kMainFunction = "main";

}  // namespace lathe::relax
