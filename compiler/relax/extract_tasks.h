// The tuning tasks of a network: its distinct PrimFuncs with the number of calls and the work of each.
#pragma once

#include <string>
#include <vector>

#include "compiler/relax/module.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe::relax {

struct ExtractedTask {
  std::string name;  // E.g. "fused_conv2d_add_relu"; unique in the network.
  Digest workload;   // WorkloadDigest of `func`.
  PrimFunc func;
  int64_t weight = 0;       // Calls per inference.
  double flops = 0;         // Of one call (compiler/ir/workload_facts.h).
  double anchor_flops = 0;  // Of contractions alone; 0 where there is none.
  bool is_anchored() const { return anchor_flops > 0; }
};

// The tasks of `main` after OptimizeForTuning: what its executor plan calls, in order of first call. PrimFuncs of one
// workload are one task.
StatusOr<std::vector<ExtractedTask>> ExtractTasks(const IRModule& module);

}  // namespace lathe::relax
