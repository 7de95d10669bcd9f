// What a late, doubled or foreign message may do: nothing, except add data.
#include "store_testing.h"

namespace lathe {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using S = TrialState;

class FencingTest : public testing::Test {
 protected:
  FakeClock clock_{kNow};
  std::unique_ptr<Store> owner_ = *SqliteStore::OpenInMemory(clock_);
  Store& store_ = *owner_;
  Scene scene_{store_};
};

// What happens between the claim that a result belongs to and its arrival.
enum class Before {
  kNothing,
  kSameResult,
  kLeaseReleased,
  kLeaseExpired,
  kDeviceLost,
  kClaimedAgain,
  kFinishedByAnother,
  kCancelled
};
struct ResultCase {
  const char* name;
  Before before;
  bool other_module;
  Ack ack;
  bool kept;            // As a record.
  int64_t trials_done;  // Afterwards.
  S state;              // Afterwards.
};

class ResultFenceTest : public FencingTest, public testing::WithParamInterface<ResultCase> {
 protected:
  void Happen(Before what, const RunResult& result) {
    switch (what) {
      case Before::kNothing:
        return;
      case Before::kSameResult:
        EXPECT_EQ(store_.CommitResult(result)->ack, Ack::kAccepted);
        return;
      case Before::kLeaseReleased:
        EXPECT_TRUE(store_.EndLease(result.device_id, result.epoch, LeaseState::kReleased).ok());
        return;
      case Before::kLeaseExpired:
        EXPECT_TRUE(store_.EndLease(result.device_id, result.epoch, LeaseState::kExpired).ok());
        return;
      case Before::kDeviceLost:
        EXPECT_EQ(store_.LoseDevice(result.device_id)->size(), 1u);
        return;
      case Before::kClaimedAgain:
      case Before::kFinishedByAnother: {
        EXPECT_TRUE(store_.EndLease(result.device_id, result.epoch, LeaseState::kReleased).ok());
        scene_.Lease();
        const TrialRow again = scene_.Run(result.trial_id);
        if (what == Before::kClaimedAgain) return;
        EXPECT_EQ(store_.CommitResult(scene_.ResultOf(again, 500))->ack, Ack::kAccepted);
        return;
      }
      case Before::kCancelled:
        EXPECT_TRUE(store_.CancelJob(scene_.job_id, "").ok());
        return;
    }
  }
};

TEST_P(ResultFenceTest, CountsOnlyTheCurrentAttempt) {
  scene_.Lease();
  const TrialRow claim = scene_.Run(scene_.Build(1));
  RunResult result = scene_.ResultOf(claim, 1000);
  Happen(GetParam().before, result);
  if (GetParam().other_module) result.module_digest = Sha256("another");
  const int64_t records = store_.Stats()->records;
  const auto answer = store_.CommitResult(result);
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->ack, GetParam().ack);
  EXPECT_EQ(store_.Stats()->records - records, GetParam().kept ? 1 : 0);
  if (GetParam().kept) {
    EXPECT_EQ(store_.ListRecords({records, 1})->front().late, GetParam().ack == Ack::kStale);
  }
  EXPECT_EQ(scene_.Counts().trials_done, GetParam().trials_done);
  EXPECT_EQ(scene_.StateOf(claim.id), GetParam().state);
  // Whatever the first answer was, saying it again changes nothing.
  const int64_t after = store_.Stats()->records;
  EXPECT_NE(store_.CommitResult(result)->ack, Ack::kAccepted);
  EXPECT_EQ(store_.Stats()->records, after);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ResultFenceTest,
    testing::Values(ResultCase{"Current", Before::kNothing, false, Ack::kAccepted, true, 1, S::kOk},
                    ResultCase{"SentTwice", Before::kSameResult, false, Ack::kDuplicate, false, 1, S::kOk},
                    ResultCase{"LeaseReleased", Before::kLeaseReleased, false, Ack::kStale, true, 0, S::kMeasureQueued},
                    ResultCase{"LeaseExpired", Before::kLeaseExpired, false, Ack::kStale, true, 0, S::kMeasureQueued},
                    ResultCase{"DeviceLost", Before::kDeviceLost, false, Ack::kStale, true, 0, S::kMeasureQueued},
                    ResultCase{"ClaimedAgain", Before::kClaimedAgain, false, Ack::kStale, true, 0, S::kRunning},
                    ResultCase{"FinishedByAnother", Before::kFinishedByAnother, false, Ack::kStale, true, 1, S::kOk},
                    ResultCase{"Cancelled", Before::kCancelled, false, Ack::kStale, true, 0, S::kCancelled},
                    ResultCase{"LateWithAnotherModule", Before::kLeaseExpired, true, Ack::kStale, false, 0,
                               S::kMeasureQueued},
                    ResultCase{"DoneWithAnotherModule", Before::kSameResult, true, Ack::kStale, false, 1, S::kOk}),
    [](const auto& info) { return info.param.name; });

