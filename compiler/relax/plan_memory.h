// StaticPlanBlockMemory: one arena for everything that lives between two kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe::relax {

// A tensor in the arena: written at call `first`, last read at call `last`. Both ends count, so that what a call reads
// and what it writes never share memory.
struct LiveRange {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets;  // Per range; multiples of `alignment`.
  int64_t bytes = 0;             // Of the arena.
};

// Places the largest first, each as low as those allow that live at the same time.
ArenaPlan StaticPlanBlockMemory(std::span<const LiveRange> ranges, int64_t alignment);

}  // namespace lathe::relax
