#include "tuner/cost_model/cost_model.h"

#include <gmock/gmock.h>

#include <cmath>

#include "support/random.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using Outcome = CostSample::Outcome;

// Times follow four columns; the draft column knows a part of it. The others are noise.
CostSample MakeSample(uint64_t task, Random& random) {
  CostSample sample;
  sample.features.resize(kFeatureCount);
  for (float& value : sample.features) value = static_cast<float>(10 * random.Unit());
  const FeatureRow& row = sample.features;
  const double hidden = 0.25 * std::fabs(row[20] - 4) + 0.15 * row[50] + (row[100] > 5 ? 1.0 : 0.0) - 0.1 * row[150];
  sample.features[kDraftColumn] = static_cast<float>(10 + 0.1 * hidden + 0.5 * random.Unit());
  sample.task = task;
  sample.outcome = Outcome::kTimed;
  sample.median_ns = 1000.0 * static_cast<double>(task) * std::exp2(hidden);
  return sample;
}
std::vector<CostSample> MakeBatch(size_t count, uint64_t task, Random& random) {
  std::vector<CostSample> batch;
  for (size_t i = 0; i < count; ++i) batch.push_back(MakeSample(task, random));
  return batch;
}
std::vector<FeatureRow> RowsOf(std::span<const CostSample> batch) {
  std::vector<FeatureRow> rows;
  for (const CostSample& sample : batch) rows.push_back(sample.features);
  return rows;
}
double AccuracyOn(const CostModel& model, std::span<const CostSample> batch) {
  const StatusOr<std::vector<Prediction>> predictions = model.Predict(RowsOf(batch));
  CHECK(predictions.ok()) << predictions.status().message();
  return JudgeRanking(batch, *predictions).accuracy();
}

TEST(XgbModel, RanksByTheDraftBeforeItLearned) {
  Random random(1);
  const std::vector<CostSample> batch = MakeBatch(50, 1, random);
  const StatusOr<std::vector<Prediction>> mine = MakeXgbModel()->Predict(RowsOf(batch));
  const StatusOr<std::vector<Prediction>> draft = MakeDraftModel()->Predict(RowsOf(batch));
  ASSERT_TRUE(mine.ok() && draft.ok());
  for (size_t i = 0; i < batch.size(); ++i) EXPECT_DOUBLE_EQ((*mine)[i].score, (*draft)[i].score);
}

TEST(XgbModel, LearnsTheOrderOfUnseenCandidates) {
  Random random(2);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const std::vector<CostSample> unseen = MakeBatch(200, 1, random);
  const double before = AccuracyOn(*model, unseen);
  double last = 0;
  for (int round = 0; round < 16; ++round) {
    const StatusOr<ModelReport> report = model->Update(MakeBatch(16, 1, random));
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->rows, 16u * (round + 1));
    last = report->before.accuracy();
  }
  EXPECT_GT(AccuracyOn(*model, unseen), before + 0.08);
  EXPECT_GT(AccuracyOn(*model, unseen), 0.8);
  EXPECT_GT(last, 0.65);
}

TEST(XgbModel, OneModelServesTasksOfDifferentScale) {
  Random random(3);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  for (int round = 0; round < 10; ++round) {
    std::vector<CostSample> batch = MakeBatch(16, 1, random);
    for (CostSample& sample : MakeBatch(16, 1000, random)) batch.push_back(std::move(sample));
    ASSERT_TRUE(model->Update(batch).ok());
  }
  EXPECT_GT(AccuracyOn(*model, MakeBatch(100, 7, random)), 0.75);  // A task that it never saw.
}

TEST(XgbModel, CensoredAndFailedCandidatesRankBelow) {
  Random random(4);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const auto make_batch = [&] {
    std::vector<CostSample> batch = MakeBatch(48, 1, random);
    for (CostSample& sample : batch) {
      sample.features[30] = 0;
      const uint64_t kind = random.Below(3);
      if (kind == 0) continue;
      sample.features[30] = kind == 1 ? 1 : 2;
      sample.outcome = kind == 1 ? Outcome::kCensored : Outcome::kFailed;
      sample.median_ns = kind == 1 ? 1e6 : 0;
    }
    return batch;
  };
  for (int round = 0; round < 6; ++round) ASSERT_TRUE(model->Update(make_batch()).ok());
  EXPECT_GT(AccuracyOn(*model, make_batch()), 0.85);
}

TEST(XgbModel, SameSamplesSamePredictions) {
  std::vector<double> scores[2];
  for (std::vector<double>& mine : scores) {
    Random random(5);
    const std::unique_ptr<CostModel> model = MakeXgbModel();
    for (int round = 0; round < 4; ++round) ASSERT_TRUE(model->Update(MakeBatch(16, 1, random)).ok());
    const StatusOr<std::vector<Prediction>> predictions = model->Predict(RowsOf(MakeBatch(20, 1, random)));
    ASSERT_TRUE(predictions.ok());
    for (const Prediction& prediction : *predictions) {
      mine.push_back(prediction.score);
      EXPECT_GE(prediction.uncertainty, 0);
    }
  }
  EXPECT_EQ(scores[0], scores[1]);
}

TEST(XgbModel, ForgetsTheOldestAndGoesOn) {
  Random random(6);
  const std::unique_ptr<CostModel> model = MakeXgbModel({.max_rows = 128});
  size_t rows = 0;
  for (int round = 0; round < 20; ++round) {
    const StatusOr<ModelReport> report = model->Update(MakeBatch(16, 1, random));
    ASSERT_TRUE(report.ok()) << report.status().message();
    rows = report->rows;
    EXPECT_LE(rows, 128u);
  }
  EXPECT_GE(rows, 96u);
}

TEST(XgbModel, ABatchWithoutAnyTimeTeachesNothingAndHarmsNothing) {
  Random random(7);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  std::vector<CostSample> batch = MakeBatch(16, 1, random);
  for (CostSample& sample : batch) sample.outcome = Outcome::kFailed;
  ASSERT_TRUE(model->Update(batch).ok());
  ASSERT_TRUE(model->Update({}).ok());
  EXPECT_TRUE(model->Predict(RowsOf(batch)).ok());
  EXPECT_TRUE(model->Predict({})->empty());
}

TEST(XgbModel, RowsOfAnotherWidthAreAnError) {
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const std::vector<FeatureRow> rows{FeatureRow(3)};
  EXPECT_THAT(model->Predict(rows).status().message(), HasSubstr("a row has 3 columns"));
  const std::vector<CostSample> batch{{FeatureRow(3)}};
  EXPECT_THAT(model->Update(batch).status().message(), HasSubstr("a row has 3 columns"));
}

TEST(RandomModel, DependsOnRowAndSeedOnly) {
  Random random(9);
  const std::vector<FeatureRow> rows = RowsOf(MakeBatch(3, 1, random));
  const auto a = MakeRandomModel(1)->Predict(rows), again = MakeRandomModel(1)->Predict(rows),
             b = MakeRandomModel(2)->Predict(rows);
  ASSERT_TRUE(a.ok() && again.ok() && b.ok());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ((*a)[i].score, (*again)[i].score);
    EXPECT_NE((*a)[i].score, (*b)[i].score);
  }
}

}  // namespace
}  // namespace lathe
