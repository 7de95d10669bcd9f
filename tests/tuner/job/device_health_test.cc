#include "tuner/job/device_health.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdio>

#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using Actions = DeviceHealthTable::Actions;
using Outcome = GoldenResult::Outcome;

const Digest kGolden = Sha256("golden");

template <typename T>
std::vector<T> Only(const Actions& actions) {
  std::vector<T> found;
  for (const HealthAction& action : actions)
    if (const T* match = std::get_if<T>(&action)) found.push_back(*match);
  return found;
}

class DeviceHealthTest : public testing::Test {
 protected:
  Actions Connect(const std::string& device, bool was_away = false) {
    return table_.Connected(device, "pi4", "A72", was_away, now_);
  }
  Actions End(const std::string& device, double median_ns, bool is_canary = false, Outcome outcome = Outcome::kTimed,
              const Digest& module = kGolden) {
    return table_.GoldenEnded(device, {outcome, is_canary, module, median_ns, "SIGILL"}, now_);
  }
  // Connected and checked: it takes `median_ns`.
  void Good(const std::string& device, double median_ns) {
    EXPECT_EQ(Only<CheckDevice>(Connect(device)).size(), 1u);
    EXPECT_EQ(Only<PassDevice>(End(device, median_ns)).size(), 1u);
  }
  void Trials(const std::string& device, int count, TrialEnd end = TrialEnd::kWell) {
    for (int i = 0; i < count; ++i) table_.TrialEnded(device, Sha256(fmt::format("kernel {}", i)), end);
  }
  bool WantsCanary(const std::string& device) { return table_.WantsCanary(device, now_); }
  HealthState StateOf(const std::string& device) { return table_.Of(device).state; }

  TimePoint now_{hours(1000)};
  DeviceHealthTable table_;
};

TEST_F(DeviceHealthTest, ADeviceThatWasNeverCheckedIsCheckedAndTheFirstIsItsOwnBaseline) {
  EXPECT_EQ(StateOf("a"), HealthState::kUnknown);
  EXPECT_EQ(Only<CheckDevice>(Connect("a")).size(), 1u);
  EXPECT_EQ(StateOf("a"), HealthState::kProbation);
  EXPECT_EQ(table_.Of("a").words, "it was never checked");
  const Actions passed = End("a", 1000);
  EXPECT_EQ(Only<PassDevice>(passed).size(), 1u);
  EXPECT_EQ(Only<SaveHealth>(passed).size(), 1u);
  EXPECT_EQ(StateOf("a"), HealthState::kGood);
  EXPECT_EQ(table_.Of("a").golden_ns, 1000);
}

TEST_F(DeviceHealthTest, ChecksAfterADayAndWhenItComesBackAndNotOtherwise) {
  Good("a", 1000);
  EXPECT_THAT(Connect("a"), IsEmpty()) << "a connection that was cut says nothing";
  EXPECT_EQ(table_.NextDeadline(), now_ + hours(24));
  now_ += hours(24) - seconds(1);
  EXPECT_THAT(table_.PassTime(now_), IsEmpty());
  now_ += seconds(1);
  EXPECT_EQ(Only<CheckDevice>(table_.PassTime(now_)).size(), 1u);
  End("a", 1050);
  EXPECT_EQ(table_.Of("a").golden_ns, 1000) << "else it could creep";
  EXPECT_EQ(Only<CheckDevice>(Connect("a", true)).size(), 1u);
  End("a", 1050);
  table_.Lost("a");
  EXPECT_EQ(Only<CheckDevice>(Connect("a")).size(), 1u);
}

TEST_F(DeviceHealthTest, AnAbsentDeviceIsCheckedWhenItComesAndNobodyIsWokenForIt) {
  Good("a", 1000);
  table_.Left("a");
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  now_ += hours(30);
  EXPECT_EQ(Only<CheckDevice>(Connect("a")).size(), 1u);
}

TEST_F(DeviceHealthTest, QuarantinesWhatIsOffTwiceAndTriesItAgainEverLater) {
  Good("a", 1000);
  Connect("a", true);
  EXPECT_EQ(Only<CheckDevice>(End("a", 1101)).size(), 1u) << "once may be an accident";
  const Actions off = End("a", 1101);
  ASSERT_EQ(Only<QuarantineDevice>(off).size(), 1u);
  EXPECT_EQ(Only<QuarantineDevice>(off)[0].words, "the golden kernel takes 1.101 us, 1 us expected (+10 %)");
  ASSERT_EQ(Only<DistrustSince>(off).size(), 1u);
  for (const Duration wait : {Duration(minutes(10)), Duration(hours(1)), Duration(hours(6))}) {
    EXPECT_EQ(table_.NextDeadline(), now_ + wait);
    now_ += wait;
    EXPECT_EQ(Only<CheckDevice>(table_.PassTime(now_)).size(), 1u);
    EXPECT_EQ(Only<CheckDevice>(End("a", 800)).size(), 1u) << "too fast is as wrong as too slow";
    EXPECT_THAT(Only<DistrustSince>(End("a", 800)), IsEmpty()) << "nothing was measured meanwhile";
  }
  EXPECT_EQ(table_.NextDeadline(), std::nullopt) << "now it is a person's to say";
  EXPECT_EQ(Only<CheckDevice>(table_.Released("a", now_)).size(), 1u);
  EXPECT_EQ(Only<PassDevice>(End("a", 800)).size(), 1u) << "what it took before counts no more";
}

