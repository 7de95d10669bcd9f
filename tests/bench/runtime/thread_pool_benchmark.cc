// What it costs to run a loop on a pool: the hand-out itself, loops that follow each other over one tensor, and two
// callers at once.
//   build/release/bench/thread_pool_benchmark --benchmark_repetitions=5 --benchmark_report_aggregates_only
#include <benchmark/benchmark.h>

#include <vector>

#include "runtime/cpu_features.h"
#include "runtime/thread_pool.h"

namespace lathe {
namespace {

constexpr int64_t kRow = 256;  // Floats of an iteration.

int32_t DoNothing(const LatheContext*, void*, int64_t, int64_t) { return 0; }

int32_t AddOne(const LatheContext*, void* closure, int64_t begin, int64_t end) {
  auto* values = static_cast<float*>(closure);
  for (int64_t i = begin * kRow; i < end * kRow; ++i) values[i] += 1;
  benchmark::ClobberMemory();
  return 0;
}

const std::vector<int>& Cpus() {
  static const auto* cpus = new std::vector<int>(AvailableCpus());  // Before anybody pins itself.
  return *cpus;
}

// A thread on each CPU, the calling one on number `caller`: else the kernel may put two on one CPU.
std::unique_ptr<ThreadPool> PinnedPool(int64_t num_threads) {
  (void)PinCurrentThread(Cpus());  // Threads begin where their maker may run.
  return *ThreadPool::Create(static_cast<int>(num_threads), Cpus());
}
void PinCaller(int caller) {
  (void)PinCurrentThread(std::span(Cpus()).subspan(static_cast<size_t>(caller) % Cpus().size(), 1));
}

// range(0): threads; range(1): iterations.
void BM_Empty(benchmark::State& state) {
  const std::unique_ptr<ThreadPool> pool = PinnedPool(state.range(0));
  PinCaller(0);
  for (auto _ : state) benchmark::DoNotOptimize(pool->Run(nullptr, DoNothing, nullptr, state.range(1)));
}
BENCHMARK(BM_Empty)->ArgNames({"threads", "extent"})->ArgsProduct({{1, 2}, {2, 64}})->UseRealTime();

// range(1): KiB of the tensor, which the next loop finds where this one has left it.
void BM_LoopsInARow(benchmark::State& state) {
  const std::unique_ptr<ThreadPool> pool = PinnedPool(state.range(0));
  PinCaller(0);
  std::vector<float> values(static_cast<size_t>(state.range(1) << 10) / sizeof(float));
  const auto extent = static_cast<int64_t>(values.size()) / kRow;
  for (auto _ : state) benchmark::DoNotOptimize(pool->Run(nullptr, AddOne, values.data(), extent));
}
BENCHMARK(BM_LoopsInARow)->ArgNames({"threads", "KiB"})->ArgsProduct({{1, 2}, {16, 128, 1024, 4096}})->UseRealTime();

// Each caller has a tensor of its own. range(0): threads; range(1): KiB.
void BM_TwoCallers(benchmark::State& state) {
  static std::unique_ptr<ThreadPool> pool;
  if (state.thread_index() == 0) pool = PinnedPool(state.range(0));
  PinCaller(state.thread_index());
  std::vector<float> values(static_cast<size_t>(state.range(1) << 10) / sizeof(float));
  const auto extent = static_cast<int64_t>(values.size()) / kRow;
  for (auto _ : state) benchmark::DoNotOptimize(pool->Run(nullptr, AddOne, values.data(), extent));
  if (state.thread_index() == 0) pool.reset();
}
BENCHMARK(BM_TwoCallers)->ArgNames({"threads", "KiB"})->ArgsProduct({{2}, {16, 1024}})->Threads(2)->UseRealTime();

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
