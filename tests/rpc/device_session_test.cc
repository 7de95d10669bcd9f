#include "rpc/device/device_session.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

template <typename T>
std::vector<T> Only(const std::vector<DeviceAction>& actions) {
  std::vector<T> found;
  for (const DeviceAction& action : actions) {
    if (const T* match = std::get_if<T>(&action)) found.push_back(*match);
  }
  return found;
}

template <typename M>
std::vector<M> Sent(const std::vector<DeviceAction>& actions) {
  std::vector<M> found;
  for (const SendMessage& send : Only<SendMessage>(actions)) {
    if (const M* match = std::get_if<M>(&send.message)) found.push_back(*match);
  }
  return found;
}

const std::string kModule = "module text";

v1::MeasureSpec Spec(int64_t trial, int64_t epoch, const std::string& module = kModule) {
  v1::MeasureSpec spec;
  spec.set_trial_id(trial);
  spec.set_attempt(1);
  spec.set_epoch(epoch);
  spec.mutable_module()->set_digest(std::string(Sha256(module).raw()));
  spec.mutable_module()->set_size(static_cast<int64_t>(module.size()));
  spec.set_kernel("main");
  spec.set_wall_limit_ns(Duration(seconds(2)).count());
  spec.set_threads(1);
  return spec;
}

v1::Desired Desire(int64_t epoch, std::initializer_list<int64_t> trials) {
  v1::Desired desired;
  desired.set_epoch(epoch);
  for (const int64_t trial : trials) *desired.add_specs() = Spec(trial, epoch);
  return desired;
}

v1::MeasureResult Good() {
  v1::MeasureResult outcome;
  outcome.set_status(v1::MEASURE_STATUS_OK);
  outcome.add_samples_ns(5);
  return outcome;
}

class DeviceSessionTest : public testing::Test {
 protected:
  static DeviceSessionOptions Options() {
    DeviceSessionOptions options;
    options.facts.set_name("board");
    options.facts.set_key("pi4");
    return options;
  }
  std::vector<DeviceAction> Step(const DeviceEvent& event) { return session_.Step(event, now_); }
  std::vector<DeviceAction> Receive(const DeviceMessage& message) { return Step(MessageArrived{message}); }
  std::vector<DeviceAction> Welcome() {
    Step(LinkUp{});
    v1::Welcome welcome;
    welcome.set_version(1);
    return Receive(welcome);
  }
  // The module is in the store already.
  std::vector<DeviceAction> HaveModule() { return Step(BlobLookedUp{Sha256(kModule), true, 0}); }
  // Trials 1 and 2 of `epoch`: the first measures as runner 1, the second is ready as runner 2.
  void MeasureOneReadyTwo(int64_t epoch) {
    Welcome();
    Receive(Desire(epoch, {1, 2}));
    ASSERT_EQ(Only<StartRunner>(HaveModule()).size(), 2u);
    ASSERT_EQ(Only<GoRunner>(Step(RunnerIsReady{1})).size(), 1u);
    ASSERT_TRUE(Only<GoRunner>(Step(RunnerIsReady{2})).empty());
  }
  TimePoint now_{seconds(50)};
  DeviceSession session_{Options(), Random(1)};
};

TEST_F(DeviceSessionTest, MeasuresOneWhileTheNextIsReady) {
  MeasureOneReadyTwo(1);
  now_ += milliseconds(80);
  const auto actions = Step(RunnerEnded{1, Good()});
  EXPECT_EQ(Only<SpoolResult>(actions).size(), 1u);
  ASSERT_EQ(Sent<v1::MeasureResult>(actions).size(), 1u);
  EXPECT_TRUE(CheckMeasureResult(Sent<v1::MeasureResult>(actions)[0]).ok());
  EXPECT_EQ(Sent<v1::MeasureResult>(actions)[0].measure_ns(), 80'000'000);
  ASSERT_EQ(Only<GoRunner>(actions).size(), 1u);
  EXPECT_EQ(Only<GoRunner>(actions)[0].runner, 2u);
}

