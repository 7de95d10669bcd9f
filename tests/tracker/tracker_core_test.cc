#include "tracker/tracker_core.h"

#include <gmock/gmock.h>

#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr TimePoint kStart{seconds(1000)};

template <typename T>
std::vector<T> Only(const std::vector<TrackerAction>& actions) {
  std::vector<T> found;
  for (const TrackerAction& action : actions) {
    if (const T* match = std::get_if<T>(&action)) found.push_back(*match);
  }
  return found;
}

LeaseRequested Ask(const std::string& request, const std::string& key) {
  return {.request_id = request, .wish = DeviceWish::OfKey(key)};
}

class TrackerTest : public testing::Test {
 protected:
  std::vector<TrackerAction> Step(const TrackerEvent& event) { return tracker_.Step(event, now_); }
  void Connect(const std::string& name, const std::string& key = "local", int64_t epoch = 0) {
    Step(DeviceReported{{name, key, "{}", epoch}, {}});
  }
  // Time goes on in heartbeats of all devices.
  void Live(seconds time, const std::vector<std::string>& devices) {
    for (seconds done{0}; done < time; done += seconds(5)) {
      now_ += seconds(5);
      for (const std::string& device : devices) Step(DeviceHeard{device});
    }
  }
  LeaseRecord Grant(const std::string& request, const std::string& key = "local") {
    const auto grants = Only<PersistGrant>(Step(Ask(request, key)));
    EXPECT_EQ(grants.size(), 1u);
    const auto answers =
        Only<AnswerGranted>(Step(GrantCommitted{grants[0].lease.device, request, OkStatus(), ++epoch_}));
    EXPECT_EQ(answers.size(), 1u);
    return answers[0].lease;
  }
  TimePoint now_ = kStart;
  int64_t epoch_ = 0;
  TrackerCore tracker_{TrackerSnapshot{}, kStart};
};

TEST_F(TrackerTest, AnswersAGrantOnlyAfterTheCommit) {
  Connect("a");
  const auto actions = Step(Ask("r1", "local"));
  EXPECT_EQ(Only<PersistGrant>(actions).size(), 1u);
  EXPECT_TRUE(Only<AnswerGranted>(actions).empty());
  EXPECT_EQ(tracker_.LeaseOf("a"), nullptr);
  const auto answers = Only<AnswerGranted>(Step(GrantCommitted{"a", "r1", OkStatus(), 5}));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].lease, (LeaseRecord{"a", 5, "r1", "local"}));
}

TEST_F(TrackerTest, RequestsAskedTwiceAreOneRequest) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  const auto again = Only<AnswerGranted>(Step(Ask("r1", "local")));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].lease, lease);
  Step(Ask("r2", "local"));
  Step(Ask("r2", "local"));
  Step(Ask("r3", "local"));
  EXPECT_THAT(tracker_.WhyWaiting("r3"), HasSubstr("1 before it in line"));
}

TEST_F(TrackerTest, NobodyInLineGetsADeviceThatIsHeldBackUntilItIsNot) {
  Step(DeviceHeldBack{"a"});
  Connect("a");
  EXPECT_TRUE(Only<PersistGrant>(Step(Ask("job-1/0", "local"))).empty());
  EXPECT_EQ(tracker_.leases().WhyNotNow("a", {}), "it is about to be checked");
  EXPECT_THAT(tracker_.WhyWaiting("job-1/0"), HasSubstr("\"local\" (1, 1 being checked)"));
  const auto claimed = Only<PersistGrant>(Step(LeaseClaimed{"a", HealthCheckId("a"), seconds(60)}));
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].ttl, seconds(60));
  EXPECT_EQ(Only<AnswerGranted>(Step(GrantCommitted{"a", "health:a", OkStatus(), 7})).size(), 1u);
  EXPECT_EQ(tracker_.leases().WhyNotNow("a", {}), "it is being checked");
  Live(seconds(50), {"a"});
  EXPECT_NE(tracker_.LeaseOf("a"), nullptr) << "nobody renews it, and it lasts";
  EXPECT_TRUE(Only<PersistGrant>(Step(LeaseReleased{"a", 7})).empty());
  const auto granted = Only<PersistGrant>(Step(DeviceHeldBack{"a", false}));
  ASSERT_EQ(granted.size(), 1u);
  EXPECT_EQ(granted[0].lease.request_id, "job-1/0");
}

