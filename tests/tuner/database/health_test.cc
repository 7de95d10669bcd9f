// What the store keeps of a device's health, and records that are not believed any more.
#include <gmock/gmock.h>

#include "tests/support/fake_clock.h"
#include "tests/tuner/database/store_testing.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/database/upkeep.h"

namespace lathe {
namespace {

class HealthStoreTest : public testing::Test {
 protected:
  double BestNs(int workload = 0) {
    const std::vector<TuningKey> keys{MakeKey(workload)};
    const BestAnswer best = store_->QueryBest(keys)->front();
    return best.record ? best.record->timings->median_ns : 0;
  }
  // By a second device of the class.
  void MeasureElsewhere(Scene& scene, int n, double median_ns) {
    const int64_t device = scene.device_id, epoch = scene.epoch;
    scene.device_id = store_->RegisterDevice({"rpi4-02", "rpi4", "{}", 0})->id;
    scene.Lease();
    scene.Measure(n, median_ns);
    ASSERT_TRUE(store_->EndLease(scene.device_id, scene.epoch, LeaseState::kReleased).ok());
    scene.device_id = device;
    scene.epoch = epoch;
  }
  FakeClock clock_;
  std::unique_ptr<SqliteStore> store_ = *SqliteStore::OpenInMemory(clock_);
};

TEST_F(HealthStoreTest, KeepsWhatIsKnownOfADeviceHoweverOftenItRegisters) {
  Scene scene(*store_);
  EXPECT_EQ(store_->ListDevices()->front().health, HealthRow{});
  const HealthRow health{.state = HealthState::kBad,
                         .words = "it takes 2 us",
                         .golden_ns = 1000.5,
                         .golden_module = Sha256("golden"),
                         .failed_checks = 2,
                         .checked_unix_ns = 5,
                         .probe_unix_ns = 7};
  ASSERT_TRUE(store_->SetDeviceHealth(scene.device_id, health).ok());
  Scene again(*store_, 0, "request-2");
  EXPECT_EQ(store_->ListDevices()->front().health, health);
  EXPECT_EQ(store_->SetDeviceHealth(99, health).code(), StatusCode::kNotFound);
}

TEST_F(HealthStoreTest, WhatADistrustedDeviceMeasuredIsLateAndTheBestIsDecidedWithoutIt) {
  Scene scene(*store_), other(*store_, 1, "request-2");
  scene.Measure(1, 90);
  clock_.Advance(std::chrono::seconds(1));
  const int64_t since = clock_.UnixNanos();
  clock_.Advance(std::chrono::seconds(1));
  scene.Measure(2, 50);
  scene.Measure(3, 40, TrialState::kCrash);
  MeasureElsewhere(scene, 4, 70);
  EXPECT_EQ(BestNs(), 50);
  EXPECT_EQ(*store_->CountMeasured(MakeKey()), 4);
  EXPECT_EQ(*store_->DistrustRecords(scene.device_id, since), 2);
  EXPECT_EQ(BestNs(), 70) << "what the other device measured stands";
  EXPECT_EQ(*store_->CountMeasured(MakeKey()), 2);
  EXPECT_EQ(*store_->DistrustRecords(scene.device_id, since), 0) << "twice is harmless";
  EXPECT_EQ(*store_->DistrustRecords(scene.device_id, 0), 1);
  EXPECT_EQ(BestNs(), 70);
  EXPECT_EQ(store_->DistrustRecords(99, 0).code(), StatusCode::kNotFound);
  const std::vector<EventRow> events = *store_->ReadEvents(0, std::nullopt, 1000);
  EXPECT_EQ(events.back().detail, "distrusted rpi4-01: 1 records are not believed");
}

TEST_F(HealthStoreTest, ABestOfFinalsThatIsNotBelievedGivesWayToWhatWasScreened) {
  Scene scene(*store_);
  MeasureElsewhere(scene, 1, 100);
  scene.Lease();
  scene.Measure(2, 80);
  const TrialRow trial = *store_->GetTrial(2);
  const NewFinalist finalist{trial.trace_digest, trial.trace_json, trial.seed, trial.module_digest};
  const auto round = store_->BeginFinalRound(scene.task_id, 1, std::vector{finalist});
  ASSERT_TRUE(store_->CommitResult(scene.ResultOf(scene.Run((*round)[0].id), 60)).ok());
  ASSERT_TRUE(*store_->DecideFinals(scene.task_id));
  EXPECT_EQ(BestNs(), 60);
  EXPECT_EQ(*store_->DistrustRecords(scene.device_id, 0), 2);
  EXPECT_EQ(BestNs(), 100);
}

}  // namespace
}  // namespace lathe
