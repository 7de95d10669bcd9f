// The farm keeps its promises under faults, and the simulator would notice if it did not.
#include "tests/sim/farm_simulation.h"

#include <gmock/gmock.h>

#include <cstdio>

#include "tests/property_runs.h"

namespace lathe::sim {
namespace {

constexpr uint64_t kSeedsPerPlant = 2000;

std::string Story(const Plan& plan) {
  const Plan least = Minimized(plan);
  const Outcome outcome = Simulate(least, true);
  std::string story = "LATHE_SEED=" + std::to_string(plan.seed) + ": " + outcome.broken.value_or("") + "\n";
  for (const Fault& fault : least.faults) story += "  " + fault.ToString() + "\n";
  for (const std::string& line : outcome.history) story += line + "\n";
  return story;
}

TEST(FarmSimulation, KeepsItsPromises) {
  const SeedRange seeds = SeedsToTry(600, 3);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const SeedOnCrash on_crash(seed);
    const Plan plan = DrawPlan(seed);
    if (Simulate(plan).broken) FAIL() << Story(plan);
  }
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(seeds.first),
              static_cast<unsigned long long>(seeds.first + seeds.count - 1));
}

TEST(FarmSimulation, ARunIsTheSameEachTime) {
  const Plan plan = DrawPlan(5);
  const Outcome first = Simulate(plan, true), second = Simulate(plan, true);
  EXPECT_GT(first.results, 0);
  EXPECT_EQ(first.history, second.history);
}

class PlantTest : public testing::TestWithParam<int> {};

TEST_P(PlantTest, IsFound) {
  if (!AllRuns(static_cast<int>(kSeedsPerPlant))) GTEST_SKIP() << "few seeds prove nothing";
  Plan plan;
  for (uint64_t seed = 0; seed < kSeedsPerPlant; ++seed) {
    plan = DrawPlan(seed);
    plan.plant = static_cast<Plant>(GetParam());
    const Outcome outcome = Simulate(plan);
    if (!outcome.broken) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), outcome.broken->c_str());
    return;
  }
  FAIL() << "a farm in which \"" << PlantName(*plan.plant) << "\" kept every promise under " << kSeedsPerPlant
         << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Plants, PlantTest, testing::Range(0, kNumPlants), [](const auto& info) {
  std::string name(PlantName(static_cast<Plant>(info.param)));
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace lathe::sim
