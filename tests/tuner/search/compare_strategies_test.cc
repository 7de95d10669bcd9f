// Searches are worth their cost: at equal trials, evolution under a learned model finds better candidates than random
// draws.
#include <gmock/gmock.h>

#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/evolutionary_search.h"

namespace lathe {
namespace {

constexpr char kDense[] = R"(
@T.prim_func
def main(A: T.Buffer((96, 512), "float32"), B: T.Buffer((512, 320), "float32"), C: T.Buffer((96, 320), "float32")):
    for i, j, k in T.grid(96, 320, 512):
        with T.block("dense"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

constexpr int kSeeds = 11, kTrials = 80;  // Fewer seeds are luck: sketches differ by up to a factor of two.

double BestAfterTrials(SearchStrategy& search, uint64_t seed) {
  SimulatedDevice device({.seed = seed});
  for (int trial = 0; trial < kTrials; trial += 16) {
    for (const MeasureCandidate& candidate : search.Propose(16)) search.Observe(device.Measure(candidate));
  }
  return device.best_true_ns();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The best that single steps lead to from `trace`.
double Climb(const TuneTask& task, const SimulatedDevice& device, ScheduleTrace trace) {
  double best = device.TrueNs(trace);
  for (bool climbed = true; climbed;) {
    climbed = false;
    for (const ScheduleTrace& neighbour : Neighbours(trace)) {
      const double ns = device.TrueNs(neighbour);
      if (ns >= best || !MakeCandidate(task, neighbour, 0).ok()) continue;
      best = ns;
      trace = neighbour;
      climbed = true;
      break;
    }
  }
  return best;
}

// What regret is measured against.
double OptimumOf(const TuneTask& task, uint64_t seed) {
  const SimulatedDevice device({.seed = seed});
  std::vector<MeasureCandidate> starts = MakeRandomSearch(task, seed)->Propose(128);
  std::sort(starts.begin(), starts.end(),
            [&](const auto& a, const auto& b) { return device.TrueNs(a.trace) < device.TrueNs(b.trace); });
  double best = device.TrueNs(starts.front().trace);
  for (size_t i = 0; i < starts.size() && i < 4; ++i) best = std::min(best, Climb(task, device, starts[i].trace));
  return best;
}

struct CompareCase {
  const char* name;
  const char* text;
};
class CompareTest : public testing::TestWithParam<CompareCase> {};

TEST_P(CompareTest, EvolutionBeatsRandomSearchAtEqualTrials) {
  const TuneTask task = MakeTestTask(GetParam().text);
  std::vector<double> evolved, drawn;  // Regrets: time of the best found over the optimum, minus 1.
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::unique_ptr<CostModel> model = MakeXgbModel({.seed = seed});
    const double by_evolution = BestAfterTrials(*MakeEvolutionarySearch(task, *model, seed), seed);
    const double by_drawing = BestAfterTrials(*MakeRandomSearch(task, seed), seed);
    const double optimum = std::min({OptimumOf(task, seed), by_evolution, by_drawing});
    evolved.push_back(by_evolution / optimum - 1);
    drawn.push_back(by_drawing / optimum - 1);
  }
  RecordProperty("regret_of_evolution", testing::PrintToString(evolved));
  RecordProperty("regret_of_random", testing::PrintToString(drawn));
  EXPECT_LT(Median(evolved), 0.6 * Median(drawn)) << "regrets per seed, evolution: " << testing::PrintToString(evolved)
                                                  << "; random draws: " << testing::PrintToString(drawn);
}

INSTANTIATE_TEST_SUITE_P(Workloads, CompareTest,
                         testing::Values(CompareCase{"MatmulRelu", kMatmulRelu},
                                         CompareCase{"ConvBiasAddRelu", kConvBiasAddRelu},
                                         CompareCase{"Dense", kDense}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
