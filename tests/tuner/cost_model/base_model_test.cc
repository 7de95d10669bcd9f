#include "tuner/cost_model/base_model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/file.h"
#include "support/random.h"
#include "tuner/cost_model/pair_boosting.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using Outcome = CostSample::Outcome;

constexpr size_t kBitsColumn = 196, kRegistersColumn = 197;

FeatureRow RowFor(TargetKind target, Random& random) {
  FeatureRow row(kFeatureCount);
  for (float& value : row) value = static_cast<float>(10 * random.Unit());
  row[kBitsColumn] = std::log2(static_cast<float>(target.vector_bits) + 1);
  row[kRegistersColumn] = static_cast<float>(target.registers);
  return row;
}

constexpr TargetKind kTrained{512, 32}, kOther{256, 16};

// The same law in each task, of which the draft knows nothing; only the scale differs.
CostSample SampleOf(uint64_t task, TargetKind target, Random& random) {
  CostSample sample{RowFor(target, random), task, Outcome::kTimed};
  const FeatureRow& row = sample.features;
  sample.median_ns = 1000.0 * static_cast<double>(task) * std::exp2(0.3 * row[20] + (row[50] > 5 ? 1 : 0));
  return sample;
}
std::vector<CostSample> SamplesOf(size_t count, uint64_t task, Random& random, TargetKind target = kTrained) {
  std::vector<CostSample> samples;
  for (size_t i = 0; i < count; ++i) samples.push_back(SampleOf(task, target, random));
  return samples;
}
std::vector<FeatureRow> FeaturesIn(std::span<const CostSample> samples) {
  std::vector<FeatureRow> rows;
  for (const CostSample& sample : samples) rows.push_back(sample.features);
  return rows;
}
double AccuracyOf(std::span<const double> scores, std::span<const CostSample> samples) {
  std::vector<MeasuredTime> times;
  for (const CostSample& sample : samples) times.push_back({sample.median_ns, sample.median_ns, sample.median_ns});
  return JudgePairs(times, scores, 0.05).accuracy();
}

class BaseModelTest : public testing::Test {
 protected:
  Random random_{1};
  std::vector<CostSample> samples_ = [this] {
    std::vector<CostSample> samples = SamplesOf(100, 1, random_);
    for (CostSample& sample : SamplesOf(100, 50, random_)) samples.push_back(std::move(sample));
    return samples;
  }();
  BaseModel model_ = *BaseModel::Train(samples_);
};

TEST_F(BaseModelTest, RanksATaskThatItNeverSaw) {
  const std::vector<CostSample> unseen = SamplesOf(100, 7, random_);
  EXPECT_GT(AccuracyOf(*model_.Score(FeaturesIn(unseen)), unseen), 0.85);
}

TEST_F(BaseModelTest, SaysWhatItWasTrainedFrom) {
  EXPECT_EQ(model_.trained_from().num_records, 200);
  EXPECT_EQ(model_.trained_from().num_workloads, 2);
  EXPECT_EQ(model_.trained_from().targets, std::vector{kTrained});
  EXPECT_EQ(BaseModel::Train(samples_)->ToText(), model_.ToText());
  samples_[3].median_ns += 1;
  EXPECT_NE(BaseModel::Train(samples_)->trained_from().records, model_.trained_from().records);
}

TEST_F(BaseModelTest, SaysNoMoreThanTheDraftOfTargetsThatItHasNotSeen) {
  const std::vector<FeatureRow> rows{RowFor(kOther, random_), RowFor(kOther, random_)};
  const std::vector<double> scores = *model_.Score(rows);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(scores[i], -double{rows[i][kDraftColumn]});
}

TEST_F(BaseModelTest, IsTheSameFromItsText) {
  const StatusOr<BaseModel> read = BaseModel::FromText(model_.ToText());
  ASSERT_TRUE(read.ok()) << read.status().message();
  const std::vector<FeatureRow> rows = FeaturesIn(SamplesOf(50, 1, random_));
  EXPECT_EQ(*read->Score(rows), *model_.Score(rows));
  EXPECT_EQ(read->ToText(), model_.ToText());
}

