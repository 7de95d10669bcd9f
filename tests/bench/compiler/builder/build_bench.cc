// What building one candidate costs, by phase: 3x3 convolution, bias and relu, candidates as a search proposes them.
// Bar: median of 20 ms on one core, from its text to the linked file.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "compiler/builder/build.h"
#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"

namespace lathe {
namespace {

double MedianMs(std::vector<Duration> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  return std::chrono::duration<double, std::milli>(times[times.size() / 2]).count();
}

void BM_BuildConvBiasRelu(benchmark::State& state) {
  const TuneTask task = MakeTestTask(kConvBiasAddRelu);
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, 1)->Propose(64);
  const std::string output =
      std::filesystem::temp_directory_path() / ("lathe_build_bench." + std::to_string(getpid()) + ".so");
  std::vector<BuildTimes> builds;
  size_t i = 0, refused = 0;
  for (auto _ : state) {
    const MeasureCandidate& candidate = candidates[i++ % candidates.size()];
    const BuildSpec spec{.kernels = {{"", kConvBiasAddRelu, candidate.trace_json}},
                         .target = task.target.ToString(),
                         .output_path = output,
                         .refuses_spills = true};
    const BuildResult result = Build(spec);
    if (const auto* artifact = std::get_if<BuildArtifact>(&result.outcome))
      builds.push_back(artifact->times);
    else
      ++refused;
  }
  std::filesystem::remove(output);
  if (builds.empty()) return state.SkipWithError("no candidate could be built");
  const auto report = [&](const char* name, auto phase) {
    std::vector<Duration> times;
    for (const BuildTimes& build : builds) times.push_back(phase(build));
    state.counters[name] = MedianMs(std::move(times));
  };
  report("total_ms", [](const BuildTimes& b) { return b.total(); });
  report("parse_ms", [](const BuildTimes& b) { return b.parse; });
  report("schedule_ms", [](const BuildTimes& b) { return b.schedule; });
  report("lower_ms", [](const BuildTimes& b) { return b.lower; });
  report("emit_ms", [](const BuildTimes& b) { return b.emit; });
  report("optimize_ms", [](const BuildTimes& b) { return b.optimize; });
  report("generate_ms", [](const BuildTimes& b) { return b.generate; });
  report("link_ms", [](const BuildTimes& b) { return b.link + b.write; });
  state.counters["refused"] = static_cast<double>(refused);
}
BENCHMARK(BM_BuildConvBiasRelu)->Unit(benchmark::kMillisecond)->Iterations(128);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