// What is free is known from step to step while somebody is in line.
TEST_F(TrackerTest, NobodyInLineGetsWhatWasFreeUntilItWasClaimedOrHeldBack) {
  Connect("a");
  Connect("b");
  Step(Ask("other", "pi4"));
  ASSERT_EQ(Only<PersistGrant>(Step(LeaseClaimed{"a", HealthCheckId("a"), seconds(60)})).size(), 1u);
  Step(DeviceHeldBack{"b"});
  EXPECT_TRUE(Only<PersistGrant>(Step(Ask("r1", "local"))).empty());
  EXPECT_EQ(Only<PersistGrant>(Step(DeviceHeldBack{"b", false})).size(), 1u);
}

TEST_F(TrackerTest, AClaimWaitsForNobodyAndIsToldThatItCannotBeHad) {
  const auto why_not = [&](const std::vector<TrackerAction>& actions) {
    const auto ended = Only<AnswerEnded>(actions);
    return ended.size() == 1 ? ended[0].request_id + ": " + ended[0].reason : "";
  };
  const LeaseClaimed claim{"a", HealthCheckId("a"), seconds(60)};
  EXPECT_EQ(why_not(Step(claim)), "health:a: somebody has it, or it is away");
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  EXPECT_EQ(why_not(Step(claim)), "health:a: somebody has it, or it is away");
  Step(LeaseReleased{"a", lease.epoch});
  EXPECT_EQ(Only<PersistGrant>(Step(claim)).size(), 1u);
  EXPECT_EQ(why_not(Step(GrantCommitted{"a", "health:a", Unavailable("disk full"), 0})), "health:a: disk full");
  EXPECT_EQ(tracker_.WhyWaiting("health:a"), "") << "it is not in line";
}

TEST_F(TrackerTest, AQuarantinedDeviceCanBeClaimedAndNotBeLent) {
  Connect("a");
  Step(DeviceServiceSet{"a", {DeviceService::kQuarantined, "it is slow"}});
  EXPECT_TRUE(Only<PersistGrant>(Step(Ask("r1", "local"))).empty());
  EXPECT_EQ(Only<PersistGrant>(Step(LeaseClaimed{"a", HealthCheckId("a"), seconds(60)})).size(), 1u);
  EXPECT_EQ(Only<AnswerGranted>(Step(GrantCommitted{"a", "health:a", OkStatus(), 1})).size(), 1u);
  Live(seconds(60), {"a"});
  EXPECT_EQ(Only<AnswerEnded>(Step(TimePassed{})).size(), 1u);
  EXPECT_EQ(tracker_.LeaseOf("a"), nullptr);
}

TEST_F(TrackerTest, ServesTheOldestFirst) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  Step(Ask("r2", "local"));
  Step(Ask("r3", "local"));
  const auto next = Only<PersistGrant>(Step(LeaseReleased{"a", lease.epoch}));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].lease.request_id, "r2");
}

TEST_F(TrackerTest, EndsALeaseThatIsNotRenewed) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  Live(seconds(10), {"a"});
  EXPECT_EQ(Only<AnswerRenewed>(Step(LeaseRenewed{"a", lease.epoch})).size(), 1u);
  Live(seconds(25), {"a"});
  EXPECT_NE(tracker_.LeaseOf("a"), nullptr);
  now_ += seconds(5);
  const auto actions = Step(LeaseRenewed{"a", lease.epoch});  // Too late: it must not revive.
  ASSERT_EQ(Only<PersistEnd>(actions).size(), 1u);
  EXPECT_EQ(Only<PersistEnd>(actions)[0].why, LeaseEnd::kExpired);
  EXPECT_THAT(Only<AnswerEnded>(actions).at(0).reason, HasSubstr("not renewed for 30 s"));
  EXPECT_TRUE(Only<AnswerRenewed>(actions).empty());
}

