#include "compiler/relax/extract_tasks.h"

#include <map>

#include "compiler/ir/visitor.h"
#include "compiler/ir/workload_facts.h"
#include "compiler/relax/executor_plan.h"
#include "compiler/script/canonical.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

double Iterations(const BlockNode& block) {
  double count = 1;
  for (const IterVar& iter : block.iter_vars) {
    const int64_t* extent = AsIntConst(iter.domain.extent);
    if (extent != nullptr) count *= static_cast<double>(*extent);
  }
  return count;
}

bool IsMultiplyAccumulate(const BlockNode& block, const BufferStore& store) {
  if (!block.init) return false;
  const Binary* sum = store.value.As<Binary>();
  if (sum == nullptr || sum->op != BinaryOp::kAdd) return false;
  const Binary* product = sum->b.As<Binary>();
  if (product == nullptr || product->op != BinaryOp::kMul) return false;
  const BufferLoad *a = product->a.As<BufferLoad>(), *b = product->b.As<BufferLoad>();
  return a != nullptr && b != nullptr && !a->buffer.same_as(b->buffer);
}

template <typename F>
double SumOverBlocks(const PrimFunc& func, F&& flops) {
  double total = 0;
  const std::function<void(const Stmt&)> look = [&](const Stmt& stmt) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    const BufferStore* store = realize == nullptr ? nullptr : realize->block->body.As<BufferStore>();
    if (store != nullptr) total += Iterations(*realize->block) * flops(*realize->block, *store);
  };
  PostOrderVisit(func.body, look);
  return total;
}

}  // namespace

double CountAnchorFlops(const PrimFunc& func) {
  return SumOverBlocks(func, [](const BlockNode& block, const BufferStore& store) {
    return IsMultiplyAccumulate(block, store) ? 2 : 0;
  });
}

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
      if (is_new) tasks.push_back({call.kernel, row->first, *func, 0, FactsOf(*func).flops, CountAnchorFlops(*func)});
      known = by_name.emplace(call.kernel, row->second).first;
    }
    ++tasks[known->second].weight;
  }
  return tasks;
}

}  // namespace lathe::relax
