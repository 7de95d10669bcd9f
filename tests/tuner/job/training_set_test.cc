#include "tuner/job/training_set.h"

#include "tests/tuner/job/fake_farm.h"
#include "tuner/cost_model/base_model.h"

namespace lathe {
namespace {

// A farm that has measured one job.
class TrainingSetTest : public testing::Test {
 protected:
  void SetUp() override {
    farm_.AddDevice("d1");
    ASSERT_TRUE(farm_.WaitFor(farm_.Submit(24)));
    keys_ = *ListKeys(farm_.store());
    ASSERT_EQ(keys_.size(), 1u);
  }
  FakeFarm farm_;
  std::vector<TuningKey> keys_;
};

TEST_F(TrainingSetTest, HasEachTraceOfTheSearchOnceInTheOrderOfTheResults) {
  const TaskSamples read = *ReadSamples(farm_.store(), keys_[0], 7);
  std::vector<Digest> expected;
  for (const TuningRecord& record : *farm_.store().ListRecords({0, 1000}))
    if (record.final_round == 0) expected.push_back(record.trace_digest);
  EXPECT_EQ(read.traces, expected);
  EXPECT_EQ(read.samples.size(), 24u);
  for (const CostSample& sample : read.samples) {
    EXPECT_EQ(sample.task, 7u);
    EXPECT_EQ(sample.outcome, CostSample::Outcome::kTimed);
    EXPECT_GT(sample.median_ns, 0);
  }
}

TEST_F(TrainingSetTest, HasTheFeaturesOfWhatWasMeasured) {
  const TaskSamples read = *ReadSamples(farm_.store(), keys_[0], 0);
  for (const TuningRecord& record : *farm_.store().ListRecords({0, 1000})) {
    Schedule schedule = *Schedule::Create(read.task.func);
    ASSERT_TRUE(ScheduleTrace::FromJson(record.trace_json)->Replay(schedule).ok());
    const auto at = std::find(read.traces.begin(), read.traces.end(), record.trace_digest) - read.traces.begin();
    EXPECT_EQ(read.samples[static_cast<size_t>(at)].features, ExtractFeatures(schedule.func(), read.task.target));
  }
}

TEST_F(TrainingSetTest, IsWhatAModelIsTrainedFrom) {
  const StatusOr<BaseModel> model = BaseModel::Train(ReadSamples(farm_.store(), keys_[0], 0)->samples);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->trained_from().num_records, 24);
  EXPECT_EQ(model->trained_from().targets, (std::vector{TargetKind{256, 16}}));
}

TEST_F(TrainingSetTest, OfAKeyThatTheStoreHasNotIsAnError) {
  keys_[0].workload = Sha256("other");
  EXPECT_FALSE(ReadSamples(farm_.store(), keys_[0], 0).ok());
}

}  // namespace
}  // namespace lathe
