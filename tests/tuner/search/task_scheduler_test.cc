#include "tuner/search/task_scheduler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/random.h"

namespace lathe {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(RoundRobinScheduler, GivesEachItsTurn) {
  const auto scheduler = MakeRoundRobinScheduler();
  std::vector<TaskProgress> tasks(3);
  std::vector<size_t> order;
  for (int i = 0; i < 6; ++i) {
    const size_t next = *scheduler->Next(tasks);
    order.push_back(next);
    tasks[next].best_ns.push_back(1);
  }
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 0, 1, 2));
  for (TaskProgress& task : tasks) task.is_finished = true;
  EXPECT_FALSE(scheduler->Next(tasks).has_value());
}

TEST(GradientScheduler, WarmsUpEveryTaskFirst) {
  const auto scheduler = MakeGradientScheduler();
  std::vector<TaskProgress> tasks(4);
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(scheduler->Next(tasks), i);
    tasks[i].rounds_in_flight = 1;  // Not finished: the next task starts all the same.
  }
}

TEST(GradientScheduler, PrefersWeightAndSlope) {
  const auto scheduler = MakeGradientScheduler();
  std::vector<TaskProgress> tasks(2);
  tasks[0].best_ns = {100, 100, 100, 100};
  tasks[1].best_ns = {100, 100, 100, 100};
  tasks[1].weight = 5;
  EXPECT_EQ(scheduler->Next(tasks), 1u);
  tasks[1].weight = 1;
  tasks[1].best_ns = {400, 300, 200, 100};
  EXPECT_EQ(scheduler->Next(tasks), 1u);
}

TEST(GradientScheduler, RoundsInFlightCount) {
  const auto scheduler = MakeGradientScheduler();
  std::vector<TaskProgress> tasks(2);
  for (TaskProgress& task : tasks) task.best_ns = {100, 100};
  tasks[0].rounds_in_flight = 2;
  EXPECT_EQ(scheduler->Next(tasks), 1u);
}

TEST(GradientScheduler, LeavesATaskThatReachedItsRoofline) {
  const auto scheduler = MakeGradientScheduler();
  std::vector<TaskProgress> tasks(2);
  tasks[0].best_ns = {1000, 1000};
  tasks[0].weight = 50;
  tasks[0].floor_ns = 980;  // 98 % of the peak reached.
  tasks[1].best_ns = {100, 100};
  tasks[1].floor_ns = 10;
  EXPECT_EQ(scheduler->Next(tasks), 1u);
  tasks[0].floor_ns = 500;
  EXPECT_EQ(scheduler->Next(tasks), 0u);
  tasks[0].floor_ns = 1200;  // It skips what is counted: no bound.
  EXPECT_EQ(scheduler->Next(tasks), 0u);
}

TEST(GradientScheduler, AFailedWarmUpDoesNotStarveATask) {
  const auto scheduler = MakeGradientScheduler();
  std::vector<TaskProgress> tasks(3);
  tasks[0].best_ns = {100};
  tasks[1].best_ns = {100};
  tasks[2].best_ns = {kNever};
  for (TaskProgress& task : tasks) task.flops = 1000;
  int rounds_of_failing = 0, first_forty = 0;
  for (int round = 0; round < 200; ++round) {
    const size_t next = *scheduler->Next(tasks);
    rounds_of_failing += next == 2;
    first_forty += next == 2 && round < 40;
    tasks[next].best_ns.push_back(tasks[next].best_ns.back());
  }
  EXPECT_GE(first_forty, 3);         // Tried again and again ...
  EXPECT_LT(rounds_of_failing, 40);  // ... but it does not eat the budget.
}

TEST(GradientScheduler, OneTaskThatAlwaysFailsIsStillServed) {
  const auto scheduler = MakeGradientScheduler();
  std::vector<TaskProgress> tasks(1);
  tasks[0].best_ns = {kNever, kNever, kNever, kNever, kNever};
  EXPECT_EQ(scheduler->Next(tasks), 0u);
}

TEST(GradientScheduler, ChoosesAnUnfinishedTaskWhateverTheHistory) {
  const auto scheduler = MakeGradientScheduler();
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<TaskProgress> tasks(1 + random.Below(6));
    bool any = false;
    for (TaskProgress& task : tasks) {
      task.weight = static_cast<double>(random.Below(4));
      task.flops = static_cast<double>(random.Below(3)) * 1e6;
      task.floor_ns = task.flops / 3;
      double best = random.Below(3) == 0 ? kNever : 1e6 * random.Unit();
      for (uint64_t i = random.Below(8); i > 0; --i)
        task.best_ns.push_back(std::isinf(best) ? best : best *= random.Unit());
      task.rounds_in_flight = static_cast<int>(random.Below(3));
      task.is_finished = random.Below(3) == 0;
      any = any || !task.is_finished;
    }
    const std::optional<size_t> next = scheduler->Next(tasks);
    ASSERT_EQ(next.has_value(), any);
    EXPECT_FALSE(next && tasks[*next].is_finished);
  }
}

// A task whose best time falls with the rounds towards a floor of its own.
struct SimulatedTask {
  double floor, gap, decay, weight, flops;
};

double NetworkTime(const TaskScheduler& scheduler, const std::vector<SimulatedTask>& simulated, int rounds,
                   uint64_t seed) {
  std::vector<TaskProgress> tasks(simulated.size());
  std::vector<Random> luck;
  for (size_t i = 0; i < simulated.size(); ++i) {
    tasks[i].weight = simulated[i].weight;
    tasks[i].flops = simulated[i].flops;
    luck.emplace_back(Random::Mix(seed * 100 + i));
  }
  for (int round = 0; round < rounds; ++round) {
    const size_t next = *scheduler.Next(tasks);
    const SimulatedTask& task = simulated[next];
    const double before = tasks[next].best_ns.empty() ? kNever : tasks[next].best_ns.back();
    const double n = static_cast<double>(tasks[next].best_ns.size() + 1);
    const double found = task.floor + task.gap * std::pow(n, -task.decay) * (0.8 + 0.4 * luck[next].Unit());
    tasks[next].best_ns.push_back(std::min(before, found));
  }
  double sum = 0;
  for (size_t i = 0; i < tasks.size(); ++i) sum += tasks[i].weight * tasks[i].best_ns.back();
  return sum;
}

TEST(GradientScheduler, BeatsRoundRobinOnAWeightedMix) {
  const auto gradient = MakeGradientScheduler();
  const auto round_robin = MakeRoundRobinScheduler();
  int wins = 0;
  std::vector<double> ratios;
  for (uint64_t seed = 1; seed <= 11; ++seed) {
    Random random(seed);
    std::vector<SimulatedTask> tasks;
    for (int i = 0; i < 12; ++i) {
      const double floor = std::exp2(8 + 8 * random.Unit());
      const double reached = 0.4 + 0.6 * random.Unit();  // Of the peak, at the floor.
      tasks.push_back({floor, floor * 4 * random.Unit(), 0.4 + 1.2 * random.Unit(),
                       1.0 + static_cast<double>(random.Below(6)), floor * reached * 100});
    }
    const double ratio = NetworkTime(*gradient, tasks, 60, seed) / NetworkTime(*round_robin, tasks, 60, seed);
    ratios.push_back(ratio);
    wins += ratio < 1;
  }
  std::vector<double> sorted = ratios;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_GE(wins, 10) << testing::PrintToString(ratios);
  EXPECT_LT(sorted[sorted.size() / 2], 0.97) << testing::PrintToString(ratios);
}

}  // namespace
}  // namespace lathe
