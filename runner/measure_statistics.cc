#include "runner/measure_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lathe {
namespace {

double Quantile(const std::vector<double>& sorted, double q) {  // Linear between neighbours, as numpy's default.
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// How many samples to leave out at either end: the largest k such that P(Binomial(n, 1/2) < k + 1) <= 2.5 %.
size_t TrimForInterval(size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n)), tail = 0;
  for (size_t k = 0; k < n / 2; ++k) {
    tail += probability;
    if (tail > 0.025) return k == 0 ? 0 : k - 1;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return 0;
}

}  // namespace

SampleStatistics Summarize(std::span<const double> samples) {
  SampleStatistics s;
  if (samples.empty()) return s;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  s.median = Quantile(sorted, 0.5);
  s.min = sorted.front();
  s.p10 = Quantile(sorted, 0.1);
  s.p90 = Quantile(sorted, 0.9);
  const size_t trim = TrimForInterval(sorted.size());
  s.half_width = sorted.size() == 1 ? s.median : (sorted[sorted.size() - 1 - trim] - sorted[trim]) / 2;
  for (double& x : sorted) x = std::fabs(x - s.median);
  std::sort(sorted.begin(), sorted.end());
  s.mad = Quantile(sorted, 0.5);
  return s;
}

}  // namespace lathe
