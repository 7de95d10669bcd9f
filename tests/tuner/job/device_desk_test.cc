#include "tuner/job/device_desk.h"

#include <gmock/gmock.h>

#include "support/random.h"
#include "tracker/lease_table.h"

namespace lathe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const TimePoint kStart{std::chrono::hours(1)};

// Reads well in failures.
std::string Words(const DeskAction& action) {
  struct Visitor {
    std::string operator()(const AskForDevice& a) { return "ask " + a.request_id; }
    std::string operator()(const WithdrawAsking& a) { return "withdraw " + a.request_id; }
    std::string operator()(const KeepLease& a) { return "keep " + a.device; }
    std::string operator()(const GiveBack& a) { return "give back " + a.device; }
    std::string operator()(const ClaimTrial& a) {
      return "claim for " + a.device + " of job " + std::to_string(a.job_id);
    }
  };
  return std::visit(Visitor{}, action);
}
std::vector<std::string> Plan(DeviceDesk& desk, TimePoint now) {
  std::vector<std::string> words;
  for (const DeskAction& action : desk.Plan(now)) words.push_back(Words(action));
  return words;
}
LeaseRecord Lease(const std::string& device, int64_t epoch, const std::string& request) {
  return {device, epoch, request, "local"};
}

TEST(DeviceDesk, AsksForADeviceAndKeepsThreeTrialsAtItsHand) {
  DeviceDesk desk;
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 4});
  desk.SetDeviceCount("local", 1);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("ask job-1/0"));
  EXPECT_THAT(Plan(desk, kStart), IsEmpty()) << "asking once is enough";
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1"));
  desk.Claimed("d", 4, 71);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1"));
  desk.Claimed("d", 4, 72);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1"));
  desk.Claimed("d", 4, 73);
  EXPECT_THAT(Plan(desk, kStart), IsEmpty());
  EXPECT_THAT(desk.HeldBy("d")->trials, ElementsAre(71, 72, 73));
  desk.Finished("d", 71);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1"));
}

TEST(DeviceDesk, KeepsTheLeaseUntilResultsAreInTheStore) {
  DeviceDesk desk;
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 1});
  (void)desk.Plan(kStart);
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  (void)desk.Plan(kStart);
  desk.Claimed("d", 4, 71);
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local")});
  desk.Finished("d", 71);
  EXPECT_THAT(Plan(desk, kStart), IsEmpty()) << "to end the lease now would make the result stale";
  desk.Settled("d", 71);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("give back d"));
  EXPECT_EQ(desk.NextDeadline(), std::nullopt);
}

TEST(DeviceDesk, LooksAgainAfterAWhileOrAtOnceIfMoreWaits) {
  DeviceDesk desk({.retry = milliseconds(200)});
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 1});
  (void)desk.Plan(kStart);
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1"));
  desk.NothingToClaim("d", 4, kStart);
  EXPECT_THAT(Plan(desk, kStart), IsEmpty());
  EXPECT_EQ(desk.NextDeadline(), kStart + milliseconds(200));
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 2});
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1"));
}

TEST(DeviceDesk, YieldsAfterItsTurnIfTheTrackerSaysSo) {
  bool is_wanted = false;
  DeviceDesk desk(
      {.stay_trials = 2, .stay = seconds(30), .choose_yields = [&](const std::vector<HeldDevice>& held, TimePoint) {
         std::vector<std::string> yields;
         for (const HeldDevice& one : held)
           if (is_wanted && one.has_begun && one.has_stayed) yields.push_back(one.device);
         return yields;
       }});
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 9});
  desk.SetDeviceCount("local", 1);
  (void)desk.Plan(kStart);
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  for (int64_t trial = 1; trial <= 2; ++trial) desk.Claimed("d", 4, trial);
  desk.Finished("d", 1);
  desk.Settled("d", 1);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1")) << "nobody else wants it";
  desk.SetDemand(2, {.wish = DeviceWish::OfKey("local"), .claimable = 1});
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("claim for d of job 1", "ask job-2/0"));
  is_wanted = true;
  desk.NothingToClaim("d", 4, kStart);
  EXPECT_THAT(Plan(desk, kStart), IsEmpty());
  EXPECT_EQ(desk.NextDeadline(), kStart + milliseconds(100)) << "all that wait are not compared at each step";
  EXPECT_THAT(Plan(desk, kStart + milliseconds(100)), IsEmpty()) << "its turn is over; what it has is finished first";
  desk.Finished("d", 2);
  desk.Settled("d", 2);
  EXPECT_THAT(Plan(desk, kStart + milliseconds(100)), ElementsAre("give back d", "ask job-1/0"));
}