class HotBoardTest : public DeviceSessionTest {
 protected:
  HotBoardTest() : session_{HotOptions(), Random(1)} {}
  static DeviceSessionOptions HotOptions() {
    DeviceSessionOptions options = Options();
    options.start_below_c = 65;
    return options;
  }
  std::vector<DeviceAction> Step(const DeviceEvent& event) { return session_.Step(event, now_); }
  // Trial 1 is ready, on a board so hot.
  std::vector<DeviceAction> ReadyAt(double temperature_c) {
    Step(LinkUp{});
    v1::Welcome welcome;
    welcome.set_version(1);
    Step(MessageArrived{welcome});
    Step(MessageArrived{Desire(1, {1})});
    Step(BlobLookedUp{Sha256(kModule), true, 0});
    session_.SetBoard({.temperature_c = temperature_c});
    return Step(RunnerIsReady{1});
  }
  v1::MeasureResult EndAs(v1::MeasureStatus status) {
    v1::MeasureResult outcome = Good();
    outcome.set_status(status);
    return Sent<v1::MeasureResult>(Step(RunnerEnded{1, outcome})).at(0);
  }
  DeviceSession session_;
};

TEST_F(HotBoardTest, WaitsUntilItHasCooledDown) {
  const auto actions = ReadyAt(71);
  EXPECT_THAT(Only<GoRunner>(actions), testing::IsEmpty());
  ASSERT_EQ(Only<TellOperator>(actions).size(), 1u);
  EXPECT_EQ(Only<TellOperator>(actions)[0].text, "waits to measure: 71 degrees Celsius, begins at 65 at most");
  EXPECT_THAT(Only<GoRunner>(Step(RunnerTicked{1})), testing::IsEmpty());
  ASSERT_LE(session_.NextDeadline(), now_ + seconds(2)) << "and looks again";
  now_ += seconds(2);
  session_.SetBoard({.temperature_c = 66});
  EXPECT_THAT(Only<GoRunner>(Step(TimeCame{})), testing::IsEmpty());
  EXPECT_GT(session_.NextDeadline(), now_) << "not at once";
  now_ += seconds(2);
  session_.SetBoard({.temperature_c = 64});
  EXPECT_EQ(Only<GoRunner>(Step(TimeCame{})).size(), 1u);
  session_.SetBoard({.temperature_c = 69.5});
  const v1::MeasureResult result = EndAs(v1::MEASURE_STATUS_OK);
  EXPECT_EQ(result.status(), v1::MEASURE_STATUS_OK) << "hot is not held back";
  EXPECT_EQ(result.env().temperature_before_c(), 64);
  EXPECT_EQ(result.env().temperature_after_c(), 69.5);
  EXPECT_EQ(result.env().degraded_size(), 0);
}

TEST_F(HotBoardTest, MeasuresAfterThreeMinutesAllTheSameAndSaysSo) {
  ReadyAt(80);
  for (int i = 0; i < 89; ++i) {
    now_ += seconds(2);
    ASSERT_THAT(Only<GoRunner>(Step(TimeCame{})), testing::IsEmpty()) << i;
  }
  now_ += seconds(2);
  EXPECT_EQ(Only<GoRunner>(Step(TimeCame{})).size(), 1u);
  const v1::MeasureResult result = EndAs(v1::MEASURE_STATUS_OK);
  ASSERT_EQ(result.env().degraded_size(), 1);
  EXPECT_EQ(result.env().degraded(0), "the board was too hot to begin, and did not cool down in 180 s");
}

TEST_F(HotBoardTest, ForgetsAboutHeatWhenNobodyWantsToMeasureAnyMore) {
  ReadyAt(80);
  Step(MessageArrived{Desire(2, {})});
  Step(RunnerEnded{1, {}});
  now_ += seconds(2);
  Step(TimeCame{});
  EXPECT_GT(session_.NextDeadline(), now_) << "else it would wake up for ever";
}