TEST_F(TrackerTest, IgnoresAReleaseOfAFormerEpoch) {
  Connect("a");
  const LeaseRecord first = Grant("r1");
  Step(LeaseReleased{"a", first.epoch});
  const LeaseRecord second = Grant("r2");
  EXPECT_TRUE(Step(LeaseReleased{"a", first.epoch}).empty());
  EXPECT_EQ(tracker_.LeaseOf("a")->epoch, second.epoch);
}

TEST_F(TrackerTest, RefusesARenewalOfAFormerEpoch) {
  Connect("a");
  const LeaseRecord first = Grant("r1");
  Step(LeaseReleased{"a", first.epoch});
  const LeaseRecord second = Grant("r2");
  Live(seconds(20), {"a"});
  const auto actions = Step(LeaseRenewed{"a", first.epoch});
  EXPECT_TRUE(Only<AnswerRenewed>(actions).empty());
  EXPECT_TRUE(Only<PersistRenewal>(actions).empty());
  const auto ended = Only<AnswerEnded>(actions);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].epoch, first.epoch);
  Live(seconds(10), {"a"});
  Step(TimePassed{});  // The present lease was not lengthened by it.
  EXPECT_EQ(tracker_.LeaseOf("a"), nullptr);
  EXPECT_NE(first.epoch, second.epoch);
}

TEST_F(TrackerTest, SuspectsASilentDeviceThenLosesIt) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  now_ += seconds(10);
  Step(LeaseRenewed{"a", lease.epoch});
  now_ += seconds(5);
  EXPECT_EQ(Only<DeviceChange>(Step(TimePassed{})).at(0).to, DeviceState::kSuspect);
  EXPECT_NE(tracker_.LeaseOf("a"), nullptr);
  now_ += seconds(15);
  const auto actions = Step(TimePassed{});
  EXPECT_EQ(Only<DeviceChange>(actions).at(0).to, DeviceState::kLost);
  EXPECT_THAT(Only<AnswerEnded>(actions).at(0).reason, HasSubstr("device lost: silent for 30 s"));
}

TEST_F(TrackerTest, GivesNoLeaseOfASuspectOrDisconnectedDevice) {
  Connect("a");
  Step(DeviceLeft{"a"});
  EXPECT_TRUE(Only<PersistGrant>(Step(Ask("r1", "local"))).empty());
  EXPECT_EQ(tracker_.WhyWaiting("r1"), "needs device key \"local\"; known keys: \"local\" (1, 1 not connected)");
  EXPECT_EQ(Only<PersistGrant>(Step(DeviceReported{{"a", "local", "{}", 0}, {}})).size(), 1u);
}

TEST_F(TrackerTest, GivesNoLeaseOfAStalledDeviceForFiveMinutes) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  const auto actions = Step(DeviceStalled{"a", "trial 7: nothing came of it for 60 s"});
  ASSERT_EQ(Only<AnswerEnded>(actions).size(), 1u);
  EXPECT_EQ(Only<AnswerEnded>(actions)[0].reason, "device stalled: trial 7: nothing came of it for 60 s");
  EXPECT_EQ(Only<PersistEnd>(actions)[0].why, LeaseEnd::kRevoked);
  Step(Ask("r2", "local"));
  EXPECT_THAT(tracker_.WhyWaiting("r2"), HasSubstr("\"local\" (1, 1 stalled)"));
  Live(seconds(295), {"a"});
  EXPECT_THAT(tracker_.WhyWaiting("r2"), HasSubstr("1 stalled")) << "it is heard, which is not enough";
  now_ += seconds(5);
  EXPECT_EQ(Only<PersistGrant>(Step(DeviceHeard{"a"})).size(), 1u);
}

TEST_F(TrackerTest, TriesAStalledDeviceAgainWhenItConnectsAnew) {
  Connect("a");
  Grant("r1");
  Step(DeviceStalled{"a", "trial 7: nothing came of it for 60 s"});
  Step(DeviceLeft{"a"});
  Step(Ask("r2", "local"));
  EXPECT_EQ(Only<PersistGrant>(Step(DeviceReported{{"a", "local", "{}", 1}, {}})).size(), 1u);
}

