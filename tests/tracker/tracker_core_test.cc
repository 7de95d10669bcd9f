#include "tracker/tracker_core.h"

#include <gmock/gmock.h>

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

TEST_F(TrackerTest, ServesTheHigherPriorityFirstUntilTheOtherHasWaitedLong) {
  Connect("a");
  LeaseRecord lease = Grant("r0");
  Step(AskAs("low", {"ann", "job-1"}, -1));
  Step(AskAs("high", {"bob", "job-2"}, 1));
  auto next = Only<PersistGrant>(Step(LeaseReleased{"a", lease.epoch}));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].lease.request_id, "high");
  lease = Only<AnswerGranted>(Step(GrantCommitted{"a", "high", OkStatus(), 2})).at(0).lease;
  for (int i = 0; i < 121; ++i) {  // Ten minutes, in which the lease is renewed.
    Live(seconds(5), {"a"});
    Step(LeaseRenewed{"a", lease.epoch});
  }
  Step(AskAs("high again", {"bob", "job-2"}, 1));
  next = Only<PersistGrant>(Step(LeaseReleased{"a", lease.epoch}));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].lease.request_id, "low") << "two steps of ageing, and it has had less";
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
  EXPECT_EQ(grants[0].ttl, seconds(120));
  const std::string id = grants[0].lease.request_id;
  Step(GrantCommitted{"a", id, OkStatus(), 1});
  EXPECT_EQ(tracker_.leases().WhyNotNow("a", {}), "reserved by ann");
  Live(seconds(115), {"a"});
  EXPECT_EQ(Only<AnswerGranted>(Step(Reserve("ann", seconds(120)))).size(), 1u) << "asked again it is the same";
  ASSERT_NE(tracker_.LeaseOf("a"), nullptr);
  now_ += seconds(5);
  const auto actions = Step(TimePassed{});
  EXPECT_EQ(Only<AnswerEnded>(actions).at(0).reason, "its time is over");
  EXPECT_EQ(Only<PersistEnd>(actions).at(0).why, LeaseEnd::kReleased);
}

TEST_F(TrackerTest, APersonWhoDoesNotAskAgainLeavesTheLine) {
  Connect("a");
  const LeaseRecord lease = Grant("r1");
  Step(Reserve("ann", seconds(600)));
  EXPECT_TRUE(tracker_.leases().IsWantedMore("a", now_));
  Live(seconds(20), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  Live(seconds(20), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  Step(Reserve("ann", seconds(600)));
  Live(seconds(20), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  EXPECT_TRUE(tracker_.leases().IsWantedMore("a", now_));
  Live(seconds(20), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  Live(seconds(20), {"a"});
  Step(LeaseRenewed{"a", lease.epoch});
  EXPECT_FALSE(tracker_.leases().IsWantedMore("a", now_));
  EXPECT_EQ(tracker_.WhyWaiting(ReservationId("ann", "r")), "");
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
