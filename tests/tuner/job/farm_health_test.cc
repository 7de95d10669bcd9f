// Devices are checked by the golden kernel, and what is off is quarantined: the core, with real device sessions.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/tuner/job/fake_farm.h"
#include "tests/tuner/job/faulty_store.h"
#include "tuner/measure/golden.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

bool IsGolden(const v1::MeasureSpec& spec) { return spec.trial_id() < 0; }

class FarmHealthTest : public testing::Test {
 protected:
  FakeFarm& Start(FakeFarmOptions options = {}) {
    options.checks_devices = true;
    options.clock = &clock_;
    return farm_.emplace(std::move(options));
  }
  // Golden kernels take what `golden_ns` says; trials what they always do.
  void AddDevice(const std::string& name, const std::function<PretendedRun()>& golden) {
    std::atomic<int>& runs = golden_runs_[name];  // Devices have threads of their own, which only count.
    farm_->AddDevice(name, [&runs, golden](const v1::MeasureSpec& spec) {
      if (!IsGolden(spec)) return ByTrialId(spec);
      ++runs;
      return golden();
    });
  }
  void AddDevice(const std::string& name, double golden_ns) {
    AddDevice(name, [golden_ns] { return PretendedRun{.median_ns = golden_ns}; });
  }
  DeviceRow RowOf(const std::string& name) {
    for (const DeviceRow& row : *farm_->store().ListDevices())
      if (row.name == name) return row;
    return {};
  }
  std::string HealthOf(const std::string& name) {
    for (const DeviceStanding& device : farm_->coordinator().View().devices)
      if (device.name == name) return device.health;
    return "";
  }
  void UntilHealthIs(const std::string& name, const std::string& words) {
    farm_->UntilInTime(clock_, [&] { return HealthOf(name).find(words) != std::string::npos; });
  }
  FakeClock clock_;
  std::map<std::string, std::atomic<int>> golden_runs_;
  std::optional<FakeFarm> farm_;
};

TEST_F(FarmHealthTest, AGoodDeviceIsCheckedOnceAndWorks) {
  FakeFarm& farm = Start();
  AddDevice("d1", 1000);
  UntilHealthIs("d1", "good");
  EXPECT_EQ(golden_runs_["d1"], 1);
  EXPECT_EQ(RowOf("d1").health.golden_ns, 1000);
  EXPECT_EQ(RowOf("d1").health.state, HealthState::kGood);
  const int64_t job = farm.Submit(6);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 6)));
  EXPECT_EQ(golden_runs_["d1"], 1);
}

TEST_F(FarmHealthTest, WithoutAWorkerDevicesAreUsedUnchecked) {
  FakeFarm& farm = Start({.has_worker = false});
  AddDevice("d1", 1000);
  farm.Until([&] { return !HealthOf("d1").empty(); });
  EXPECT_EQ(HealthOf("d1"), "unchecked: no worker of the server's release has built the golden kernel");
  EXPECT_EQ(farm.coordinator().View().devices.at(0).not_now, "");
  EXPECT_EQ(golden_runs_["d1"], 0);
}

TEST_F(FarmHealthTest, AWrongOneIsQuarantinedAndWhyNamesIt) {
  FakeFarm& farm = Start();
  AddDevice("d1",
            [] { return PretendedRun{.status = v1::MEASURE_STATUS_WRONG_RESULT, .message = "12 of 256 differ"}; });
  UntilHealthIs("d1", "bad");
  const int64_t job = farm.Submit(6);
  farm.Until([&] { return farm.coordinator().Why(job)->devices.size() == 1; });
  EXPECT_EQ(farm.coordinator().Why(job)->devices.at(0).second,
            "quarantined: golden kernel: WRONG_RESULT: 12 of 256 differ");
  EXPECT_EQ(RowOf("d1").service.service, DeviceService::kQuarantined);
  EXPECT_EQ(farm.coordinator().Statistics(kHangGuard)->counters.quarantines, 1);
  AddDevice("d2", 1000);
  ASSERT_TRUE(farm.WaitFor(job));
  for (const TuningRecord& record : *farm.store().ListRecords({0, 1000})) EXPECT_EQ(record.device, "d2");
}

