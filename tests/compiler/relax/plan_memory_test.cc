#include "compiler/relax/plan_memory.h"

#include <gmock/gmock.h>

#include "support/random.h"

namespace lathe::relax {
namespace {

TEST(StaticPlanBlockMemory, ReusesMemoryOfWhatIsDead) {
  // A chain of four: two buffers take turns.
  const std::vector<LiveRange> chain = {{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  const ArenaPlan plan = StaticPlanBlockMemory(chain, 64);
  EXPECT_EQ(plan.bytes, 2048);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
}

TEST(StaticPlanBlockMemory, FillsGaps) {
  const std::vector<LiveRange> ranges = {{640, 0, 9}, {1280, 0, 3}, {640, 4, 9}, {640, 5, 9}};
  EXPECT_EQ(StaticPlanBlockMemory(ranges, 64).bytes, 1920);
}

TEST(StaticPlanBlockMemory, NeverSharesBetweenLiveTensors) {
  constexpr uint64_t kSeed = 9;
  for (uint64_t round = 0; round < 200; ++round) {
    Random random(Random::Mix(kSeed + round));
    std::vector<LiveRange> ranges;
    int64_t total = 0;
    for (uint64_t i = 1 + random.Below(40); i > 0; --i) {
      const int first = static_cast<int>(random.Below(20));
      ranges.push_back({static_cast<int64_t>(random.Below(1000)), first, first + static_cast<int>(random.Below(6))});
      total += (ranges.back().bytes + 63) / 64 * 64;
    }
    const ArenaPlan plan = StaticPlanBlockMemory(ranges, 64);
    EXPECT_LE(plan.bytes, total);
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 64, 0);
      EXPECT_LE(plan.offsets[i] + ranges[i].bytes, plan.bytes);
      for (size_t k = 0; k < i; ++k) {
        const bool together = ranges[i].first <= ranges[k].last && ranges[k].first <= ranges[i].last;
        const bool overlap =
            plan.offsets[i] < plan.offsets[k] + ranges[k].bytes && plan.offsets[k] < plan.offsets[i] + ranges[i].bytes;
        EXPECT_FALSE(together && overlap && ranges[i].bytes > 0 && ranges[k].bytes > 0)
            << "seed " << kSeed << " round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace lathe::relax
