#include "compiler/schedule/thread_scope.h"

#include "compiler/schedule/schedule.h"

namespace lathe {

bool IsSharedByThreads(std::string_view scope, std::string_view thread_axis) {
  if (scope.empty() || scope == "global") return true;
  if (thread_axis.starts_with("blockIdx")) return false;
  if (scope == "warp") return thread_axis == "threadIdx.x";
  return scope == "shared" || scope.starts_with("shared.");
}

IterDomain ThreadsThatShare(const Schedule& schedule, int loop, std::string_view scope) {
  IterDomain threads;
  if (scope == "global") return threads;
  for (int row = loop; schedule.IsLoop(row); row = schedule.ParentOf(row)) {
    const For& node = schedule.LoopOf(row);
    if (node.kind == ForKind::kThreadBinding && IsSharedByThreads(scope, node.thread))
      threads.emplace_back(node.loop_var, Range{node.min, node.extent});
  }
  return threads;
}

}  // namespace lathe