TEST_F(DeviceHealthTest, AProbeThatGoesWellPutsItBack) {
  Good("a", 1000);
  Connect("a", true);
  const Actions wrong = End("a", 0, false, Outcome::kWrong);
  EXPECT_THAT(Only<QuarantineDevice>(wrong).at(0).words, HasSubstr("golden kernel: SIGILL"));
  now_ += minutes(10);
  EXPECT_EQ(Only<CheckDevice>(table_.PassTime(now_)).size(), 1u);
  EXPECT_THAT(table_.Of("a").words, HasSubstr("SIGILL")) << "why it is out of service";
  EXPECT_EQ(Only<PassDevice>(End("a", 1000)).size(), 1u);
  EXPECT_EQ(table_.Of("a").failed_checks, 0);
}

// The liar was there first, alone and then with one other: only when two agree is it clear who lies.
TEST_F(DeviceHealthTest, AClassThatAgreesFindsTheOneThatWasThereFirst) {
  Good("liar", 2000);
  Good("a", 1000);
  EXPECT_EQ(StateOf("liar"), HealthState::kGood);
  Connect("b");
  const Actions third = End("b", 1010);
  EXPECT_EQ(StateOf("b"), HealthState::kGood);
  ASSERT_EQ(Only<CheckDevice>(third).size(), 1u);
  EXPECT_EQ(Only<CheckDevice>(third)[0].device, "liar");
  End("liar", 2000);
  EXPECT_THAT(Only<QuarantineDevice>(End("liar", 2000)).at(0).words, HasSubstr("2 us, 1 us expected (+100 %)"));
}

TEST_F(DeviceHealthTest, TimesOfAnotherKernelOrModelAreNotCompared) {
  Good("a", 1000);
  Good("b", 1000);
  table_.Connected("c", "pi4", "A76", false, now_);
  EXPECT_EQ(Only<PassDevice>(End("c", 400)).size(), 1u);
  table_.Connected("a", "pi4", "A72", true, now_);
  EXPECT_EQ(Only<PassDevice>(End("a", 1500, false, Outcome::kTimed, Sha256("another golden"))).size(), 1u);
  EXPECT_EQ(table_.Of("a").golden_ns, 1500);
}

TEST_F(DeviceHealthTest, NoiseIsNotBadness) {
  Good("a", 1000);
  Connect("a", true);
  EXPECT_EQ(Only<PassDevice>(End("a", 1500, false, Outcome::kNoisy)).size(), 1u);
  Trials("a", kCanaryTrials);
  for (int i = 0; i < 5; ++i) {
    now_ += minutes(1);
    EXPECT_THAT(End("a", 1500, true, Outcome::kNoisy), IsEmpty());
  }
}

TEST_F(DeviceHealthTest, WantsACanaryAfterTwentyTrialsAndAtMostOnceAMinute) {
  Good("a", 1000);
  Trials("a", kCanaryTrials);
  EXPECT_FALSE(WantsCanary("a")) << "it was checked just now";
  now_ += minutes(1);
  EXPECT_TRUE(WantsCanary("a"));
  End("a", 1040, true);
  EXPECT_NEAR(table_.DriftOf("a"), 0.04, 1e-9);
  now_ += minutes(5);
  Trials("a", kCanaryTrials - 1);
  EXPECT_FALSE(WantsCanary("a"));
  Trials("a", 1);
  EXPECT_TRUE(WantsCanary("a"));
}

TEST_F(DeviceHealthTest, TwoCanariesOffQuarantineItAndDistrustWhatItMeasuredSinceTheLastGoodOne) {
  Good("a", 1000);
  now_ += minutes(3);
  End("a", 1000, true);
  const TimePoint last_good = now_;
  now_ += minutes(3);
  EXPECT_THAT(Only<QuarantineDevice>(End("a", 1200, true)), IsEmpty());
  EXPECT_FALSE(WantsCanary("a"));
  now_ += minutes(1);
  EXPECT_TRUE(WantsCanary("a")) << "without waiting for twenty trials";
  const Actions off = End("a", 1200, true);
  EXPECT_EQ(Only<QuarantineDevice>(off).at(0).device, "a");
  EXPECT_EQ(Only<DistrustSince>(off).at(0).since, last_good);
}

