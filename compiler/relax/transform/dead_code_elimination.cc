#include "compiler/relax/transform/dead_code_elimination.h"

#include <algorithm>

#include "compiler/relax/visitor.h"

namespace lathe::relax {
namespace {

// Backwards: a binding lives if what comes after it uses it.
void DropDeadBindings(Function& func) {
  std::unordered_set<const ExprNode*> live;
  const auto mark = [&](const Var& var) { live.insert(var.get()); };
  VisitVars(func.body.body, mark);
  for (size_t b = func.body.blocks.size(); b-- > 0;) {
    BindingBlock& block = func.body.blocks[b];
    std::vector<Binding> kept;
    for (size_t i = block.bindings.size(); i-- > 0;) {
      if (block.is_dataflow && !live.contains(block.bindings[i].var.get())) continue;
      VisitVars(block.bindings[i].value, mark);
      kept.push_back(std::move(block.bindings[i]));
    }
    std::reverse(kept.begin(), kept.end());
    block.bindings = std::move(kept);
  }
}

void MarkReached(const IRModule& module, const Function& func, std::unordered_set<std::string>& reached) {
  if (!reached.insert(func.name).second) return;
  VisitBindings(func, [&](const Binding& binding) {
    PostOrderVisit(binding.value, [&](const Expr& e) {
      const GlobalVar* global = e.As<GlobalVar>();
      if (global == nullptr) return;
      if (const Function* callee = module.FindFunction(global->name)) {
        MarkReached(module, *callee, reached);
      } else {
        reached.insert(global->name);
      }
    });
  });
}

}  // namespace

IRModule DeadCodeElimination(IRModule module) {
  for (Function& func : module.functions) DropDeadBindings(func);
  const Function* main = module.FindFunction(kMainFunction);
  if (main == nullptr) return module;
  std::unordered_set<std::string> reached;
  MarkReached(module, *main, reached);
  std::erase_if(module.functions, [&](const Function& func) { return !reached.contains(func.name); });
  std::erase_if(module.prim_funcs, [&](const PrimFunc& func) { return !reached.contains(func.name); });
  return module;
}

}  // namespace lathe::relax