TEST_F(TrackerTest, SaysWhyARequestWaits) {
  Step(Ask("r0", "pi4"));
  EXPECT_EQ(tracker_.WhyWaiting("r0"), "needs device key \"pi4\"; known keys: none; connect a device");
  Connect("a");
  Connect("b");
  Grant("r1");
  EXPECT_EQ(tracker_.WhyWaiting("r0"), "needs device key \"pi4\"; known keys: \"local\" (2, 1 leased)");
  EXPECT_EQ(tracker_.WhyWaiting("r1"), "");
}

TEST_F(TrackerTest, KeepsTheRequestInLineWhenTheStoreFails) {
  Connect("a");
  Step(Ask("r1", "local"));
  Step(Ask("r2", "local"));
  EXPECT_TRUE(Step(GrantCommitted{"a", "r1", Unavailable("commit: disk full"), 0}).empty());
  now_ += seconds(1);
  const auto again = Only<PersistGrant>(Step(TimePassed{}));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].lease.request_id, "r1");
}

TEST_F(TrackerTest, ReleasesALeaseThatWasWithdrawnDuringItsCommit) {
  Connect("a");
  Step(Ask("r1", "local"));
  Step(RequestWithdrawn{"r1"});
  const auto actions = Step(GrantCommitted{"a", "r1", OkStatus(), 1});
  EXPECT_TRUE(Only<AnswerGranted>(actions).empty());
  EXPECT_EQ(Only<PersistEnd>(actions).size(), 1u);
}

TEST_F(TrackerTest, GivesNobodyADeviceThatWasLostDuringTheCommit) {
  Connect("a");
  Step(Ask("r1", "local"));
  now_ += seconds(30);
  Step(TimePassed{});
  const auto actions = Step(GrantCommitted{"a", "r1", OkStatus(), 1});
  EXPECT_TRUE(Only<AnswerGranted>(actions).empty());
  ASSERT_EQ(Only<PersistEnd>(actions).size(), 1u);
  EXPECT_EQ(Only<PersistEnd>(actions)[0].why, LeaseEnd::kRevoked);
  EXPECT_EQ(tracker_.LeaseOf("a"), nullptr);
  Connect("b");
  EXPECT_EQ(Only<PersistGrant>(Step(Ask("r2", "local"))).size(), 0u);
  EXPECT_THAT(tracker_.WhyWaiting("r2"), testing::Not(HasSubstr("before it"))) << "r1 kept its place and has b";
}

TEST_F(TrackerTest, GivesNobodyADeviceWhoseKeyChangedDuringTheCommit) {
  Connect("a");
  Step(Ask("r1", "local"));
  Connect("a", "pi4");
  EXPECT_TRUE(Only<AnswerGranted>(Step(GrantCommitted{"a", "r1", OkStatus(), 1})).empty());
  EXPECT_THAT(tracker_.WhyWaiting("r1"), HasSubstr("known keys: \"pi4\""));
}

TEST_F(TrackerTest, RaisesTheEpochOverWhatTheDeviceHasSeen) {  // The database was restored from an older copy.
  Connect("a", "local", 41);
  EXPECT_EQ(Only<PersistGrant>(Step(Ask("r1", "local"))).at(0).epoch_floor, 41);
}

TEST_F(TrackerTest, TakesADeviceBackWhenItsKeyChanges) {
  Connect("a");
  Grant("r1");
  const auto actions = Step(DeviceReported{{"a", "pi4", "{}", 1}, {}});
  EXPECT_THAT(Only<AnswerEnded>(actions).at(0).reason, HasSubstr("another key"));
}