TEST_F(FencingTest, RefusesTheCurrentAttemptsResultForAnotherModule) {
  scene_.Lease();
  RunResult result = scene_.ResultOf(scene_.Run(scene_.Build(1)), 1000);
  result.module_digest = Sha256("another");
  const auto answer = store_.CommitResult(result);
  EXPECT_EQ(answer.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(answer.status().message(), HasSubstr("measure that one"));
}

// An attempt is claimed once, so an honest device cannot say this; whatever says it changes nothing and leaves nothing.
TEST_F(FencingTest, ForgetsAResultThatNobodyAskedFor) {
  scene_.Lease();
  const TrialRow claim = scene_.Run(scene_.Build(1));
  const RunResult result = scene_.ResultOf(claim, 1000);
  RunResult other_epoch = result, other_device = result, build = result, to_come = result;
  ++other_epoch.epoch;
  other_device.device_id = store_.RegisterDevice({"rpi4-02", "rpi4", "{}", 0})->id;
  --build.attempt;  // It was a worker's.
  ++to_come.attempt;
  for (const RunResult& other : {other_epoch, other_device, build, to_come}) {
    const auto answer = store_.CommitResult(other);
    ASSERT_TRUE(answer.ok()) << answer.status().ToString();
    EXPECT_EQ(answer->ack, Ack::kStale);
    EXPECT_EQ(answer->record_id, std::nullopt);
    EXPECT_EQ(scene_.StateOf(claim.id), S::kRunning);
  }
  EXPECT_EQ(store_.Stats()->records, 0);
  EXPECT_EQ(store_.CommitResult(result)->ack, Ack::kAccepted);
  EXPECT_EQ(scene_.Counts().trials_done, 1);
}

TEST_F(FencingTest, ALateResultInformsAndIsNeverBestWithoutANewMeasurement) {
  scene_.Measure(1, 1000);
  const TrialRow claim = scene_.Run(scene_.Build(2));
  ASSERT_TRUE(store_.EndLease(scene_.device_id, scene_.epoch, LeaseState::kReleased).ok());
  EXPECT_FALSE(store_.CommitResult(scene_.ResultOf(claim, 10))->new_best);
  const auto best = [&] { return *(*store_.QueryBest(std::vector{MakeKey()}))[0].record; };
  EXPECT_EQ(best().timings->median_ns, 1000);
  EXPECT_EQ(WholeHistory(store_, MakeKey())->front().timings->median_ns, 10) << "a search may learn from it";
  scene_.Lease();
  EXPECT_TRUE(store_.CommitResult(scene_.ResultOf(scene_.Run(claim.id), 20))->new_best);
  EXPECT_EQ(best().timings->median_ns, 20);
  EXPECT_FALSE(best().late);
}

TEST_F(FencingTest, ALateResultOfATrialThatTheFarmFailedSpendsNoBudgetASecondTime) {
  const int64_t id = scene_.Build(1);
  std::optional<RunResult> first;
  for (int failures = 0; failures < 4; ++failures, clock_.Advance(seconds(20))) {
    scene_.Lease(1000 * kSecond);
    const TrialRow claim = scene_.Run(id);
    if (!first) first = scene_.ResultOf(claim, 10);
    EXPECT_TRUE(store_.EndLease(scene_.device_id, scene_.epoch, LeaseState::kExpired).ok());
  }
  EXPECT_EQ(scene_.StateOf(id), S::kInfraFailed);
  EXPECT_EQ(scene_.Counts().trials_done, 1);
  EXPECT_TRUE(store_.CommitResult(*first)->record_id.has_value());
  EXPECT_EQ(*store_.CountMeasured(MakeKey()), 0) << "INFRA_FAILED has paid for it";
  EXPECT_THAT(*store_.MeasuredTraces(MakeKey()), testing::IsEmpty());
}

TEST_F(FencingTest, ForgetsABuildWhoseAttemptWasSuperseded) {
  const int64_t id = scene_.Propose(1);
  const TrialRow first = **store_.ClaimForBuild("a", 0, {});
  (void)store_.LoseWorker("a");
  clock_.Advance(seconds(1));
  const TrialRow second = **store_.ClaimForBuild("b", 0, {});
  const auto build = [&](const TrialRow& claim, const char* module) {
    return store_.CommitBuild({id, claim.attempt, BuiltArtifact{Sha256(module), 1}, ""}, S::kMeasureQueued)->ack;
  };
  EXPECT_EQ(build(first, "x"), Ack::kStale);
  EXPECT_EQ(scene_.StateOf(id), S::kBuilding);
  EXPECT_EQ(build(second, "y"), Ack::kAccepted);
  EXPECT_EQ(build(second, "y"), Ack::kDuplicate);
  EXPECT_EQ(build(first, "x"), Ack::kStale);
  EXPECT_EQ(store_.GetTrial(id)->module_digest, Sha256("y"));
  EXPECT_TRUE(IsReferenced(store_, Sha256("y")));
  EXPECT_FALSE(IsReferenced(store_, Sha256("x")));
}

TEST_F(FencingTest, FencesFailuresAndProgressToo) {
  scene_.Lease();
  const TrialRow claim = scene_.Claim(scene_.Build(1));
  const AttemptFence fence = Scene::FenceOf(claim);
  AttemptFence former = fence, of_a_worker = fence, other_device = fence, other_epoch = fence;
  --former.attempt;
  of_a_worker.device_id = of_a_worker.epoch = 0;
  ++other_device.device_id;
  ++other_epoch.epoch;
  for (const AttemptFence& other : {former, of_a_worker, other_device, other_epoch}) {
    EXPECT_FALSE(*store_.AdvanceTrial(other, S::kRunning));
    EXPECT_EQ(store_.FailAttempt(other, InfraFailure::kOther, "")->ack, Ack::kStale);
  }
  EXPECT_EQ(scene_.StateOf(claim.id), S::kAssigned);
  EXPECT_EQ(store_.FailAttempt(fence, InfraFailure::kArtifactLost, "")->trial_state, S::kBuildQueued);
  EXPECT_EQ(store_.FailAttempt(fence, InfraFailure::kArtifactLost, "")->ack, Ack::kStale);
  EXPECT_FALSE(*store_.AdvanceTrial(fence, S::kRunning));
}

TEST_F(FencingTest, RaisesTheEpochWithEachLeaseAndNeverLowersIt) {
  const int64_t first = scene_.Lease();
  ASSERT_TRUE(store_.EndLease(scene_.device_id, first, LeaseState::kReleased).ok());
  EXPECT_EQ(scene_.Lease(), first + 1);
  EXPECT_EQ(store_.RegisterDevice({"rpi4-01", "rpi4", "{}", 0})->epoch, first + 1);
  EXPECT_EQ(store_.RegisterDevice({"rpi4-01", "rpi4", "{}", 40})->epoch, 40)
      << "the device remembers more than the file";
  ASSERT_TRUE(store_.EndLease(scene_.device_id, first + 1, LeaseState::kReleased).ok());
  EXPECT_EQ(scene_.Lease(), 41);
  EXPECT_EQ(store_.GrantLease(scene_.device_id, "job", seconds(60), 50)->epoch, 51) << "so does the tracker";
}

TEST_F(FencingTest, LendsADeviceToOneHolderAtATime) {
  const int64_t id = scene_.Build(1);
  scene_.Lease(10 * kSecond);
  const TrialRow claim = scene_.Run(id);
  clock_.Advance(seconds(1));
  const int64_t second = store_.GrantLease(scene_.device_id, "another", seconds(60), 0)->epoch;
  EXPECT_EQ(store_.ListGrantedLeases()->size(), 1u);
  EXPECT_EQ(store_.ListGrantedLeases()->front().epoch, second);
  EXPECT_EQ(store_.GetTrial(claim.id)->state, S::kMeasureQueued);
  EXPECT_EQ(store_.GetTrial(claim.id)->infra_failures, 0) << "whoever lends it to another knows why";
}

TEST_F(FencingTest, CountsAFailureOfTheFarmWhereALeaseRanOutBeforeTheNextOne) {
  const int64_t id = scene_.Build(1);
  scene_.Lease(10 * kSecond);
  const TrialRow claim = scene_.Run(id);
  clock_.Advance(seconds(10));
  ASSERT_TRUE(store_.GrantLease(scene_.device_id, "another", seconds(60), 0).ok());
  EXPECT_EQ(store_.GetTrial(claim.id)->infra_failures, 1);
}

TEST_F(FencingTest, RenewsOnlyALeaseThatHasNotEndedAndNeverShortensIt) {
  const int64_t epoch = scene_.Lease(10 * kSecond);
  EXPECT_EQ(store_.RenewLease(scene_.device_id, epoch, seconds(20))->expires_unix_ns, kNow + 20 * kSecond);
  EXPECT_EQ(store_.RenewLease(scene_.device_id, epoch, seconds(15))->expires_unix_ns, kNow + 20 * kSecond);
  EXPECT_EQ(store_.RenewLease(scene_.device_id, epoch - 1, seconds(60)).code(), StatusCode::kFailedPrecondition);
  clock_.Advance(seconds(25));
  EXPECT_TRUE(store_.RenewLease(scene_.device_id, epoch, seconds(60)).ok()) << "it ran out and nobody ended it";
  ASSERT_TRUE(store_.EndLease(scene_.device_id, epoch, LeaseState::kReleased).ok());
  EXPECT_EQ(store_.RenewLease(scene_.device_id, epoch, seconds(90)).code(), StatusCode::kFailedPrecondition);
}

TEST_F(FencingTest, ClaimsNothingUnderALeaseThatHasEnded) {
  const int64_t epoch = scene_.Lease(10 * kSecond);
  scene_.Build(1);
  EXPECT_EQ(store_.ClaimForMeasure(scene_.device_id, epoch + 1, {}).code(), StatusCode::kFailedPrecondition);
  clock_.Advance(seconds(10));
  EXPECT_TRUE(store_.ClaimForMeasure(scene_.device_id, epoch, {.trial_id = 99}).ok())
      << "it ran out and nobody ended it: its holder was stopped, or a clock was put forward";
  ASSERT_TRUE(store_.EndLease(scene_.device_id, epoch, LeaseState::kReleased).ok());
  const auto late = store_.ClaimForMeasure(scene_.device_id, epoch, {});
  EXPECT_EQ(late.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(late.status().message(), HasSubstr("this lease has ended; ask for a new one"));
}

TEST_F(FencingTest, ReturnsTrialsUncountedWhenALeaseIsGivenBack) {
  const int64_t epoch = scene_.Lease();
  const TrialRow claim = scene_.Claim(scene_.Build(1));
  ASSERT_TRUE(store_.EndLease(scene_.device_id, epoch, LeaseState::kReleased).ok());
  ASSERT_TRUE(store_.EndLease(scene_.device_id, epoch, LeaseState::kReleased).ok());
  EXPECT_EQ(store_.GetTrial(claim.id)->infra_failures, 0);
  scene_.Lease();
  EXPECT_EQ(scene_.Claim(claim.id).attempt, claim.attempt + 1);
}

}  // namespace
}  // namespace lathe