struct HeldBack {
  const char* name;
  v1::MeasureStatus status, reported;
};
class HeldBackRunTest : public HotBoardTest, public testing::WithParamInterface<HeldBack> {};
TEST_P(HeldBackRunTest, IsNoisyWhateverItsSamplesSay) {
  EXPECT_EQ(Only<GoRunner>(ReadyAt(50)).size(), 1u);
  session_.SetBoard({.temperature_c = 81, .firmware_word = 0x40004});
  const v1::MeasureResult result = EndAs(GetParam().status);
  EXPECT_EQ(result.status(), GetParam().reported);
  ASSERT_EQ(result.env().degraded_size(), 1);
  EXPECT_EQ(result.env().degraded(0), "heat, current or the supply held the clock back");
}
INSTANTIATE_TEST_SUITE_P(Statuses, HeldBackRunTest,
                         testing::Values(HeldBack{"Ok", v1::MEASURE_STATUS_OK, v1::MEASURE_STATUS_NOISY},
                                         HeldBack{"Censored", v1::MEASURE_STATUS_CENSORED, v1::MEASURE_STATUS_NOISY},
                                         HeldBack{"WrongResult", v1::MEASURE_STATUS_WRONG_RESULT,
                                                  v1::MEASURE_STATUS_WRONG_RESULT}),
                         [](const auto& info) { return info.param.name; });

// What is between the two may keep a connection open whose other end is long gone: a tunnel, a proxy, a router.
TEST_F(DeviceSessionTest, DialsAnewWhenAServerThatAnswersSaysNothingForAMinute) {
  Step(LinkUp{});
  v1::Welcome welcome;
  welcome.set_version(1);
  welcome.add_features(std::string(kAnswersFeature));
  Receive(welcome);
  now_ += seconds(59);
  EXPECT_THAT(Only<CloseLink>(Step(TimeCame{})), testing::IsEmpty());
  Receive(Desire(1, {}));
  now_ += seconds(59);
  EXPECT_THAT(Only<CloseLink>(Step(TimeCame{})), testing::IsEmpty());
  now_ += seconds(1);
  ASSERT_LE(session_.NextDeadline(), now_);
  const auto actions = Step(TimeCame{});
  ASSERT_EQ(Only<CloseLink>(actions).size(), 1u);
  EXPECT_THAT(Only<CloseLink>(actions)[0].reason, HasSubstr("device link: nothing from the server for 60 s"));
  EXPECT_EQ(Only<ReconnectAfter>(actions).size(), 1u);
}

TEST_F(DeviceSessionTest, WaitsForAServerThatDoesNotSayThatItAnswers) {
  Welcome();
  now_ += seconds(3600);
  EXPECT_THAT(Only<CloseLink>(Step(TimeCame{})), testing::IsEmpty());
}

TEST_F(DeviceSessionTest, CountsTheGapBetweenTwoTrialsOnlyIfTheSecondWaited) {
  MeasureOneReadyTwo(1);
  Step(RunnerIsTiming{1, true});
  Step(RunnerIsTiming{1, false});
  now_ += milliseconds(3);
  Step(RunnerEnded{1, Good()});  // 2 goes.
  Step(RunnerIsTiming{2, true});
  Step(RunnerIsTiming{2, false});
  auto actions = Step(RunnerEnded{2, Good()});
  ASSERT_EQ(Sent<v1::MeasureResult>(actions).size(), 1u);
  EXPECT_EQ(Sent<v1::MeasureResult>(actions)[0].idle_ns(), 3'000'000);
  Receive(Desire(1, {3}));
  HaveModule();
  now_ += seconds(9);
  Step(RunnerIsReady{3});
  actions = Step(RunnerEnded{3, Good()});
  ASSERT_EQ(Sent<v1::MeasureResult>(actions).size(), 1u);
  EXPECT_EQ(Sent<v1::MeasureResult>(actions)[0].idle_ns(), -1);
}

TEST_F(DeviceSessionTest, FetchesWhatIsMissingAndResumes) {
  Welcome();
  EXPECT_EQ(Only<LookUpBlob>(Receive(Desire(1, {1}))).size(), 1u);
  auto need = Sent<v1::NeedBlobs>(Step(BlobLookedUp{Sha256(kModule), false, 3}));
  ASSERT_EQ(need.size(), 1u);
  EXPECT_EQ(need[0].blobs(0).offset(), 3);
  v1::BlobChunk chunk;
  chunk.set_digest(std::string(Sha256(kModule).raw()));
  chunk.set_offset(3);
  chunk.set_data("ul");
  const auto actions = Receive(chunk);
  ASSERT_EQ(Only<WriteBlob>(actions).size(), 1u);
  EXPECT_EQ(Sent<v1::BlobCredit>(actions).at(0).bytes(), 2);
  EXPECT_TRUE(Only<WriteBlob>(Receive(chunk)).empty());  // A second copy.
  Step(BlobWritten{Sha256(kModule), OkStatus(), false, 5});
  Step(LinkDown{"reset"});
  need = Sent<v1::NeedBlobs>(Welcome());
  ASSERT_EQ(need.size(), 1u);
  EXPECT_EQ(need[0].blobs(0).offset(), 5);
  EXPECT_EQ(Only<StartRunner>(Step(BlobWritten{Sha256(kModule), OkStatus(), true, 11})).size(), 1u);
}

