#include "compiler/relax/plan_memory.h"

#include <algorithm>
#include <numeric>

namespace lathe::relax {

ArenaPlan StaticPlanBlockMemory(std::span<const LiveRange> ranges, int64_t alignment) {
  const auto round_up = [&](int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranges[a].bytes > ranges[b].bytes; });
  ArenaPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  std::vector<size_t> placed;  // By offset.
  for (const size_t i : order) {
    int64_t offset = 0;
    for (const size_t other : placed) {
      const bool overlaps_in_time = ranges[i].first <= ranges[other].last && ranges[other].first <= ranges[i].last;
      if (!overlaps_in_time) continue;
      if (plan.offsets[other] >= offset + round_up(ranges[i].bytes)) break;  // Fits into the gap before `other`.
      offset = std::max(offset, plan.offsets[other] + round_up(ranges[other].bytes));
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + round_up(ranges[i].bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
                  i);
  }
  return plan;
}

}  // namespace lathe::relax