TEST(DeviceDesk, GivesBackWhatIsIdleAndRenewsWhatIsNot) {
  DeviceDesk desk({.idle = seconds(2)});
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .coming = 1});
  EXPECT_THAT(Plan(desk, kStart), IsEmpty()) << "it has nothing to measure yet";
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 1});
  (void)desk.Plan(kStart);
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  EXPECT_THAT(Plan(desk, kStart + seconds(1)), ElementsAre("claim for d of job 1"));
  desk.Claimed("d", 4, 71);
  EXPECT_THAT(Plan(desk, kStart + kLeaseRenewEvery), ElementsAre("keep d"));
  desk.Finished("d", 71);
  desk.Settled("d", 71);
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .coming = 1});
  EXPECT_THAT(Plan(desk, kStart + kLeaseRenewEvery), IsEmpty());
  EXPECT_THAT(Plan(desk, kStart + kLeaseRenewEvery + seconds(1)), IsEmpty());
  EXPECT_EQ(desk.NextDeadline(), kStart + kLeaseRenewEvery + seconds(2));
  EXPECT_THAT(Plan(desk, kStart + kLeaseRenewEvery + seconds(2)), ElementsAre("give back d"));
}

TEST(DeviceDesk, GivesBackWhatNobodyAskedForOrWantsAnyMore) {
  DeviceDesk desk;
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("give back d"));
  desk.Granted(Lease("d", 5, "somebody"), kStart);
  EXPECT_THAT(Plan(desk, kStart), IsEmpty()) << "a lease of a person is not ours";
  desk.SetDemand(2, {.wish = DeviceWish::OfKey("local"), .claimable = 1});
  (void)desk.Plan(kStart);
  desk.SetDemand(2, {.wish = DeviceWish::OfKey("local")});
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("withdraw job-2/0"));
}

TEST(DeviceDesk, TakesOneDeviceForEachTwoTrials) {
  DeviceDesk desk;
  desk.SetDeviceCount("local", 8);
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 5, .coming = 2});
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("ask job-1/0", "ask job-1/1", "ask job-1/2"));
}

// Two jobs, each with trials at a device that fell silent, handed a third one to and fro: neither had anything for it.
TEST(DeviceDesk, AsksForNoFurtherDeviceForWhatADeviceHasAtHand) {
  DeviceDesk desk;
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 3});
  desk.SetDeviceCount("local", 1);
  (void)desk.Plan(kStart);
  desk.Granted(Lease("d", 1, "job-1/0"), kStart);
  for (const int64_t trial : {71, 72, 73}) desk.Claimed("d", 1, trial);
  desk.SetDeviceCount("local", 2);
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 0, .coming = 5});
  EXPECT_THAT(Plan(desk, kStart), IsEmpty());
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 1, .coming = 4});
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("ask job-1/1"));
}

TEST(DeviceDesk, LeavesADeviceToWhoHasSomethingForIt) {
  DeviceDesk desk;
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 1});
  (void)desk.Plan(kStart);
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .coming = 5});
  desk.SetDemand(2, {.wish = DeviceWish::OfKey("local"), .coming = 5});
  EXPECT_THAT(Plan(desk, kStart), IsEmpty()) << "both wait for their builds: nobody takes it from the other";
  desk.SetDemand(2, {.wish = DeviceWish::OfKey("local"), .claimable = 1});
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("ask job-2/0"));
  EXPECT_THAT(Plan(desk, kStart), ElementsAre("give back d"));
  EXPECT_THAT(Plan(desk, kStart), IsEmpty());
}

