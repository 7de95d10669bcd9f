#include "compiler/ir/iter_bindings.h"

namespace lathe {

VarMap IterBindings(const BlockRealize& realize) {
  VarMap bindings;
  const std::vector<IterVar>& iters = realize.block->iter_vars;
  for (size_t i = 0; i < iters.size() && i < realize.iter_values.size(); ++i)
    bindings.emplace(iters[i].var.get(), realize.iter_values[i]);
  return bindings;
}

}  // namespace lathe
