// What measurements say about the order of candidates, as pairs; and what those pairs ask of scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/random.h"
#include "tuner/cost_model/cost_model.h"

namespace lathe {

// InvalidArgument unless the row has kFeatureCount columns.
Status CheckRow(const FeatureRow& row);

// What is known of one sample's speed; no features.
struct SampleLabel {
  size_t task = 0;  // 0, 1, 2 ...: dense.
  CostSample::Outcome outcome = CostSample::Outcome::kFailed;
  double median_ns = 0;
};

// Label in [0, 1]: the task's best time over this one's; 0 for a failure. Of a censored sample: at most this.
double LabelOf(const SampleLabel& label, double best_ns);

struct RankedPair {
  uint32_t faster = 0, slower = 0;  // Positions.
  float weight = 0;                 // Grows with the gap of the labels.
};

// Whether a is faster (+1) or slower (-1) than b as far as the measurements decide it, or 0. Censored samples are known
// to be slower than those timed below their bound, and nothing else; two failures, or a failure and a censored sample,
// do not compare.
int Compare(const SampleLabel& a, const SampleLabel& b);

// For each sample `per_sample` random partners of its task, half of them from the task's fastest quarter; those that
// decide nothing are left out. Deterministic from `random`. Tasks without a timed sample give none.
std::vector<RankedPair> DrawPairs(std::span<const SampleLabel> labels, int per_sample, Random random);

// Gradient and curvature of sum of weight * log(1 + exp(score[slower] - score[faster])); both are overwritten, one
// number per score.
void PairwiseGradient(std::span<const RankedPair> pairs, std::span<const double> scores, std::vector<float>& gradient,
                      std::vector<float>& hessian);

// The factor a >= 0 of `estimate` (higher is faster) for which a * estimate explains the pairs best; pulled towards 1
// where there are few.
double FitEstimateWeight(std::span<const RankedPair> pairs, std::span<const double> estimate);

// A time per call, and the interval that the measurement leaves for it.
struct MeasuredTime {
  double median_ns = 0, low_ns = 0, high_ns = 0;
};

struct PairCount {
  int64_t pairs = 0, right = 0;
  double accuracy() const { return pairs == 0 ? 0 : static_cast<double>(right) / static_cast<double>(pairs); }
};

// Of the pairs that differ by at least `smallest_gap` (0.05: one takes 5 % longer) and whose intervals do not meet, how
// many have the higher score where the time is shorter. Equal scores are wrong. One score per time.
PairCount JudgePairs(std::span<const MeasuredTime> times, std::span<const double> scores, double smallest_gap);

}  // namespace lathe