TEST(TrackerRestart, KeepsLiveLeasesForTheirHoldersAndGrantsNothingUnreported) {
  TrackerCore tracker({{{"a", "local", "{}", 7}, {"b", "local", "{}", 3}}, {}, {{{"a", 7, "r1", "local"}}}}, kStart);
  EXPECT_TRUE(Only<PersistGrant>(tracker.Step(Ask("r2", "local"), kStart)).empty());
  const auto back = Only<AnswerGranted>(tracker.Step(Ask("r1", "local"), kStart));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].lease.epoch, 7);
  // The leased one comes back and stays leased; the other comes back and is granted.
  EXPECT_TRUE(Only<PersistGrant>(tracker.Step(DeviceReported{{"a", "local", "{}", 7}, {}}, kStart)).empty());
  EXPECT_EQ(
      Only<PersistGrant>(tracker.Step(DeviceReported{{"b", "local", "{}", 3}, {}}, kStart)).at(0).lease.request_id,
      "r2");
}

// ---- What the farm's people decide.

TEST_F(TrackerTest, ADrainedDeviceKeepsItsLeaseAndGetsNoNewOne) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  EXPECT_TRUE(Only<AnswerEnded>(Step(DeviceServiceSet{"a", {DeviceService::kDrained, "new fan"}})).empty());
  Step(Ask("r2", "local"));
  EXPECT_TRUE(Only<PersistGrant>(Step(LeaseReleased{"a", lease.epoch})).empty());
  EXPECT_THAT(tracker_.WhyWaiting("r2"), HasSubstr("\"local\" (1, 1 drained)"));
  EXPECT_EQ(tracker_.leases().WhyNotNow("a", DeviceWish::OfKey("local")), "drained: new fan");
  Step(DeviceReported{{"a", "local", "{}", 1}, {}});
  EXPECT_THAT(tracker_.WhyWaiting("r2"), HasSubstr("1 drained")) << "a restart of the board changes nothing";
  EXPECT_EQ(Only<PersistGrant>(Step(DeviceServiceSet{"a", {}})).at(0).lease.request_id, "r2");
}

TEST_F(TrackerTest, AQuarantinedDeviceLosesItsLease) {
  Connect("a");
  Grant("r1");
  const auto actions = Step(DeviceServiceSet{"a", {DeviceService::kQuarantined, "golden kernel: wrong result"}});
  EXPECT_EQ(Only<AnswerEnded>(actions).at(0).reason, "device quarantined: golden kernel: wrong result");
  Step(Ask("r2", "local"));
  EXPECT_THAT(tracker_.WhyWaiting("r2"), HasSubstr("1 quarantined"));
}

TEST_F(TrackerTest, AGrantOfADeviceThatIsDrainedMeanwhileIsTakenBack) {
  Connect("a");
  Step(Ask("r1", "local"));
  Step(DeviceServiceSet{"a", {DeviceService::kDrained, "new fan"}});
  const auto actions = Step(GrantCommitted{"a", "r1", OkStatus(), 1});
  EXPECT_TRUE(Only<AnswerGranted>(actions).empty());
  EXPECT_EQ(Only<PersistEnd>(actions).size(), 1u);
}

TEST_F(TrackerTest, LendsOnlyWhatSuitsTheWish) {
  Step(DeviceReported{{"small", "pi4", "{}", 0}, {.values = {{"mem", "2147483648"}}}});
  LeaseRequested request = Ask("r1", "pi4");
  request.wish = *DeviceWish::ParseForJob("pi4 & mem>=4GiB");
  EXPECT_TRUE(Only<PersistGrant>(Step(request)).empty());
  EXPECT_THAT(tracker_.WhyWaiting("r1"), HasSubstr("needs devices pi4 & mem>=4GiB; known keys: \"pi4\" (1)"));
  EXPECT_EQ(tracker_.leases().WhyNotNow("small", request.wish), "mem>=4GiB: its mem is 2GiB");
  const auto grants =
      Only<PersistGrant>(Step(DeviceReported{{"large", "pi4", "{}", 0}, {.values = {{"mem", "8589934592"}}}}));
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].lease.device, "large");
}

// ---- Whose turn it is.

LeaseRequested AskAs(const std::string& request, const FairShare::Owner& owner, int priority = 0) {
  return {.request_id = request, .wish = DeviceWish::OfKey("local"), .owner = owner, .priority = priority};
}

