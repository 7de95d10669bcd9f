// A stored workload as a function, and what it says about itself: how much arithmetic, how long its sums. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/stmt.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

struct WorkloadFacts {
  double flops = 0;  // Float operations of one call, 2 per multiply-add; 0 where an extent is symbolic.
  int64_t reduction_length =
      1;  // Terms behind one output element, summed over the blocks that reduce: what rounding errors grow with.
};

// The text as a function. DataLoss if it computes something else than `digest` says: it was changed since.
StatusOr<PrimFunc> ParseWorkload(const Digest& digest, const std::string& name, const std::string& text);

WorkloadFacts FactsOf(const PrimFunc& func);

}  // namespace lathe
