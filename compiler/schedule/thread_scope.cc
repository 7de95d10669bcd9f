#include "compiler/schedule/thread_scope.h"

namespace lathe {

bool IsSharedByThreads(std::string_view scope, std::string_view thread_axis) {
  if (scope.empty() || scope == "global") return true;
  if (thread_axis.starts_with("blockIdx")) return false;
  if (scope == "warp") return thread_axis == "threadIdx.x";
  return scope == "shared" || scope.starts_with("shared.");
}

}  // namespace lathe