TEST_F(DeviceSessionTest, FailsATrialWhoseBlobCannotBeHad) {
  Welcome();
  Receive(Desire(1, {1}));
  Step(BlobLookedUp{Sha256(kModule), false, 0});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Sent<v1::NeedBlobs>(Step(BlobWritten{Sha256(kModule), DataLoss("digest differs"), false, 0})).size(), 1u);
  }
  const auto results =
      Sent<v1::MeasureResult>(Step(BlobWritten{Sha256(kModule), DataLoss("digest differs"), false, 0}));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].status(), v1::MEASURE_STATUS_INFRA_FAILED);
  EXPECT_THAT(results[0].message(), HasSubstr("digest differs"));
}

TEST_F(DeviceSessionTest, KillsTheOldRunnersOnAHigherEpochBeforeItMeasures) {
  MeasureOneReadyTwo(4);
  auto actions = Receive(Desire(5, {7}));
  EXPECT_EQ(Only<KillRunner>(actions).size(), 2u);
  EXPECT_EQ(Only<StartRunner>(actions).size(), 1u);  // The module is here; being ready does no harm.
  EXPECT_TRUE(Only<GoRunner>(Step(RunnerIsReady{3})).empty());
  EXPECT_TRUE(Only<GoRunner>(Step(RunnerEnded{2, {}})).empty());
  actions = Step(RunnerEnded{1, Good()});
  EXPECT_TRUE(Only<SpoolResult>(actions).empty());
  ASSERT_EQ(Only<GoRunner>(actions).size(), 1u);
  EXPECT_EQ(Only<GoRunner>(actions)[0].runner, 3u);
}

TEST_F(DeviceSessionTest, DropsALowerEpoch) {
  MeasureOneReadyTwo(4);
  const auto actions = Receive(Desire(3, {9}));
  EXPECT_TRUE(Only<KillRunner>(actions).empty());
  EXPECT_TRUE(Only<LookUpBlob>(actions).empty());
  EXPECT_EQ(session_.epoch_seen(), 4);
}

TEST_F(DeviceSessionTest, EndsWhatIsNoLongerDesiredAndReportsWhatIsCancelled) {
  MeasureOneReadyTwo(4);
  v1::Desired desired = Desire(4, {});
  desired.add_cancel(1);
  EXPECT_EQ(Only<KillRunner>(Receive(desired)).size(), 2u);
  const auto results = Sent<v1::MeasureResult>(Step(RunnerEnded{1, {}}));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].status(), v1::MEASURE_STATUS_CANCELLED);
  EXPECT_TRUE(Sent<v1::MeasureResult>(Step(RunnerEnded{2, {}})).empty());
}

TEST_F(DeviceSessionTest, StartsAgainWhatWasWithdrawnAndIsDesiredAgain) {
  MeasureOneReadyTwo(4);
  Receive(Desire(4, {1}));
  EXPECT_TRUE(Only<LookUpBlob>(Receive(Desire(4, {1, 2}))).empty());  // The old runner of 2 still ends.
  EXPECT_EQ(Only<StartRunner>(Step(RunnerEnded{2, {}})).size(), 1u);
}

