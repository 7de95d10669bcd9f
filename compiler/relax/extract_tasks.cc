#include "compiler/relax/extract_tasks.h"

#include <map>

#include "compiler/ir/workload_facts.h"
#include "compiler/relax/executor_plan.h"
#include "compiler/script/canonical.h"
#include "support/status_macros.h"

namespace lathe::relax {

StatusOr<std::vector<ExtractedTask>> ExtractTasks(const IRModule& module) {
  ASSIGN_OR_RETURN(const ExecutorPlan plan, MakeExecutorPlan(module));
  std::vector<ExtractedTask> tasks;
  std::map<Digest, size_t> by_workload;
  std::map<std::string, size_t> by_name;
  for (const PlanCall& call : plan.calls) {
    auto known = by_name.find(call.kernel);
    if (known == by_name.end()) {
      const PrimFunc* func = module.Find(call.kernel);
      if (func == nullptr) return InternalError("extract tasks: a call of no PrimFunc \"" + call.kernel + "\"");
      const auto [row, is_new] = by_workload.emplace(WorkloadDigest(*func), tasks.size());
      const WorkloadFacts facts = FactsOf(*func);
      if (is_new) tasks.push_back({call.kernel, row->first, *func, 0, facts.flops, facts.contraction_flops});
      known = by_name.emplace(call.kernel, row->second).first;
    }
    ++tasks[known->second].weight;
  }
  return tasks;
}

}  // namespace lathe::relax
