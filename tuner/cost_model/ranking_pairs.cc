#include "tuner/cost_model/ranking_pairs.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace lathe {
namespace {

using Outcome = CostSample::Outcome;

constexpr double kSmallestGap = 0.01;  // Closer labels are noise.
constexpr double kFloorOfWeight = 0.02;
constexpr double kGapPerDoubling = 0.3;  // One ten times as slow is as wrong as one that fails.

bool IsTimed(const SampleLabel& label) { return label.outcome == Outcome::kTimed && label.median_ns > 0; }

// The order among the fast matters most, but what is slow has to be known as slow: each doubling counts alike. Of what
// has no time only the label is known.
double WeightOf(const SampleLabel& faster, const SampleLabel& slower, double best_ns) {
  const double best = LabelOf(faster, best_ns);
  const double gap = IsTimed(slower) ? std::min(1.0, kGapPerDoubling * std::log2(slower.median_ns / faster.median_ns))
                                     : best - LabelOf(slower, best_ns);
  return std::max(kFloorOfWeight, gap) * (1 + best);
}

}  // namespace

Status CheckRow(const FeatureRow& row) {
  if (row.size() == kFeatureCount) return OkStatus();
  return InvalidArgument(
      fmt::format("cost model: a row has {} columns, {} are required; extract features with this build", row.size(),
                  kFeatureCount));
}

double LabelOf(const SampleLabel& label, double best_ns) {
  if (label.outcome == Outcome::kFailed || label.median_ns <= 0) return 0;
  return std::min(1.0, best_ns / label.median_ns);
}

int Compare(const SampleLabel& a, const SampleLabel& b) {
  if (a.task != b.task) return 0;
  if (IsTimed(a) && IsTimed(b)) return a.median_ns < b.median_ns ? 1 : a.median_ns > b.median_ns ? -1 : 0;
  if (IsTimed(a)) return b.outcome != Outcome::kCensored || a.median_ns <= b.median_ns ? 1 : 0;
  if (IsTimed(b)) return -Compare(b, a);
  return 0;
}

std::vector<RankedPair> DrawPairs(std::span<const SampleLabel> labels, int per_sample, Random random) {
  size_t num_tasks = 0;
  for (const SampleLabel& label : labels) num_tasks = std::max(num_tasks, label.task + 1);
  std::vector<std::vector<uint32_t>> members(num_tasks);
  for (size_t i = 0; i < labels.size(); ++i) members[labels[i].task].push_back(static_cast<uint32_t>(i));

  std::vector<RankedPair> pairs;
  pairs.reserve(labels.size() * per_sample);
  for (const std::vector<uint32_t>& task : members) {
    std::vector<uint32_t> timed;
    for (uint32_t i : task)
      if (IsTimed(labels[i])) timed.push_back(i);
    if (timed.empty() || task.size() < 2) continue;
    std::sort(timed.begin(), timed.end(),
              [&](uint32_t a, uint32_t b) { return labels[a].median_ns < labels[b].median_ns; });
    const double best_ns = labels[timed.front()].median_ns;
    const size_t fastest = (timed.size() + 3) / 4;
    for (uint32_t i : task) {
      for (int k = 0; k < per_sample; ++k) {
        const uint32_t j = k % 2 == 0 ? timed[random.Below(fastest)] : task[random.Below(task.size())];
        const int order = Compare(labels[i], labels[j]);
        if (order == 0) continue;
        const auto [faster, slower] = order > 0 ? std::pair(i, j) : std::pair(j, i);
        const double gap = LabelOf(labels[faster], best_ns) - LabelOf(labels[slower], best_ns);
        if (IsTimed(labels[slower]) && gap < kSmallestGap) continue;
        pairs.push_back({faster, slower, static_cast<float>(WeightOf(labels[faster], labels[slower], best_ns))});
      }
    }
  }
  return pairs;
}