TEST_F(DeviceSessionTest, KeepsResultsUntilTheyAreAcknowledged) {
  MeasureOneReadyTwo(1);
  Step(LinkDown{"reset"});
  const auto actions = Step(RunnerEnded{1, Good()});  // Work goes on without a server.
  EXPECT_TRUE(Sent<v1::MeasureResult>(actions).empty());
  EXPECT_EQ(Only<GoRunner>(actions).size(), 1u);
  const auto hello = Sent<v1::Hello>(Step(LinkUp{}));
  EXPECT_EQ(hello.at(0).spooled_keys_size(), 1);
  v1::Welcome welcome;
  welcome.set_version(1);
  *welcome.mutable_desired() = Desire(1, {1, 2});
  const auto again = Receive(welcome);
  ASSERT_EQ(Sent<v1::MeasureResult>(again).size(), 1u);
  EXPECT_TRUE(Only<LookUpBlob>(again).empty());  // It has run; it is not run twice.
  v1::ResultAck ack;
  ack.set_key(Sent<v1::MeasureResult>(again)[0].key());
  ack.set_verdict(v1::ACK_VERDICT_ACK);
  EXPECT_EQ(Only<DeleteSpooled>(Receive(ack)).size(), 1u);
  EXPECT_TRUE(Only<LookUpBlob>(Receive(Desire(1, {1, 2}))).empty());  // Nor after the acknowledgement.
  EXPECT_EQ(session_.spooled(), 0u);
}

// The power of the server was cut, and with it went that it had given the trial out: it does so once more.
TEST_F(DeviceSessionTest, RunsAgainWhatTheServerDidNotKnow) {
  MeasureOneReadyTwo(1);
  const auto sent = Sent<v1::MeasureResult>(Step(RunnerEnded{1, Good()}));
  v1::ResultAck ack;
  ack.set_key(sent.at(0).key());
  ack.set_verdict(v1::ACK_VERDICT_STALE);
  EXPECT_EQ(Only<DeleteSpooled>(Receive(ack)).size(), 1u);
  Step(RunnerEnded{2, Good()});
  EXPECT_EQ(session_.Declare().trials_size(), 0) << "nobody has asked again";
  Receive(Desire(1, {2, 1}));
  EXPECT_EQ(session_.Declare().trials_size(), 1);
}

TEST_F(DeviceSessionTest, IsQuietWhileTheRunnerIsTiming) {
  MeasureOneReadyTwo(1);
  v1::Desired desired = Desire(1, {1});
  *desired.add_specs() = Spec(3, 1, "other");
  Receive(desired);  // 2 is withdrawn, 3 needs a blob.
  Step(RunnerIsTiming{1, true});
  auto actions = Step(BlobLookedUp{Sha256("other"), false, 0});
  EXPECT_TRUE(Sent<v1::NeedBlobs>(actions).empty());
  actions = Step(RunnerIsTiming{1, false});
  EXPECT_EQ(Sent<v1::NeedBlobs>(actions).size(), 1u);
  Step(RunnerIsTiming{1, true});
  v1::BlobChunk chunk;
  chunk.set_digest(std::string(Sha256("other").raw()));
  chunk.set_data("other");
  actions = Receive(chunk);
  EXPECT_TRUE(Only<WriteBlob>(actions).empty());
  EXPECT_TRUE(Sent<v1::BlobCredit>(actions).empty());
  actions = Step(RunnerIsTiming{1, false});
  EXPECT_EQ(Only<WriteBlob>(actions).size(), 1u);
  EXPECT_EQ(Sent<v1::BlobCredit>(actions).size(), 1u);
}

TEST_F(DeviceSessionTest, WritesNoSpoolFileWhileAnotherRunnerIsTiming) {
  MeasureOneReadyTwo(1);
  Step(RunnerIsTiming{1, true});
  v1::MeasureResult crash;
  crash.set_status(v1::MEASURE_STATUS_CRASH);
  EXPECT_TRUE(Only<SpoolResult>(Step(RunnerEnded{2, crash})).empty());
  EXPECT_EQ(Only<SpoolResult>(Step(RunnerIsTiming{1, false})).size(), 1u);
}

TEST_F(DeviceSessionTest, KillsARunnerThatOutlivesItsLimit) {
  MeasureOneReadyTwo(1);
  now_ += seconds(6);
  EXPECT_TRUE(Only<KillRunner>(Step(TimeCame{})).empty());
  now_ += seconds(1);
  EXPECT_EQ(Only<KillRunner>(Step(TimeCame{})).size(), 1u);
  const auto results = Sent<v1::MeasureResult>(Step(RunnerEnded{1, {}}));
  EXPECT_EQ(results.at(0).status(), v1::MEASURE_STATUS_RUN_TIMEOUT);
  EXPECT_THAT(results.at(0).message(), HasSubstr("limit of 2 s"));
}

