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

// Seeds beyond those above that something was found by.
TEST(FarmSimulation, KeepsItsPromisesWhereItOnceDidNot) {
  for (const uint64_t seed : {1385})  // A check that was told to a board whose connection was gone already.
    if (const Plan plan = DrawPlan(seed); Simulate(plan).broken) FAIL() << Story(plan);
}

TEST(FarmSimulation, ARunIsTheSameEachTime) {
  const Plan plan = DrawPlan(5);
  const Outcome first = Simulate(plan, true), second = Simulate(plan, true);
  EXPECT_GT(first.results, 0);
  EXPECT_EQ(first.history, second.history);
}

// What was broken, if anything was.
std::string Try(Plant plant, uint64_t seed) {
  Plan plan = DrawPlan(seed);
  plan.plant = plant;
  return Simulate(plan).broken.value_or("");
}

struct PlantCase {
  Plant plant;
  uint64_t found_at;  // The first seed, when it was last looked for: tried first, then all.
};
class PlantTest : public testing::TestWithParam<PlantCase> {};

TEST_P(PlantTest, IsFound) {
  const auto [plant, found_at] = GetParam();
  if (const std::string broken = Try(plant, found_at); !broken.empty()) {
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(found_at), broken.c_str());
    return;
  }
  if (!AllRuns(static_cast<int>(kSeedsPerPlant))) GTEST_SKIP() << "few seeds prove nothing";
  for (uint64_t seed = 0; seed < kSeedsPerPlant; ++seed) {
    const std::string broken = Try(plant, seed);
    if (broken.empty()) continue;
    std::printf("seed %llu, no longer %llu: %s\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(found_at), broken.c_str());
    return;
  }
  FAIL() << "a farm with \"" << PlantName(plant) << "\" kept every promise under " << kSeedsPerPlant << " seeds";
}

INSTANTIATE_TEST_SUITE_P(
    Plants, PlantTest,
    testing::Values(PlantCase{Plant::kAcknowledgesBeforeCommit, 132}, PlantCase{Plant::kForgetsPowerLoss, 44},
                    PlantCase{Plant::kCommitWithoutFence, 84}, PlantCase{Plant::kFailWithoutFence, 284},
                    PlantCase{Plant::kLeasesByWallClock, 13}, PlantCase{Plant::kWaitsByWallClock, 297},
                    PlantCase{Plant::kEffectsTriedOnce, 924}, PlantCase{Plant::kCommitsTriedOnce, 13},
                    PlantCase{Plant::kPauseIsSilence, 1363}, PlantCase{Plant::kClosesTasksInMemory, 8},
                    PlantCase{Plant::kTrustsProgress, 5}, PlantCase{Plant::kTrustsBuilds, 75},
                    PlantCase{Plant::kTwinsTakeTurns, 1}, PlantCase{Plant::kAdoptsNoBuilds, 21},
                    PlantCase{Plant::kAdoptsNoTrials, 47}, PlantCase{Plant::kLosesBoardsInMemory, 4},
                    PlantCase{Plant::kEndsLeasesInMemory, 0}, PlantCase{Plant::kBlamesNobody, 3},
                    PlantCase{Plant::kRunnerLeftBehind, 0}, PlantCase{Plant::kBoardForgetsEpochs, 123},
                    PlantCase{Plant::kForgetsBeforeAck, 11}, PlantCase{Plant::kSpoolInMemory, 11},
                    PlantCase{Plant::kExpiresAtStart, 1281}, PlantCase{Plant::kBelievesSlowBoards, 1}),
    [](const auto& info) {
      std::string name(PlantName(info.param.plant));
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace lathe::sim