TEST_F(BaseModelTest, RowsOfAnotherWidthAreAnError) {
  const std::vector<FeatureRow> rows{FeatureRow(3)};
  EXPECT_THAT(model_.Score(rows).status().message(), HasSubstr("a row has 3 columns"));
  samples_[5].features.resize(3);
  EXPECT_THAT(BaseModel::Train(samples_).status().message(), HasSubstr("a row has 3 columns"));
}

TEST_F(BaseModelTest, NeedsTwoTimesOfOneTask) {
  for (CostSample& sample : samples_) sample.outcome = Outcome::kFailed;
  EXPECT_THAT(BaseModel::Train(samples_).status().message(),
              HasSubstr("of 200 records no two of a workload have times that differ"));
}

std::string Replaced(std::string text, std::string_view what, std::string_view with) {
  const size_t at = text.find(what);
  CHECK(at != std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST_F(BaseModelTest, ATextThatIsNoneOfThisBuildIsRefused) {
  const std::string text = model_.ToText();
  const auto words = [](const std::string& other) { return BaseModel::FromText(other).status().message(); };
  EXPECT_THAT(words(""), HasSubstr("not a model of Lathe's"));
  EXPECT_THAT(words("[]"), HasSubstr("not a model of Lathe's"));
  EXPECT_THAT(words(Replaced(text, "\"features\":3", "\"features\":2")),
              HasSubstr("format 2 for features 2, this build reads format 2 for features 3; train it anew with `lathe "
                        "model train`"));
  EXPECT_THAT(words(Replaced(text, "\"trees\":", "\"tree\":")), HasSubstr("its first line lacks a field"));
  EXPECT_THAT(words(Replaced(text, "\"draft_weight\":", "\"draft_weight\":-1")), HasSubstr("out of range"));
  EXPECT_THAT(words(Replaced(text, "\n[[", "\n[ [")), HasSubstr("its digest does not match"));
  for (size_t size = 0; size < text.size(); size += 1 + size / 7)
    EXPECT_FALSE(BaseModel::FromText(text.substr(0, size)).ok()) << size;
}

// As if somebody had written it: the digest is right.
std::string Forged(const std::string& text, const std::string& tree) {
  const nlohmann::json header = nlohmann::json::parse(text.substr(0, text.find('\n')));
  nlohmann::json forged = header;
  forged["trees"] = 1;
  forged["digest"] = Sha256(tree + "\n").ToHex();
  return forged.dump() + "\n" + tree + "\n";
}

TEST_F(BaseModelTest, ATreeThatLeadsNowhereIsRefused) {
  EXPECT_TRUE(BaseModel::FromText(Forged(model_.ToText(), "[[3,0.5,1],[-1,1,0],[-1,2,0]]")).ok());
  for (const char* tree : {"[]", "{}", "[[3,0.5,1]]", "[[3,0.5,0],[-1,1,0]]", "[[202,0.5,1],[-1,1,0],[-1,2,0]]",
                           "[[-2,0.5,1],[-1,1,0],[-1,2,0]]", "[[3,1e99,1],[-1,1,0],[-1,2,0]]",
                           "[[3,0.5,2],[-1,1,0],[-1,2,0]]", "[[3,\"x\",1],[-1,1,0],[-1,2,0]]"}) {
    EXPECT_THAT(BaseModel::FromText(Forged(model_.ToText(), tree)).status().message(), HasSubstr("a tree is not one"))
        << tree;
  }
}

TEST(RegressionTrees, SayWhatXgboostSays) {
  Random random(2);
  const std::vector<CostSample> samples = SamplesOf(80, 1, random);
  std::vector<SampleLabel> labels;
  std::vector<float> values;
  for (const CostSample& sample : samples) {
    labels.push_back({0, sample.outcome, sample.median_ns});
    values.insert(values.end(), sample.features.begin(), sample.features.end());
  }
  const BoosterMatrix matrix = *BoosterMatrix::Make(values, kFeatureCount);
  Booster booster = *Booster::Make({});
  ASSERT_TRUE(
      BoostOnPairs(booster, matrix, DrawPairs(labels, 8, random), std::vector<double>(samples.size()), 20).ok());
  const std::vector<RegressionTree> trees = *ReadXgbTrees(*booster.ToJson());
  EXPECT_EQ(trees.size(), 20u);
  const std::vector<float> theirs = *booster.Predict(matrix, /*is_training=*/false);
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_NEAR(SumOfTrees(trees, samples[i].features), theirs[i], 1e-5);
}

TEST(RegressionTrees, OtherJsonIsAnError) {
  EXPECT_THAT(ReadXgbTrees("{}").status().message(), HasSubstr("read the trees of xgboost"));
  EXPECT_THAT(ReadXgbTrees("nothing").status().message(), HasSubstr("read the trees of xgboost"));
}

TEST(XgbModelOnABase, BeginsWithItAndIsCorrectedWhereItMisleads) {
  Random random(3);
  std::vector<CostSample> wrong = SamplesOf(150, 1, random);  // Fast is slow there.
  for (CostSample& sample : wrong) sample.median_ns = 1e9 / sample.median_ns;
  const auto base = std::make_shared<const BaseModel>(*BaseModel::Train(wrong));
  const std::unique_ptr<CostModel> model = MakeXgbModel({}, base);
  const std::vector<CostSample> unseen = SamplesOf(100, 2, random);
  const auto accuracy = [&] {
    std::vector<double> scores;
    for (const Prediction& prediction : *model->Predict(FeaturesIn(unseen))) scores.push_back(prediction.score);
    return AccuracyOf(scores, unseen);
  };
  EXPECT_DOUBLE_EQ(accuracy(), AccuracyOf(*base->Score(FeaturesIn(unseen)), unseen));
  EXPECT_LT(accuracy(), 0.2);
  StatusOr<ModelReport> report = ModelReport();
  for (int round = 0; round < 8; ++round) report = model->Update(SamplesOf(16, 2, random));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->draft_weight, 0);
  EXPECT_GT(accuracy(), 0.8);
}

TEST(BoosterTest, NeverRanksARowHigherForMoreCycles) {
  Random random(4);
  std::vector<CostSample> samples = SamplesOf(120, 1, random);
  for (CostSample& sample : samples)  // The more cycles, the faster: what a search sees where all else differs as well.
    sample.median_ns = 1e5 * std::exp2(-0.5 * sample.features[kDraftColumn] + 0.2 * sample.features[20]);
  const BaseModel model = *BaseModel::Train(samples);
  for (int i = 0; i < 50; ++i) {
    std::vector<FeatureRow> rows(2, RowFor(kTrained, random));
    rows[1][kDraftColumn] += static_cast<float>(1 + 5 * random.Unit());
    const std::vector<double> scores = *model.Score(rows);
    EXPECT_GE(scores[0], scores[1]);
  }
}

TEST(BuiltInBaseModel, IsOfThisBuildsFeatures) {
  const std::shared_ptr<const BaseModel> model = BuiltInBaseModel();
  if (model == nullptr) {
    const StatusOr<std::string> text = ReadWholeFile(LATHE_SOURCE_DIR "/tuner/cost_model/base_model.txt");
    ASSERT_TRUE(text.ok());
    ASSERT_THAT(BaseModel::FromText(*text).status().message(), HasSubstr("for features"));
    GTEST_SKIP() << "features have changed: searches begin with the draft until base_model.txt is trained anew";
  }
  EXPECT_GE(model->trained_from().num_workloads, 12);
  EXPECT_EQ(BuiltInBaseModel(), model);
}

}  // namespace
}  // namespace lathe