TEST(DeviceDesk, SaysWhichDevicesHaveOtherTrialsThanBefore) {
  DeviceDesk desk;
  desk.SetDemand(1, {.wish = DeviceWish::OfKey("local"), .claimable = 4});
  desk.SetDeviceCount("local", 2);
  (void)desk.Plan(kStart);
  desk.Granted(Lease("d", 4, "job-1/0"), kStart);
  desk.Granted(Lease("e", 5, "job-1/1"), kStart);
  EXPECT_THAT(desk.TakeChanged(), ElementsAre("d", "e"));
  desk.Claimed("e", 5, 71);
  EXPECT_THAT(desk.TakeChanged(), ElementsAre("e"));
  EXPECT_THAT(desk.TakeChanged(), IsEmpty());
  desk.Finished("e", 71);
  EXPECT_THAT(desk.TakeChanged(), ElementsAre("e"));
  desk.Settled("e", 71);
  EXPECT_THAT(desk.TakeChanged(), IsEmpty()) << "it was gone from its hand before";
  desk.Ended("d", 4);
  EXPECT_THAT(desk.TakeChanged(), ElementsAre("d"));
}

// A tracker with two devices, three jobs with some trials each, results in any order: every trial is measured once, and
// no lease is left.
TEST(DeviceDesk, MeasuresEverythingWhateverTheOrder) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    DeviceDesk desk({.stay_trials = 3});
    desk.SetDeviceCount("local", 2);
    std::map<int64_t, int> waiting{{1, 9}, {2, 5}, {3, 7}};
    std::map<std::string, std::pair<std::string, int64_t>> lent;  // Device -> request, epoch.
    std::vector<std::string> line;
    std::vector<std::pair<std::string, int64_t>> under_way;  // Device, trial.
    TimePoint now = kStart;
    int64_t next_trial = 100, epoch = 0, measured = 0;
    for (int step = 0; step < 5000 && (measured < 21 || !lent.empty()); ++step) {
      for (const auto& [job, count] : waiting)
        desk.SetDemand(job, {.wish = DeviceWish::OfKey("local"), .claimable = count});
      for (const DeskAction& action : desk.Plan(now)) {
        if (const auto* ask = std::get_if<AskForDevice>(&action)) line.push_back(ask->request_id);
        if (const auto* end = std::get_if<WithdrawAsking>(&action)) std::erase(line, end->request_id);
        if (const auto* back = std::get_if<GiveBack>(&action)) lent.erase(back->device);
        const auto* claim = std::get_if<ClaimTrial>(&action);
        if (claim == nullptr) continue;
        if (waiting[claim->job_id] == 0 || random.Below(4) == 0) {
          desk.NothingToClaim(claim->device, claim->epoch, now);
          continue;
        }
        --waiting[claim->job_id];
        under_way.emplace_back(claim->device, next_trial);
        desk.Claimed(claim->device, claim->epoch, next_trial++);
      }
      for (const std::string device : {"a", "b"}) {
        if (lent.contains(device) || line.empty()) continue;
        lent[device] = {line.front(), ++epoch};
        line.erase(line.begin());
        desk.Granted(Lease(device, epoch, lent[device].first), now);
      }
      if (!under_way.empty() && random.Below(2) == 0) {
        const auto [device, trial] = under_way[random.Below(under_way.size())];
        std::erase(under_way, std::pair(device, trial));
        ASSERT_TRUE(lent.contains(device)) << "trial " << trial << " lost its lease";
        desk.Finished(device, trial);
        desk.Settled(device, trial);
        ++measured;
      }
      now += milliseconds(random.Below(400));
    }
    EXPECT_EQ(measured, 21);
    EXPECT_THAT(lent, IsEmpty());
    EXPECT_THAT(line, IsEmpty());
  }
}

}  // namespace
}  // namespace lathe
