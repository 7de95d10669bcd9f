#include "tuner/job/job_plan.h"

#include <gmock/gmock.h>

#include "tuner/job/activity.h"
#include "tuner/job/job_spec.h"

namespace lathe {
namespace {

using std::chrono::milliseconds;

JobPlan PlanOf(std::vector<TaskStanding> tasks, int64_t total = 0) {
  return JobPlan(std::move(tasks), {.total_budget = total, .round_size = 16}, MakeRoundRobinScheduler());
}

TEST(JobPlan, SpendsEachTasksBudgetAndIsOver) {
  JobPlan plan = PlanOf({{.budget = 20}, {.budget = 3, .counted = 3}});
  auto round = plan.NextRound();
  ASSERT_TRUE(round.has_value());
  EXPECT_EQ(round->task, 0u) << "the other one is paid for";
  EXPECT_EQ(round->count, 16);
  EXPECT_FALSE(plan.NextRound().has_value()) << "one round at a time";
  plan.RoundEnded(0, 16);
  EXPECT_EQ(plan.NextRound()->count, 4);
  plan.RoundEnded(0, 4);
  for (int i = 1; i <= 20; ++i) {
    EXPECT_FALSE(plan.IsOver());
    plan.TrialEnded(0, i % 2 == 0 ? TrialState::kOk : TrialState::kCrash,
                    i % 2 == 0 ? std::optional(100.0 - i) : std::nullopt, i == 2, i);
  }
  EXPECT_TRUE(plan.IsOver());
  EXPECT_EQ(plan.tasks()[0].untuned_ns, 98);
  EXPECT_EQ(plan.tasks()[0].best_ns, 80);
}

TEST(JobPlan, HasLargerRoundsForManyDevices) {
  JobPlan plan = PlanOf({{.budget = 1000}});
  EXPECT_EQ(plan.NextRound(64)->count, 16);
  plan.RoundEnded(0, 16);
  EXPECT_EQ(plan.NextRound(1000)->count, 250);
  plan.RoundEnded(0, 250);
  plan.task(0).counted = 730;
  EXPECT_EQ(plan.NextRound(1000)->count, 4) << "what is left of the budget";
}

TEST(JobPlan, KeepsToTheBudgetOfTheWholeJob) {
  JobPlan plan = PlanOf({{.budget = 100, .counted = 5}, {.budget = 100}}, 30);
  int64_t proposed = 0;
  while (const auto round = plan.NextRound()) {
    plan.RoundEnded(round->task, round->count);
    proposed += round->count;
  }
  EXPECT_EQ(proposed, 25);
}

TEST(JobPlan, ClosesATaskThatHasNothingMoreToOffer) {
  JobPlan plan = PlanOf({{.budget = 100}});
  ASSERT_TRUE(plan.NextRound().has_value());
  plan.RoundEnded(0, 7);
  ASSERT_TRUE(plan.NextRound().has_value());
  plan.RoundEnded(0, 0);
  EXPECT_FALSE(plan.NextRound().has_value());
  EXPECT_FALSE(plan.IsOver());
  for (int i = 1; i <= 7; ++i) plan.TrialEnded(0, TrialState::kOk, 5, false, i);
  EXPECT_TRUE(plan.IsOver());
}

TEST(JobPlan, IsOverWithoutTheRoundThatWasAbandonedIfOneWas) {
  JobPlan plan = PlanOf({{.budget = 100}});
  plan.AbandonRound();
  ASSERT_TRUE(plan.NextRound().has_value());
  plan.CloseTask(0);
  EXPECT_FALSE(plan.IsOver());
  plan.AbandonRound();
  EXPECT_TRUE(plan.IsOver());
}

// Outcomes of a plan with one task that gets one trial at a time, until it is over.
int64_t TrialsUntilOver(int64_t budget, const std::function<double(int64_t trial)>& ns_of) {
  JobPlan plan = PlanOf({{.budget = budget}});
  int64_t done = 0;
  while (const auto round = plan.NextRound()) {
    plan.RoundEnded(0, 1);
    ++done;
    plan.TrialEnded(0, TrialState::kOk, ns_of(done), false, done);
  }
  EXPECT_TRUE(plan.IsOver());
  return done;
}

TEST(JobPlan, EndsATaskThatGainsNothingAnyMore) {
  const auto best_at = [](int64_t last) {
    return [last](int64_t trial) { return trial == last ? 50.0 : 1000.0 - 0.001 * static_cast<double>(trial); };
  };
  EXPECT_EQ(TrialsUntilOver(1000, best_at(20)), 20 + 96) << "a gain of a millionth is none";
  EXPECT_EQ(TrialsUntilOver(1000, best_at(90)), 90 + 96);
  EXPECT_EQ(TrialsUntilOver(64, best_at(1)), 64) << "nobody would call that a plateau";
  EXPECT_EQ(TrialsUntilOver(300, [](int64_t trial) { return 1000.0 / static_cast<double>(trial); }), 300);
  // What was found late is followed as long again.
  const auto late = [](int64_t trial) { return trial < 95 ? 1000.0 : trial < 185 ? 900.0 : 800.0; };
  EXPECT_EQ(TrialsUntilOver(1000, late), 185 + 185);
}

TEST(JobPlan, GivesACancelledTrialsBudgetBack) {
  JobPlan plan = PlanOf({{.budget = 4}});
  plan.RoundEnded(plan.NextRound()->task, 4);
  plan.TrialDropped(0);
  EXPECT_EQ(plan.NextRound()->count, 1);
}

TEST(ActivityMeter, GivesEachMomentToOnePart) {
  const TimePoint start{std::chrono::hours(1)};
  ActivityMeter meter(start);
  meter.Set(0, 0, 1, start + milliseconds(10));  // Idle till now.
  meter.Set(0, 2, 1, start + milliseconds(30));  // Searching till now.
  meter.Set(1, 2, 1, start + milliseconds(60));  // Building.
  const ActivityShares shares = meter.Shares(start + milliseconds(100));
  EXPECT_EQ(shares.idle, milliseconds(10));
  EXPECT_EQ(shares.searching, milliseconds(20));
  EXPECT_EQ(shares.building, milliseconds(30));
  EXPECT_EQ(shares.measuring, milliseconds(40));
}

TEST(JobSpec, ComesBackFromItsText) {
  const JobSpec spec{.total_trials = 12, .time_limit = std::chrono::minutes(3), .is_fresh = true, .seed = 99};
  EXPECT_EQ(*JobSpec::FromJson(spec.ToJson()), spec);
  EXPECT_THAT(JobSpec::FromJson("{\"total_trials\":\"many\"}").status().message(),
              testing::HasSubstr("submit it again"));
  EXPECT_FALSE(JobSpec::FromJson("").ok());
}

}  // namespace
}  // namespace lathe
