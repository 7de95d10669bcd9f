// What a function that is not scheduled says about itself: how much arithmetic, how long its sums. Pure.
#pragma once

#include <cstdint>

#include "compiler/ir/stmt.h"

namespace lathe {

struct WorkloadFacts {
  double flops = 0;  // Operations on data of one call, 2 per multiply-add, integers too; 0 where an extent is symbolic.
  int64_t reduction_length =
      1;  // Terms behind one output element, summed over the blocks that reduce: what rounding errors grow with.
};

WorkloadFacts FactsOf(const PrimFunc& func);

}  // namespace lathe