TEST_F(FarmHealthTest, IsProbedAgainAndPutBackWhenItIsWell) {
  FakeFarm& farm = Start({.database = "t.db"});
  AddDevice("d1", [] { return PretendedRun{.status = v1::MEASURE_STATUS_CRASH}; });
  UntilHealthIs("d1", "bad");
  farm.Stop();
  clock_.Advance(std::chrono::minutes(10));
  farm.Start();
  AddDevice("d1", 1000);
  UntilHealthIs("d1", "good");
  EXPECT_EQ(RowOf("d1").service, ServiceState{});
  EXPECT_EQ(farm.coordinator().View().devices.at(0).not_now, "");
}

TEST_F(FarmHealthTest, APersonsReleaseBeginsACheckAndForgetsTheBaseline) {
  Start();
  std::atomic<double> golden_ns = 1000;
  const auto golden = [&] { return PretendedRun{.median_ns = golden_ns}; };
  AddDevice("d1", golden);
  UntilHealthIs("d1", "good");
  farm_->RemoveDevices();
  golden_ns = 2000;
  AddDevice("d1", golden);  // Another process of it.
  UntilHealthIs("d1", "bad: the golden kernel takes 2 us, 1 us expected (+100 %)");
  EXPECT_EQ(RowOf("d1").service.reason, "the golden kernel takes 2 us, 1 us expected (+100 %)");
  ASSERT_TRUE(farm_->coordinator().Release("d1", {"ann", true}).ok());
  UntilHealthIs("d1", "good");
  EXPECT_EQ(RowOf("d1").health.golden_ns, 2000);
}

TEST_F(FarmHealthTest, SurvivesARestartOfTheServer) {
  FakeFarm& farm = Start({.database = "t.db"});
  AddDevice("d1", [] { return PretendedRun{.status = v1::MEASURE_STATUS_CRASH}; });
  AddDevice("d2", 1000);
  UntilHealthIs("d1", "bad");
  UntilHealthIs("d2", "good");
  const HealthRow bad = RowOf("d1").health, good = RowOf("d2").health;
  farm.Stop();
  farm.Start();
  EXPECT_EQ(RowOf("d1").health, bad);
  EXPECT_THAT(HealthOf("d1"), HasSubstr("bad: golden kernel: CRASH"));
  AddDevice("d2", 1000);
  farm.Until([&] { return farm.coordinator().View().devices.at(1).not_now.empty(); });
  EXPECT_EQ(golden_runs_["d2"], 1) << "it was checked an hour ago";
  EXPECT_EQ(RowOf("d2").health, good);
  EXPECT_THAT(HealthOf("d1"), HasSubstr("bad"));
}

// After a restart a canary is due as soon as there were enough trials: when the last one was is not kept.
TEST_F(FarmHealthTest, ACanaryThatIsWrongQuarantinesADeviceAtWorkAndItsRecordsAreNotBelieved) {
  FakeFarm& farm = Start({.database = "t.db"});
  AddDevice("d1", 1000);
  UntilHealthIs("d1", "good");
  farm.Stop();
  clock_.Advance(std::chrono::seconds(1));
  farm.Start();
  AddDevice("d1", [] { return PretendedRun{.status = v1::MEASURE_STATUS_WRONG_RESULT, .message = "bits flip"}; });
  const int64_t job = farm.Submit(60);
  farm.Until([&] { return HealthOf("d1") == "bad: golden kernel: WRONG_RESULT: bits flip"; });
  const TuningKey key = farm.store().ListTasks(job)->front().key;
  const auto late = [&] {
    const std::vector<TuningRecord> records = *farm.store().ListRecords({0, 1000});
    return std::ranges::count_if(records, &TuningRecord::late);
  };
  EXPECT_GE(late(), kCanaryTrials);
  farm.Until([&] { return late() == farm.store().Stats()->records; });  // Also what was on its way to the store.
  EXPECT_EQ(*farm.store().CountMeasured(key), 0);
  EXPECT_EQ(farm.coordinator().Why(job)->devices.at(0).second, "quarantined: golden kernel: WRONG_RESULT: bits flip");
  AddDevice("d2", 1000);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone) << farm.store().GetJob(job)->detail;
  EXPECT_EQ(farm.store().QueryBest(std::vector{key})->front().record->device, "d2");
}