TEST_F(DeviceSessionTest, KillsARunnerThatDoesNotGetReady) {
  Welcome();
  Receive(Desire(1, {1}));
  HaveModule();
  now_ += seconds(10);
  EXPECT_EQ(Only<KillRunner>(Step(TimeCame{})).size(), 1u);
  EXPECT_EQ(Sent<v1::MeasureResult>(Step(RunnerEnded{1, {}})).at(0).status(), v1::MEASURE_STATUS_INFRA_FAILED);
}

TEST_F(DeviceSessionTest, StartsNoRunnerWhileItsSpoolIsFull) {
  DeviceSessionOptions options = Options();
  options.spool_limit = 1;
  DeviceSession session(options, Random(1));
  session.Step(LinkUp{}, now_);
  v1::Welcome welcome;
  welcome.set_version(1);
  *welcome.mutable_desired() = Desire(1, {1});
  session.Step(MessageArrived{welcome}, now_);
  session.Step(BlobLookedUp{Sha256(kModule), true, 0}, now_);
  session.Step(RunnerIsReady{1}, now_);
  const std::string key = Sent<v1::MeasureResult>(session.Step(RunnerEnded{1, Good()}, now_)).at(0).key();
  session.Step(MessageArrived{Desire(1, {2})}, now_);
  EXPECT_TRUE(Only<StartRunner>(session.Step(BlobLookedUp{Sha256(kModule), true, 0}, now_)).empty());
  v1::ResultAck ack;
  ack.set_key(key);
  EXPECT_EQ(Only<StartRunner>(session.Step(MessageArrived{ack}, now_)).size(), 1u);
}

TEST_F(DeviceSessionTest, BeatsEveryIntervalAndAtEachChange) {
  Welcome();
  ASSERT_TRUE(session_.NextDeadline().has_value());
  EXPECT_EQ(*session_.NextDeadline() - now_, seconds(5));
  EXPECT_TRUE(Sent<v1::Current>(Step(TimeCame{})).empty());
  now_ += seconds(5);
  EXPECT_EQ(Sent<v1::Current>(Step(TimeCame{})).size(), 1u);
  EXPECT_EQ(Sent<v1::Current>(Receive(Desire(1, {1}))).at(0).trials(0).phase(), v1::TRIAL_PHASE_FETCHING);
}

TEST_F(DeviceSessionTest, RedialsWithGrowingRandomPauses) {
  Duration longest{0};
  Duration limit = milliseconds(500);
  for (int i = 0; i < 12; ++i) {
    const Duration delay = Only<ReconnectAfter>(Step(LinkDown{"refused"})).at(0).delay;
    EXPECT_LE(delay, limit);
    longest = std::max(longest, delay);
    limit = std::min<Duration>(limit * 2, seconds(30));
  }
  EXPECT_GT(longest, seconds(5));
  Welcome();
  EXPECT_LE(Only<ReconnectAfter>(Step(LinkDown{"reset"})).at(0).delay, milliseconds(500));
  EXPECT_FALSE(session_.NextDeadline().has_value());  // Nothing to wake for but the redial.
}

TEST_F(DeviceSessionTest, ClosesOnAServerThatBreaksTheRules) {
  Welcome();
  const v1::Desired four = Desire(1, {1, 2, 3, 4});
  EXPECT_THAT(Only<CloseLink>(Receive(four)).at(0).reason, HasSubstr("4 specs, at most 3"));
  Step(LinkUp{});
  EXPECT_THAT(Only<CloseLink>(Receive(Desire(1, {}))).at(0).reason, HasSubstr("Desired arrived before Welcome"));
  Welcome();
  EXPECT_THAT(Only<CloseLink>(Receive(v1::Hello())).at(0).reason, HasSubstr("a server does not send Hello"));
  Welcome();
  EXPECT_EQ(Sent<v1::Unsupported>(Receive(UnknownMessage{77})).at(0).type(), 77u);
  EXPECT_TRUE(session_.is_welcome());
}

}  // namespace
}  // namespace lathe
