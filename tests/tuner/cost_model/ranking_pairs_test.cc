#include "tuner/cost_model/ranking_pairs.h"

#include <gmock/gmock.h>

#include <cmath>

namespace lathe {
namespace {

using Outcome = CostSample::Outcome;

struct CompareCase {
  const char* name;
  SampleLabel a, b;
  int expected;
};
class CompareTest : public testing::TestWithParam<CompareCase> {};
TEST_P(CompareTest, DecidesOnlyWhatWasMeasured) {
  EXPECT_EQ(Compare(GetParam().a, GetParam().b), GetParam().expected);
  EXPECT_EQ(Compare(GetParam().b, GetParam().a), -GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    Outcomes, CompareTest,
    testing::Values(CompareCase{"Timed", {0, Outcome::kTimed, 1}, {0, Outcome::kTimed, 2}, 1},
                    CompareCase{"Equal", {0, Outcome::kTimed, 2}, {0, Outcome::kTimed, 2}, 0},
                    CompareCase{"OtherTask", {0, Outcome::kTimed, 1}, {1, Outcome::kTimed, 2}, 0},
                    CompareCase{"BelowTheBound", {0, Outcome::kTimed, 1}, {0, Outcome::kCensored, 2}, 1},
                    CompareCase{"AboveTheBound", {0, Outcome::kTimed, 3}, {0, Outcome::kCensored, 2}, 0},
                    CompareCase{"TwoBounds", {0, Outcome::kCensored, 1}, {0, Outcome::kCensored, 2}, 0},
                    CompareCase{"Failed", {0, Outcome::kTimed, 9}, {0, Outcome::kFailed, 0}, 1},
                    CompareCase{"FailedAndCensored", {0, Outcome::kCensored, 9}, {0, Outcome::kFailed, 0}, 0}),
    [](const auto& info) { return info.param.name; });

TEST(DrawPairs, SayWhatCompareSays) {
  Random random(1);
  std::vector<SampleLabel> labels;
  for (int i = 0; i < 200; ++i) {
    labels.push_back({random.Below(3), static_cast<Outcome>(random.Below(3)), 100 + 900 * random.Unit()});
  }
  const std::vector<RankedPair> pairs = DrawPairs(labels, 8, random);
  EXPECT_GT(pairs.size(), 500u);
  for (const RankedPair& pair : pairs) {
    EXPECT_EQ(Compare(labels[pair.faster], labels[pair.slower]), 1);
    EXPECT_GT(pair.weight, 0);
  }
}

TEST(DrawPairs, ThatAreSlowCountAsWell) {
  const std::vector<SampleLabel> labels{{0, Outcome::kTimed, 1}, {0, Outcome::kTimed, 8}, {0, Outcome::kTimed, 64}};
  float fast = 0, slow = 0;
  for (const RankedPair& pair : DrawPairs(labels, 64, Random(1))) {
    if (pair.faster == 0 && pair.slower == 1) fast = pair.weight;
    if (pair.faster == 1 && pair.slower == 2) slow = pair.weight;
  }
  EXPECT_GT(slow, 0.5F * fast);
  EXPECT_LT(slow, fast);
}

TEST(DrawPairs, ATaskWithoutATimeGivesNone) {
  const std::vector<SampleLabel> labels(5);
  EXPECT_TRUE(DrawPairs(labels, 8, Random(1)).empty());
  EXPECT_TRUE(DrawPairs({}, 8, Random(1)).empty());
}

double Loss(const std::vector<RankedPair>& pairs, const std::vector<double>& scores) {
  double loss = 0;
  for (const RankedPair& pair : pairs)
    loss += pair.weight * std::log1p(std::exp(scores[pair.slower] - scores[pair.faster]));
  return loss;
}

TEST(PairwiseGradient, IsTheSlopeOfTheLoss) {
  const std::vector<RankedPair> pairs{{0, 1, 0.5F}, {2, 1, 1.0F}, {0, 2, 0.25F}};
  std::vector<double> scores{0.3, -0.2, 1.1};
  std::vector<float> gradient, hessian;
  PairwiseGradient(pairs, scores, gradient, hessian);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < scores.size(); ++i) {
    std::vector<double> up = scores, down = scores;
    up[i] += kStep;
    down[i] -= kStep;
    EXPECT_NEAR(gradient[i], (Loss(pairs, up) - Loss(pairs, down)) / (2 * kStep), 1e-5);
    EXPECT_NEAR(hessian[i], (Loss(pairs, up) - 2 * Loss(pairs, scores) + Loss(pairs, down)) / (kStep * kStep), 1e-3);
  }
}

TEST(FitEstimateWeight, TrustsWhatPredictsAndDropsWhatMisleads) {
  std::vector<double> good, bad;
  std::vector<RankedPair> pairs;
  for (uint32_t i = 0; i < 100; ++i) {
    good.push_back(i * -0.2);
    bad.push_back(i * 0.2);
    if (i > 0) pairs.push_back({i - 1, i, 1.0F});
  }
  EXPECT_GT(FitEstimateWeight(pairs, good), 2);
  EXPECT_EQ(FitEstimateWeight(pairs, bad), 0);
  EXPECT_EQ(FitEstimateWeight({}, good), 1);
}

TEST(JudgeRanking, CountsPairsAndRegret) {
  std::vector<CostSample> batch;
  for (double ns : {100.0, 150.0, 300.0}) batch.push_back({{}, 1, Outcome::kTimed, ns});
  batch.push_back({{}, 1, Outcome::kFailed, 0});
  const std::vector<Prediction> predictions{{2, 0}, {3, 0}, {1, 0}, {0, 0}};
  const RankQuality quality = JudgeRanking(batch, predictions);
  EXPECT_EQ(quality.pairs, 6);
  EXPECT_EQ(quality.pairs_right, 5);
  EXPECT_DOUBLE_EQ(quality.regret_at_1, 0.5);
  EXPECT_DOUBLE_EQ(quality.regret_at_8, 0);
}

TEST(JudgePairs, CountsWhatIsApartByMoreThanItsIntervals) {
  const std::vector<MeasuredTime> times{
      {100, 99, 101}, {104, 103, 105}, {120, 102, 125}, {200, 190, 210}, {205, 160, 250}};
  // Too near: 100 and 104, 200 and 205. Meeting intervals: 104 and 120.
  const PairCount count = JudgePairs(times, std::vector<double>{5, 4, 6, 2, 1}, 0.05);
  EXPECT_EQ(count.pairs, 7);
  EXPECT_EQ(count.right, 6);  // 120 is placed before 100.
  EXPECT_DOUBLE_EQ(count.accuracy(), 6.0 / 7);
}

TEST(JudgePairs, EqualScoresAreWrong) {
  const std::vector<MeasuredTime> times{{100, 100, 100}, {200, 200, 200}};
  EXPECT_EQ(JudgePairs(times, std::vector<double>{0, 0}, 0.05).right, 0);
  EXPECT_EQ(JudgePairs({}, {}, 0.05).accuracy(), 0);
}

}  // namespace
}  // namespace lathe
