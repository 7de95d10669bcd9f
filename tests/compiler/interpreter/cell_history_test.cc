// The few touches that are remembered find a race exactly where all of them together would.
#include "compiler/interpreter/cell_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lathe {
namespace {

// Threads of two warps that touch one cell, with barriers and new blocks between, as chance will have it.
class RandomTouches {
 public:
  explicit RandomTouches(uint64_t seed) : random_(seed) {}

  Touch Next() {
    while (Below(4) == 0) Pass();
    const int thread = kThreads[Below(6)];
    const uint32_t kind = Below(8);
    return {.block = block_,
            .epoch = epoch_,
            .warp_epoch = warp_epochs_[thread / kWarpSize],
            .thread = thread,
            .is_write = kind >= 4,
            .is_atomic = kind >= 4 && kind < 7};
  }

 private:
  static constexpr int kThreads[] = {0, 1, 2, 32, 33, 34};
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  void Pass() {
    const uint32_t what = Below(8);
    if (what == 0) ++block_;
    if (what <= 2)
      ++epoch_;
    else
      ++warp_epochs_[what % 2];
  }

  std::mt19937_64 random_;
  uint32_t block_ = 3, epoch_ = 1, warp_epochs_[2] = {0, 0};
};

bool Races(const Touch& a, const Touch& b) {
  if ((!a.is_write && !b.is_write) || (a.is_atomic && b.is_atomic)) return false;
  if (a.block != b.block) return true;
  if (a.thread == b.thread || a.epoch != b.epoch) return false;
  return a.thread / kWarpSize != b.thread / kWarpSize || a.warp_epoch == b.warp_epoch;
}

TEST(CellHistory, FindsTheFirstRaceOfAnyTouches) {
  int num_races = 0, num_long = 0;
  for (uint64_t seed = 0; seed < 50000; ++seed) {
    RandomTouches touches(seed);
    CellHistory history;
    std::vector<Touch> all;
    bool has_raced = false;
    for (int i = 0; i < 12 && !has_raced; ++i) {
      const Touch now = touches.Next();
      has_raced = std::any_of(all.begin(), all.end(), [&](const Touch& old) { return Races(old, now); });
      const Touch found = history.Note(now, /*first_block=*/2);
      ASSERT_EQ(found.block != 0, has_raced) << "seed " << seed << ", touch " << i;
      ASSERT_TRUE(!has_raced || Races(found, now)) << "seed " << seed << ", touch " << i;
      all.push_back(now);
    }
    num_races += has_raced;
    num_long += all.size() > 4;
  }
  EXPECT_GT(num_races, 10000);
  EXPECT_GT(num_long, 5000);
}

TEST(CellHistory, ForgetsWhatEarlierKernelsDid) {
  CellHistory history;
  const Touch write{.block = 1, .epoch = 1, .thread = 0, .is_write = true};
  EXPECT_EQ(history.Note(write, 1).block, 0u);
  const Touch next{.block = 2, .epoch = 2, .thread = 1, .is_write = true};
  EXPECT_EQ(history.Note(next, 2).block, 0u);  // The first of another kernel.
  const Touch beside{.block = 3, .epoch = 3, .thread = 1, .is_write = true};
  EXPECT_EQ(history.Note(beside, 2).block, 2u);
}

}  // namespace
}  // namespace lathe