TEST_F(TrackerTest, ServesTheHigherPriorityFirst) {
  Connect("a");
  const LeaseRecord lease = Grant("r0");
  Step(AskAs("low", {"ann", "job-1"}, -1));
  Step(AskAs("high", {"bob", "job-2"}, 1));
  const auto next = Only<PersistGrant>(Step(LeaseReleased{"a", lease.epoch}));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].lease.request_id, "high");
}

// A farm in which every job always wants every board. Boards are given back when the tracker says so, after what is at
// hand.
class Shares {
 public:
  struct Job {
    std::string name, user;
    int priority = 0;
    double weight = 1;
  };
  Shares(int boards, std::vector<Job> jobs) : boards_(boards), jobs_(std::move(jobs)) {
    for (int i = 0; i < boards_; ++i) Do(tracker_.Step(DeviceReported{{Board(i), "local", "{}", 0}, {}}, now_));
  }
  // Board-seconds of each job.
  std::map<std::string, double> Run(seconds time) {
    std::map<std::string, double> used;
    for (const TimePoint end = now_ + time; now_ < end; now_ += seconds(1)) {
      for (int i = 0; i < boards_; ++i) Do(tracker_.Step(DeviceHeard{Board(i)}, now_));
      for (const Job& job : jobs_)
        for (int i = 0; i < boards_; ++i) Ask(job, i);
      std::vector<HeldDevice> held;
      for (auto& [board, holding] : holdings_) {
        Do(tracker_.Step(LeaseRenewed{board, holding.epoch}, now_));
        if (!holding.yields_at) held.push_back({board, now_ > holding.since, now_ - holding.since >= kUsualStay});
        used[holding.job] += 1;
      }
      for (const std::string& board : tracker_.ChooseYields(held, now_))
        holdings_.at(board).yields_at = now_ + milliseconds(500);
      const auto holdings = holdings_;
      for (const auto& [board, holding] : holdings) {
        if (!holding.yields_at || now_ < *holding.yields_at) continue;
        holdings_.erase(board);
        Do(tracker_.Step(LeaseReleased{board, holding.epoch}, now_));
      }
    }
    return used;
  }
  int leases() const { return static_cast<int>(epoch_); }

 private:
  struct Holding {
    std::string job;
    int64_t epoch = 0;
    TimePoint since{};
    std::optional<TimePoint> yields_at;
  };
  static std::string Board(int i) { return "board-" + std::to_string(i); }
  void Ask(const Job& job, int i) {
    const std::string request = job.name + "/" + std::to_string(i);
    for (const auto& [board, holding] : holdings_)
      if (tracker_.LeaseOf(board)->request_id == request) return;
    Do(tracker_.Step(
        LeaseRequested{request, DeviceWish::OfKey("local"), {job.user, job.name, job.weight}, job.priority}, now_));
  }
  void Do(const std::vector<TrackerAction>& actions) {
    for (const TrackerAction& action : actions) {
      if (const auto* grant = std::get_if<PersistGrant>(&action))
        Do(tracker_.Step(GrantCommitted{grant->lease.device, grant->lease.request_id, OkStatus(), ++epoch_}, now_));
      if (const auto* granted = std::get_if<AnswerGranted>(&action))
        holdings_[granted->lease.device] = {
            granted->lease.request_id.substr(0, granted->lease.request_id.find('/')), granted->lease.epoch, now_, {}};
    }
  }
  const int boards_;
  const std::vector<Job> jobs_;
  TimePoint now_ = kStart;
  int64_t epoch_ = 0;
  TrackerCore tracker_{TrackerSnapshot{}, kStart};
  std::map<std::string, Holding> holdings_;
};

constexpr seconds kTime{4000};

TEST(FairFarm, UsersHaveEqualSharesHoweverManyJobsTheyHave) {
  for (const int boards : {1, 2, 3, 4}) {
    std::vector<Shares::Job> jobs{{"b", "bob"}};
    for (int i = 0; i < 10; ++i) jobs.push_back({"a" + std::to_string(i), "ann"});
    Shares farm(boards, jobs);
    const auto used = farm.Run(kTime);
    EXPECT_NEAR(used.at("b") / (boards * 4000.0), 0.5, 0.1) << boards << " boards";
    EXPECT_LT(farm.leases(), boards * 4000 / 25 * 2) << "a board is not handed to and fro";
  }
}

