#include "tuner/search/decisions.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"

namespace lathe {
namespace {

using Tile = std::vector<int64_t>;

class DecisionsTest : public testing::Test {
 protected:
  const TuneTask task_ = MakeTestTask(kConvBiasAddRelu);
  ScheduleTrace Sample(uint64_t seed, size_t sketch = 0) const {
    const auto search = MakeRandomSearch(task_, seed);
    for (int batch = 0; batch < 16; ++batch) {
      for (const MeasureCandidate& candidate : search->Propose(4)) {
        if (IsSameSketch(candidate.trace, task_.sketches[sketch].trace)) return candidate.trace;
      }
    }
    CHECK(false) << "no candidate of sketch " << sketch;
    return {};
  }
};

int64_t Product(const Tile& tile) { return std::accumulate(tile.begin(), tile.end(), int64_t{1}, std::multiplies<>()); }

TEST_F(DecisionsTest, MutationsAreLegalAndSmall) {
  const ScheduleTrace parent = Sample(11);
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const std::optional<ScheduleTrace> child = Mutate(parent, {}, random);
    ASSERT_TRUE(child.has_value());
    int changed = 0;
    for (const auto& [index, decision] : parent.decisions()) {
      const Tile& before = std::get<Tile>(decision);
      const Tile& after = std::get<Tile>(*child->decision(index));
      changed += before != after;
      EXPECT_EQ(Product(before), Product(after));
      EXPECT_LE(after.back(), std::get<int64_t>(parent.instruction(index).attrs[1]));
    }
    EXPECT_GE(changed, 1);
    EXPECT_LE(changed, 2);
  }
}

TEST_F(DecisionsTest, CoupledMutationsChangeTwoTiles) {
  const ScheduleTrace parent = Sample(11);
  Random random(5);
  MutationShares shares;
  shares.coupled = 1;
  for (int i = 0; i < 50; ++i) {
    const std::optional<ScheduleTrace> child = Mutate(parent, shares, random);
    ASSERT_TRUE(child.has_value());
    int changed = 0;
    for (const auto& [index, decision] : parent.decisions()) changed += decision != *child->decision(index);
    EXPECT_EQ(changed, 2);
  }
}

TEST_F(DecisionsTest, CrossoverTakesEachDecisionFromAParent) {
  const ScheduleTrace a = Sample(1), b = Sample(2);
  Random random(3);
  bool from_both = false;
  for (int i = 0; i < 20; ++i) {
    const ScheduleTrace child = Crossover(a, b, random);
    bool from_a = false, from_b = false;
    for (const auto& [index, decision] : child.decisions()) {
      const bool is_a = decision == *a.decision(index), is_b = decision == *b.decision(index);
      EXPECT_TRUE(is_a || is_b);
      from_a = from_a || (is_a && !is_b);
      from_b = from_b || (is_b && !is_a);
    }
    from_both = from_both || (from_a && from_b);
  }
  EXPECT_TRUE(from_both);
}

TEST_F(DecisionsTest, NeighboursAreDistinctAndOneStepAway) {
  const ScheduleTrace trace = Sample(7);
  const std::vector<ScheduleTrace> neighbours = Neighbours(trace);
  EXPECT_GT(neighbours.size(), 10u);
  std::unordered_set<uint64_t> seen{DecisionHash(trace)};
  for (const ScheduleTrace& neighbour : neighbours) {
    EXPECT_TRUE(seen.insert(DecisionHash(neighbour)).second);
    EXPECT_GE(DecisionDistance(trace, neighbour), 1.9);
    EXPECT_DOUBLE_EQ(DecisionDistance(trace, neighbour), DecisionDistance(neighbour, trace));
  }
}

TEST_F(DecisionsTest, CategoriesTakeEveryOtherValue) {
  const StatusOr<ScheduleTrace> sketch = ScheduleTrace::FromPython(
      "v0 = sch.sample_categorical(candidates=[0, 16, 64], probs=[0.4, 0.3, 0.3], decision=1)\n");
  ASSERT_TRUE(sketch.ok()) << sketch.status().message();
  std::vector<int64_t> values;
  for (const ScheduleTrace& neighbour : Neighbours(*sketch))
    values.push_back(std::get<int64_t>(*neighbour.decision(0)));
  EXPECT_THAT(values, testing::ElementsAre(0, 2));
  Random random(1);
  for (int i = 0; i < 20; ++i) EXPECT_NE(*Mutate(*sketch, {}, random)->decision(0), Decision(int64_t{1}));
}

TEST_F(DecisionsTest, ATraceWithoutDecisionsHasNoMutations) {
  Random random(1);
  EXPECT_FALSE(Mutate(ScheduleTrace(), {}, random).has_value());
  EXPECT_TRUE(Neighbours(ScheduleTrace()).empty());
}

TEST_F(DecisionsTest, SketchesAreToldApart) {
  ASSERT_GE(task_.sketches.size(), 2u);
  EXPECT_TRUE(IsSameSketch(Sample(1), Sample(2)));
  EXPECT_FALSE(IsSameSketch(task_.sketches[0].trace, task_.sketches[1].trace));
}

}  // namespace
}  // namespace lathe