TEST_F(FarmHealthTest, ACanaryAmongTrialsSaysHowFarTheDeviceDrifts) {
  FakeFarm& farm = Start({.database = "t.db"});
  AddDevice("d1", 1000);
  UntilHealthIs("d1", "good");
  farm.Stop();
  farm.Start();
  AddDevice("d1", 1040);
  ASSERT_TRUE(farm.WaitFor(farm.Submit(60)));
  EXPECT_EQ(HealthOf("d1"), "good, its golden kernel is +4 % off");
  const FarmCounters counters = farm.coordinator().Statistics(kHangGuard)->counters;
  EXPECT_EQ(counters.canaries, 1) << "at most one a minute";
  EXPECT_NEAR(counters.canary_drift.at("local"), 0.04, 1e-9);
  EXPECT_EQ(farm.store().Stats()->records, static_cast<int64_t>(farm.store().ListRecords({0, 1000})->size()));
}

// Whatever a search proposes: the farm keeps its devices.
TEST_F(FarmHealthTest, KernelsThatCrashEveryDeviceQuarantineNone) {
  FakeFarm& farm = Start({.database = "t.db"});
  const auto add_devices = [&] {
    for (const char* name : {"d1", "d2", "d3"}) {
      std::atomic<int>& runs = golden_runs_[name];
      farm.AddDevice(name, [&runs](const v1::MeasureSpec& spec) {
        if (!IsGolden(spec)) return PretendedRun{.status = v1::MEASURE_STATUS_CRASH, .message = "SIGILL"};
        ++runs;
        return PretendedRun{.median_ns = 1000};
      });
      UntilHealthIs(name, "good");
    }
  };
  add_devices();
  farm.Stop();
  farm.Start();
  add_devices();
  const int64_t job = farm.Submit(60);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("CRASH", 60)));
  for (const char* name : {"d1", "d2", "d3"}) EXPECT_EQ(HealthOf(name), "good");
  EXPECT_EQ(farm.coordinator().Statistics(kHangGuard)->counters.quarantines, 0);
  EXPECT_GT(farm.coordinator().Statistics(kHangGuard)->counters.canaries, 0);
}

TEST_F(FarmHealthTest, AReservedDeviceIsLeftAlone) {
  Start();
  AddDevice("d1", 1000);
  UntilHealthIs("d1", "good");
  const ReservationRequest request{"ann", "r1", *DeviceWish::Parse("local"), std::chrono::hours(8)};
  farm_->UntilInTime(clock_, [&] { return farm_->coordinator().Reserve(request)->device == "d1"; });
  farm_->RemoveDevices();
  AddDevice("d1", 1000);  // Somebody restarts it.
  UntilHealthIs("d1", "probation");
  EXPECT_EQ(golden_runs_["d1"], 1);
  EXPECT_EQ(farm_->coordinator().View().devices.at(0).not_now, "reserved by ann");
  ASSERT_TRUE(farm_->coordinator().Release("d1", {"ann", false}).ok());
  UntilHealthIs("d1", "good");
  EXPECT_EQ(golden_runs_["d1"], 2);
}

}  // namespace
}  // namespace lathe