TEST(FairFarm, JobsOfOneUserShareByWeight) {
  for (const int boards : {1, 2, 3, 4}) {
    Shares farm(boards, {{"light", "ann", 0, 1}, {"heavy", "ann", 0, 3}});
    const auto used = farm.Run(kTime);
    EXPECT_NEAR(used.at("heavy") / (boards * 4000.0), 0.75, 0.12) << boards << " boards";
  }
}

TEST(FairFarm, ALowerPriorityHasATurnNowAndThenAndNotMore) {
  for (const int boards : {1, 2, 3, 4}) {
    Shares farm(boards, {{"low", "ann", -1}, {"high", "bob", 0}});
    const auto used = farm.Run(kTime);
    const double share = used.contains("low") ? used.at("low") / (boards * 4000.0) : 0;
    EXPECT_GT(share, 0.02) << boards << " boards";
    EXPECT_LT(share, 0.25) << boards << " boards";
    EXPECT_LT(farm.leases(), boards * 4000 / 25 * 2) << boards << " boards";
  }
}

TEST(FairFarm, NobodyStarvesAndNothingIsHandedToAndFroInFarmsOfAnyKind) {
  const SeedRange seeds = SeedsToTry(20, /*cost=*/20);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Random random(seed);
    const int boards = 1 + static_cast<int>(random.Below(5));
    std::vector<Shares::Job> jobs;
    for (uint64_t i = 0; i < 2 + random.Below(5); ++i)
      jobs.push_back({"job-" + std::to_string(i), "user-" + std::to_string(random.Below(3)),
                      static_cast<int>(random.Below(5)) - 2, 1 + static_cast<double>(random.Below(3))});
    Shares farm(boards, jobs);
    const auto used = farm.Run(kTime);
    for (const Shares::Job& job : jobs)
      EXPECT_TRUE(used.contains(job.name)) << job.name << " had nothing in 4,000 s, seed " << seed;
    EXPECT_LT(farm.leases(), boards * 4000 / 10) << "seed " << seed;
  }
}

TEST_F(TrackerTest, SharesWhatIsFreeBetweenUsersNotBetweenRequests) {
  for (int i = 0; i < 10; ++i) Step(AskAs("ann/" + std::to_string(i), {"ann", "job-1"}));
  for (int i = 0; i < 10; ++i) Step(AskAs("ann too/" + std::to_string(i), {"ann", "job-2"}));
  for (int i = 0; i < 10; ++i) Step(AskAs("bob/" + std::to_string(i), {"bob", "job-3"}));
  std::map<std::string, int> granted;
  for (const char* device : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    for (const PersistGrant& grant : Only<PersistGrant>(Step(DeviceReported{{device, "local", "{}", 0}, {}})))
      ++granted[grant.lease.request_id.substr(0, grant.lease.request_id.find('/'))];
  }
  EXPECT_EQ(granted["bob"], 4);
  EXPECT_EQ(granted["ann"], 2);
  EXPECT_EQ(granted["ann too"], 2);
}

// ---- Reservations.

LeaseRequested Reserve(const std::string& user, Duration lasts) {
  return {.request_id = ReservationId(user, "r"),
          .wish = DeviceWish::OfKey("local"),
          .owner = {user, user},
          .priority = 1,
          .lasts = lasts};
}