TEST_F(DeviceHealthTest, ThreeDifferentKernelsThatFailInARowHaveTheDeviceAsked) {
  Good("a", 1000);
  now_ += minutes(2);
  for (int i = 0; i < 50; ++i) table_.TrialEnded("a", Sha256("the same"), TrialEnd::kFailed);
  EXPECT_EQ(WantsCanary("a"), 50 >= kCanaryTrials) << "trials count, strikes of one kernel do not";
  End("a", 1000, true);
  now_ += minutes(2);
  Trials("a", 2, TrialEnd::kFailed);
  Trials("a", 1);
  Trials("a", 2, TrialEnd::kFailed);
  EXPECT_FALSE(WantsCanary("a")) << "one that went well in between";
  Trials("a", 3, TrialEnd::kFailed);
  EXPECT_TRUE(WantsCanary("a"));
  EXPECT_THAT(Only<QuarantineDevice>(End("a", 1000, true)), IsEmpty());
  EXPECT_FALSE(WantsCanary("a"));
}

TEST_F(DeviceHealthTest, GoesOnAfterARestartWhereItWas) {
  Good("a", 1000);
  Connect("a", true);
  DeviceHealthTable next;
  next.Restore("a", "pi4", "A72", table_.Of("a"));
  EXPECT_EQ(next.Of("a"), table_.Of("a"));
  EXPECT_EQ(Only<CheckDevice>(next.Connected("a", "pi4", "A72", false, now_)).size(), 1u) << "it was due";
}

// Else one that is off, and comes first, would be its own baseline again.
TEST_F(DeviceHealthTest, WhatOthersTookCountsAfterARestartBeforeTheyCome) {
  Good("liar", 2000);
  Good("a", 1000);
  Good("b", 1000);
  End("liar", 2000);
  End("liar", 2000);
  EXPECT_EQ(StateOf("liar"), HealthState::kBad);
  DeviceHealthTable next;
  for (const char* name : {"liar", "a", "b"}) next.Restore(name, "pi4", "A72", table_.Of(name));
  now_ += minutes(10);
  EXPECT_EQ(Only<CheckDevice>(next.Connected("liar", "pi4", "A72", false, now_)).size(), 1u);
  next.GoldenEnded("liar", {Outcome::kTimed, false, kGolden, 2000, ""}, now_);
  EXPECT_EQ(Only<QuarantineDevice>(next.GoldenEnded("liar", {Outcome::kTimed, false, kGolden, 2000, ""}, now_)).size(),
            1u);
}

// Whatever kernels do to it, a class whose golden kernel runs as it should loses nobody; and a device that is off ends
// in quarantine, but no other does.
TEST(DeviceHealthProperty, NoKernelQuarantinesAndOnlyTheOneThatIsOffIs) {
  const SeedRange seeds = SeedsToTry(300, 3);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Random random(Random::Mix(seed));
    DeviceHealthTable table;
    TimePoint now{hours(1000)};
    const int count = 3 + static_cast<int>(random.Below(5));
    const int off = random.Below(2) == 0 ? -1 : static_cast<int>(random.Below(static_cast<uint64_t>(count)));
    const double off_by = random.Below(2) == 0 ? 1.3 : 0.7;
    std::set<std::string> quarantined;
    std::set<std::string> waiting;
    const auto apply = [&](const Actions& actions) {
      for (const HealthAction& action : actions) {
        if (const auto* check = std::get_if<CheckDevice>(&action)) waiting.insert(check->device);
        if (const auto* bad = std::get_if<QuarantineDevice>(&action)) quarantined.insert(bad->device);
      }
    };
    const auto time_of = [&](int device) {
      return 1000 * (device == off ? off_by : 1) * (1 + 0.04 * (random.Unit() - 0.5));
    };
    for (int step = 0; step < 2000; ++step) {
      now += seconds(1);
      const int device = static_cast<int>(random.Below(static_cast<uint64_t>(count)));
      const std::string name = fmt::format("d{}", device);
      if (step < count) apply(table.Connected(fmt::format("d{}", step), "k", "m", false, now));
      if (table.WantsCheck(name) && waiting.erase(name) > 0)
        apply(table.GoldenEnded(name, {Outcome::kTimed, false, kGolden, time_of(device), ""}, now));
      else if (table.WantsCanary(name, now))
        apply(table.GoldenEnded(name, {Outcome::kTimed, true, kGolden, time_of(device), ""}, now));
      else  // One kernel in three crashes wherever it runs.
        table.TrialEnded(name, Sha256(fmt::format("kernel {}", random.Below(4))),
                         random.Below(3) == 0 ? TrialEnd::kWell : TrialEnd::kFailed);
      apply(table.PassTime(now));
    }
    const std::set<std::string> expected =
        off < 0 ? std::set<std::string>{} : std::set<std::string>{fmt::format("d{}", off)};
    ASSERT_EQ(quarantined, expected) << "LATHE_SEED=" << seed;
  }
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(seeds.first),
              static_cast<unsigned long long>(seeds.first + seeds.count - 1));
}

}  // namespace
}  // namespace lathe
