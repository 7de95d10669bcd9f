#include "tuner/job/trial_state.h"

#include <gmock/gmock.h>

#include <set>

namespace lathe {
namespace {

using S = TrialState;
using std::chrono::seconds;

TEST(TrialState, ReadsBackEveryName) {
  std::set<std::string_view> names;
  for (const S state : AllTrialStates()) {
    EXPECT_EQ(ParseTrialState(TrialStateName(state)), state);
    names.insert(TrialStateName(state));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kTrialStateCount));
  EXPECT_EQ(ParseTrialState("OKAY"), std::nullopt);
}

// Rows: from; the states it may go to. Everything else is forbidden.
const std::map<S, std::set<S>> kMoves = {
    {S::kProposed, {S::kBuildQueued, S::kCancelled}},
    {S::kBuildQueued, {S::kBuilding, S::kCancelled}},
    {S::kBuilding,
     {S::kBuilt, S::kMeasureQueued, S::kBuildQueued, S::kBuildError, S::kBuildTimeout, S::kPoison, S::kInfraFailed,
      S::kCancelled}},
    {S::kBuilt, {S::kMeasureQueued, S::kPoison, S::kCancelled}},
    {S::kMeasureQueued, {S::kAssigned, S::kPoison, S::kCancelled}},
    {S::kAssigned,
     {S::kRunning, S::kMeasureQueued, S::kBuildQueued, S::kOk, S::kNoisy, S::kCensored, S::kWrongResult, S::kRunTimeout,
      S::kCrash, S::kOutOfMemory, S::kPoison, S::kInfraFailed, S::kCancelled}},
    {S::kRunning,
     {S::kMeasureQueued, S::kBuildQueued, S::kOk, S::kNoisy, S::kCensored, S::kWrongResult, S::kRunTimeout, S::kCrash,
      S::kOutOfMemory, S::kPoison, S::kInfraFailed, S::kCancelled}},
};

TEST(TrialState, MovesOnlyAsTheTableSays) {
  for (const S from : AllTrialStates()) {
    const auto row = kMoves.find(from);
    EXPECT_EQ(row == kMoves.end(), IsTerminal(from)) << TrialStateName(from);
    for (const S to : AllTrialStates()) {
      const bool allowed = row != kMoves.end() && row->second.contains(to);
      EXPECT_EQ(CanMove(from, to), allowed) << TrialStateName(from) << " to " << TrialStateName(to);
    }
  }
}

TEST(TrialState, SpendsBudgetForEveryEndButACancellation) {
  for (const S state : AllTrialStates()) {
    EXPECT_EQ(SpendsBudget(state), IsTerminal(state) && state != S::kCancelled) << TrialStateName(state);
    EXPECT_EQ(HasRecord(state), SpendsBudget(state) && state != S::kInfraFailed) << TrialStateName(state);
    EXPECT_EQ(HasTimings(state), state == S::kOk || state == S::kNoisy || state == S::kCensored)
        << TrialStateName(state);
  }
}

struct InfraCase {
  const char* name;
  S from;
  InfraFailure failure;
  int failures;
  S next;
  seconds backoff;
};
class AfterInfraFailureTest : public testing::TestWithParam<InfraCase> {};
TEST_P(AfterInfraFailureTest, FollowsTheRetryTable) {
  const NextStep next = AfterInfraFailure(GetParam().from, GetParam().failure, GetParam().failures);
  EXPECT_EQ(TrialStateName(next.state), TrialStateName(GetParam().next));
  EXPECT_EQ(next.backoff, GetParam().backoff);
}
INSTANTIATE_TEST_SUITE_P(
    RetryTable, AfterInfraFailureTest,
    testing::Values(
        InfraCase{"WorkerLostFirst", S::kBuilding, InfraFailure::kWorkerLost, 1, S::kBuildQueued, seconds(1)},
        InfraCase{"WorkerLostSecond", S::kBuilding, InfraFailure::kWorkerLost, 2, S::kBuildQueued, seconds(4)},
        InfraCase{"WorkerLostThird", S::kBuilding, InfraFailure::kWorkerLost, 3, S::kBuildQueued, seconds(16)},
        InfraCase{"WorkerLostOnceTooOften", S::kBuilding, InfraFailure::kWorkerLost, 4, S::kInfraFailed, seconds(0)},
        InfraCase{"DeviceLostWhileRunning", S::kRunning, InfraFailure::kDeviceLost, 1, S::kMeasureQueued, seconds(1)},
        InfraCase{"LeaseExpiredBeforeStart", S::kAssigned, InfraFailure::kLeaseExpired, 2, S::kMeasureQueued,
                  seconds(4)},
        InfraCase{"ArtifactLostBuildsAgain", S::kAssigned, InfraFailure::kArtifactLost, 1, S::kBuildQueued, seconds(1)},
        InfraCase{"DeviceLostOnceTooOften", S::kRunning, InfraFailure::kDeviceLost, 4, S::kInfraFailed, seconds(0)}),
    [](const auto& info) { return info.param.name; });

TEST(AfterMeasurement, MeasuresANoisyTrialOnceMore) {
  EXPECT_EQ(AfterMeasurement(S::kNoisy, 1).state, S::kMeasureQueued);
  EXPECT_EQ(AfterMeasurement(S::kNoisy, 2).state, S::kNoisy);
}
TEST(AfterMeasurement, EndsWithEveryOtherOutcome) {
  for (const S state : AllTrialStates()) {
    if (!IsMeasureOutcome(state) || state == S::kNoisy) continue;
    EXPECT_EQ(AfterMeasurement(state, 0).state, state);
  }
}

}  // namespace
}  // namespace lathe