TEST_F(TrackerTest, AReservationEndsWhenItsTimeIsOverAndNobodyRenewsIt) {
  Connect("a");
  const auto grants = Only<PersistGrant>(Step(Reserve("ann", seconds(120))));
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].ttl, kReservationPatience) << "until it is known that somebody has heard of it";
  const std::string id = grants[0].lease.request_id;
  Step(GrantCommitted{"a", id, OkStatus(), 1});
  const auto confirmed = Only<PersistRenewal>(Step(Reserve("ann", seconds(120))));
  ASSERT_EQ(confirmed.size(), 1u);
  EXPECT_EQ(confirmed[0].ttl, seconds(120));
  EXPECT_EQ(tracker_.leases().WhyNotNow("a", {}), "reserved by ann");
  Live(seconds(115), {"a"});
  EXPECT_EQ(Only<AnswerGranted>(Step(Reserve("ann", seconds(120)))).size(), 1u) << "asked again it is the same";
  ASSERT_NE(tracker_.LeaseOf("a"), nullptr);
  now_ += seconds(5);
  const auto actions = Step(TimePassed{});
  EXPECT_EQ(Only<AnswerEnded>(actions).at(0).reason, "its time is over, or nobody has asked for it");
  EXPECT_EQ(Only<PersistEnd>(actions).at(0).why, LeaseEnd::kReleased);
}

TEST_F(TrackerTest, APersonWhoDoesNotAskAgainLeavesTheLine) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  Step(Reserve("ann", seconds(600)));
  Live(seconds(15), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  Step(Reserve("ann", seconds(600)));
  Live(seconds(15), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  EXPECT_THAT(tracker_.WhyWaiting(ReservationId("ann", "r")), HasSubstr("1 leased"));
  Live(seconds(5), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  EXPECT_EQ(tracker_.WhyWaiting(ReservationId("ann", "r")), "");
}

TEST_F(TrackerTest, AReservationThatNobodyHeardOfEndsSoon) {
  Connect("a");
  Step(Reserve("ann", seconds(600)));
  Step(GrantCommitted{"a", ReservationId("ann", "r"), OkStatus(), 1});
  ASSERT_NE(tracker_.LeaseOf("a"), nullptr);
  Live(seconds(20), {"a"});
  Step(TimePassed{});
  EXPECT_EQ(tracker_.LeaseOf("a"), nullptr);
}

TEST_F(TrackerTest, APersonKeepsABoardThatIsRestarted) {
  Connect("a");
  Step(Reserve("ann", seconds(600)));
  Step(GrantCommitted{"a", ReservationId("ann", "r"), OkStatus(), 1});
  Step(Reserve("ann", seconds(600)));
  Step(DeviceLeft{"a"});
  now_ += seconds(100);
  EXPECT_TRUE(Only<AnswerEnded>(Step(TimePassed{})).empty());
  EXPECT_NE(tracker_.LeaseOf("a"), nullptr);
}

TEST(TrackerRestart, KeepsAReservationForWhatRemainsOfIt) {
  TrackerCore tracker({{{"a", "local", "{}", 7}}, {}, {{{"a", 7, ReservationId("ann", "r"), "local"}, seconds(100)}}},
                      kStart);
  for (int i = 1; i < 20; ++i) tracker.Step(DeviceReported{{"a", "local", "{}", 7}, {}}, kStart + i * seconds(5));
  ASSERT_NE(tracker.LeaseOf("a"), nullptr);
  tracker.Step(TimePassed{}, kStart + seconds(100));
  EXPECT_EQ(tracker.LeaseOf("a"), nullptr);
}

TEST(TrackerRestart, KeepsWhatPeopleDecided) {
  TrackerCore tracker({{{"a", "local", "{}", 7}}, {{"a", {DeviceService::kDrained, "new fan"}}}, {}}, kStart);
  tracker.Step(DeviceReported{{"a", "local", "{}", 7}, {}}, kStart);
  EXPECT_TRUE(Only<PersistGrant>(tracker.Step(Ask("r1", "local"), kStart)).empty());
}

TEST(TrackerRestart, LosesDevicesThatDoNotComeBack) {
  TrackerCore tracker({{{"a", "local", "{}", 7}}, {}, {{{"a", 7, "r1", "local"}}}}, kStart);
  ASSERT_EQ(tracker.NextDeadline(), kStart + seconds(30));
  const auto actions = tracker.Step(TimePassed{}, kStart + seconds(30));
  EXPECT_EQ(Only<AnswerEnded>(actions).size(), 1u);
}

}  // namespace
}  // namespace lathe
