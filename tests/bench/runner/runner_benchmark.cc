// What a trial costs besides its timing, and what each cache regime costs.
//   build/release/bench/runner_benchmark --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include "runner/runner_process.h"

namespace lathe {
namespace {

using State = RunnerProcess::State;
constexpr std::chrono::seconds kLimit(30);
const RunnerOptions kOptions{.program = LATHE_BIN_DIR "/lathe-runner"};

std::unique_ptr<RunnerProcess> SpawnReady(benchmark::State& state) {
  RuntimeResult<std::unique_ptr<RunnerProcess>> runner = RunnerProcess::Spawn(kOptions);
  if (!runner.ok() || !(*runner)->Wait(State::kReady, kLimit)) {
    state.SkipWithError("lathe-runner does not start");
    return nullptr;
  }
  return *std::move(runner);
}

void BM_SpawnToReady(benchmark::State& state) {
  for (auto _ : state) {
    if (SpawnReady(state) == nullptr) return;
  }
}
BENCHMARK(BM_SpawnToReady)->Unit(benchmark::kMillisecond)->UseRealTime();

RunSpec Layer() { return {.artifact_path = LATHE_TEST_KERNEL_DIR "/layer.so", .kernel_name = "matmul"}; }
RunSpec Add() { return {.artifact_path = LATHE_TEST_KERNEL_DIR "/good.so", .kernel_name = "add"}; }

// One trial with as little timing as the policy allows: load, inputs, check, report, exit.
void BM_TrialWithoutTiming(benchmark::State& state) {
  RunSpec spec = Add();
  spec.policy.min_batch_ns = spec.policy.warmup_ns = 0;
  spec.policy.min_repeats = spec.policy.max_repeats = 1;
  spec.policy.max_redone = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const std::unique_ptr<RunnerProcess> runner = SpawnReady(state);
    if (runner == nullptr) return;
    state.ResumeTiming();
    if (!runner->Start(spec).ok() || !runner->Wait(State::kFinished, kLimit)) state.SkipWithError("trial failed");
  }
}
BENCHMARK(BM_TrialWithoutTiming)->Unit(benchmark::kMillisecond)->UseRealTime();

// A whole screening trial of an element-wise sum (48 KiB in all) or a matrix product (192 KiB); `spread` is the range
// of the medians of all iterations, in percent of their mean.
void BM_ScreenTrial(benchmark::State& state) {
  RunSpec spec = state.range(0) == 0 ? Add() : Layer();
  spec.cpus = {0};
  spec.policy.regime = static_cast<CacheRegime>(state.range(1));
  std::vector<double> medians;
  double samples = 0, calls = 0, redone = 0;
  for (auto _ : state) {
    const std::unique_ptr<RunnerProcess> runner = SpawnReady(state);
    if (runner == nullptr || !runner->Start(spec).ok() || !runner->Wait(State::kFinished, kLimit))
      return state.SkipWithError("trial failed");
    const RunReport& report = runner->outcome().report;
    if (report.status > RunStatus::kNoisy) return state.SkipWithError(report.message.c_str());
    medians.push_back(report.measured.statistics.median);
    samples += static_cast<double>(report.measured.samples_ns.size());
    calls += static_cast<double>(report.measured.total_calls);
    redone += report.measured.redone;
  }
  const SampleStatistics all = Summarize(medians);
  state.counters["median_us"] = all.median / 1000;
  state.counters["spread_%"] = 100 * (all.p90 - all.p10) / all.median;
  state.counters["repeats"] = samples / static_cast<double>(medians.size());
  state.counters["calls"] = calls / static_cast<double>(medians.size());
  state.counters["redone"] = redone / static_cast<double>(medians.size());
}
BENCHMARK(BM_ScreenTrial)
    ->ArgNames({"layer", "regime"})
    ->ArgsProduct({{0, 1}, {0, 1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(20);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