void PairwiseGradient(std::span<const RankedPair> pairs, std::span<const double> scores, std::vector<float>& gradient,
                      std::vector<float>& hessian) {
  gradient.assign(scores.size(), 0.0F);
  hessian.assign(scores.size(), 1e-6F);
  for (const RankedPair& pair : pairs) {
    const double wrong = 1 / (1 + std::exp(scores[pair.faster] - scores[pair.slower]));
    const float pull = static_cast<float>(pair.weight * wrong);
    const float curvature = static_cast<float>(pair.weight * wrong * (1 - wrong));
    gradient[pair.faster] -= pull;
    gradient[pair.slower] += pull;
    hessian[pair.faster] += curvature;
    hessian[pair.slower] += curvature;
  }
}

double FitEstimateWeight(std::span<const RankedPair> pairs, std::span<const double> estimate) {
  constexpr double kPrior = 4;  // As much as this much curvature of the data.
  double weight = 1;
  for (int step = 0; step < 20; ++step) {
    double slope = kPrior * (weight - 1), curvature = kPrior;
    for (const RankedPair& pair : pairs) {
      const double gap = estimate[pair.faster] - estimate[pair.slower];
      const double wrong = 1 / (1 + std::exp(weight * gap));
      slope -= pair.weight * wrong * gap;
      curvature += pair.weight * wrong * (1 - wrong) * gap * gap;
    }
    const double next = std::clamp(weight - slope / curvature, 0.0, 4.0);
    if (std::fabs(next - weight) < 1e-6) break;
    weight = next;
  }
  return weight;
}

RankQuality JudgeRanking(std::span<const CostSample> batch, std::span<const Prediction> predictions) {
  CHECK(batch.size() == predictions.size()) << batch.size() << " samples, " << predictions.size() << " predictions";
  std::map<uint64_t, std::vector<size_t>> by_task;
  for (size_t i = 0; i < batch.size(); ++i) by_task[batch[i].task].push_back(i);
  RankQuality quality;
  size_t judged = 0;
  for (auto& [task, members] : by_task) {
    const auto label = [&](size_t i) { return SampleLabel{0, batch[i].outcome, batch[i].median_ns}; };
    double best_ns = std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < members.size(); ++a) {
      if (IsTimed(label(members[a]))) best_ns = std::min(best_ns, batch[members[a]].median_ns);
      for (size_t b = a + 1; b < members.size(); ++b) {
        const int order = Compare(label(members[a]), label(members[b]));
        if (order == 0) continue;
        const double gap = predictions[members[a]].score - predictions[members[b]].score;
        ++quality.pairs;
        quality.pairs_right += order > 0 ? gap > 0 : gap < 0;
      }
    }
    if (std::isinf(best_ns)) continue;
    std::stable_sort(members.begin(), members.end(),
                     [&](size_t a, size_t b) { return predictions[a].score > predictions[b].score; });
    // A first-ranked candidate without a time counts as the slowest that has one.
    double best_of_first = 0, slowest = best_ns;
    for (size_t i : members)
      if (IsTimed(label(i))) slowest = std::max(slowest, batch[i].median_ns);
    best_of_first = slowest;
    for (size_t k = 0; k < members.size() && k < 8; ++k) {
      if (IsTimed(label(members[k]))) best_of_first = std::min(best_of_first, batch[members[k]].median_ns);
      if (k == 0) quality.regret_at_1 += best_of_first / best_ns - 1;
    }
    quality.regret_at_8 += best_of_first / best_ns - 1;
    ++judged;
  }
  if (judged > 0) {
    quality.regret_at_1 /= static_cast<double>(judged);
    quality.regret_at_8 /= static_cast<double>(judged);
  }
  return quality;
}

PairCount JudgePairs(std::span<const MeasuredTime> times, std::span<const double> scores, double smallest_gap) {
  CHECK(times.size() == scores.size()) << times.size() << " times, " << scores.size() << " scores";
  PairCount count;
  for (size_t a = 0; a < times.size(); ++a) {
    for (size_t b = 0; b < times.size(); ++b) {
      const bool is_apart = times[b].median_ns >= (1 + smallest_gap) * times[a].median_ns;
      if (!is_apart || times[b].low_ns <= times[a].high_ns) continue;
      ++count.pairs;
      count.right += scores[a] > scores[b];
    }
  }
  return count;
}

}  // namespace lathe
