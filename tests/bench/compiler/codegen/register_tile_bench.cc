// How near generated micro-kernels come to one core's FMA peak, and what compiling one costs.
//   build/release/bench/register_tile_bench
// The peak is measured beside each kernel in slices of a millisecond, in turns, so that a noisy neighbour disturbs both
// alike.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include "tests/compiler/codegen/loaded_kernels.h"
#include "tests/compiler/codegen/register_tile.h"

namespace lathe {
namespace {

constexpr int kPeakRounds = 20000;
constexpr int kPeakChains = 16;

__attribute__((target("avx512f"))) float PeakAvx512() {
  __m512 sums[kPeakChains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1);
  __m512 x = _mm512_set1_ps(0.999f);
  for (int i = 0; i < kPeakRounds; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, x, x);
    asm volatile("" : "+v"(x));
  }
  float total = 0;
  for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
  return total;
}

__attribute__((target("avx2,fma"))) float PeakAvx2() {
  constexpr int kChains = 12;
  __m256 sums[kChains];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1);
  __m256 x = _mm256_set1_ps(0.999f);
  for (int i = 0; i < kPeakRounds; ++i) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, x, x);
    asm volatile("" : "+x"(x));
  }
  float total = 0;
  for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
  return total;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void RunTile(benchmark::State& state, const TileShape& shape, const char* target_text) {
  const Target target = *Target::Parse(target_text);
  const bool is_wide = target.Has("avx512f");
  if (!DetectHost().features.empty() && is_wide && !Target::Parse("auto")->Has("avx512f"))
    return state.SkipWithError("this CPU has no AVX-512");
  const int panels = 4, cols = shape.vectors * shape.lanes;
  const PrimFunc func = RegisterTileMatmul(shape, true, panels);
  const StatusOr<LoadedKernels> kernels = LoadedKernels::Make({&func, 1}, target);
  if (!kernels.ok()) return state.SkipWithError(kernels.status().ToString().c_str());
  const LatheKernel kernel = kernels->Find(0, "matmul");
  AlignedArray<float> a(static_cast<size_t>(shape.depth * shape.rows), 0.5f),
      b(static_cast<size_t>(panels * shape.depth * cols), 0.25f), c(static_cast<size_t>(panels * shape.rows * cols));
  void* buffers[] = {a.data(), b.data(), c.data()};
  TestContext context;
  const double kernel_flops = 2.0 * panels * shape.rows * cols * shape.depth;
  const double peak_flops = is_wide ? 2.0 * 16 * kPeakChains * kPeakRounds : 2.0 * 8 * 12 * kPeakRounds;
  const int repeats = std::max(1, static_cast<int>(peak_flops / kernel_flops));
  std::vector<double> peaks, ours;
  for (auto _ : state) {
    const TimePoint start = SystemClock().Now();
    benchmark::DoNotOptimize(is_wide ? PeakAvx512() : PeakAvx2());
    const TimePoint middle = SystemClock().Now();
    for (int i = 0; i < repeats; ++i) kernel(&context.context, buffers, nullptr);
    const TimePoint end = SystemClock().Now();
    peaks.push_back(peak_flops / Seconds(middle - start) * 1e-9);
    ours.push_back(kernel_flops * repeats / Seconds(end - middle) * 1e-9);
  }
  const auto median = [](std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  };
  state.counters["gflops"] = median(ours);
  state.counters["peak_gflops"] = median(peaks);
  state.counters["percent_of_peak"] = 100 * median(ours) / median(peaks);
}

constexpr char kAvx512[] = "llvm -mcpu=x86-64-v4 -mtriple=x86_64-linux-gnu -num-cores=1",
               kAvx2[] = "llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=1";
BENCHMARK_CAPTURE(RunTile, avx512_6x64, TileShape{6, 4, 16, 256}, kAvx512);
BENCHMARK_CAPTURE(RunTile, avx512_14x32, TileShape{14, 2, 16, 256}, kAvx512);
BENCHMARK_CAPTURE(RunTile, avx512_12x32_as_one_vector, TileShape{12, 1, 32, 256}, kAvx512);
BENCHMARK_CAPTURE(RunTile, avx512_24x16, TileShape{24, 1, 16, 256}, kAvx512);
BENCHMARK_CAPTURE(RunTile, avx2_6x16, TileShape{6, 2, 8, 256}, kAvx2);
BENCHMARK_CAPTURE(RunTile, avx2_4x24, TileShape{4, 3, 8, 256}, kAvx2);

// What a worker pays per candidate.
void BM_CompileTile(benchmark::State& state) {
  const Target target = *Target::Parse(kAvx512);
  const PrimFunc func = RegisterTileMatmul({14, 2, 16, 256});
  CompileTimes sum;
  for (auto _ : state) {
    const StatusOr<CompiledModule> module = CompileModule({&func, 1}, {}, target);
    if (!module.ok()) return state.SkipWithError(module.status().ToString().c_str());
    sum.emit += module->times.emit, sum.optimize += module->times.optimize, sum.generate += module->times.generate,
        sum.link += module->times.link;
  }
  const double rounds = static_cast<double>(state.iterations()) / 1000;
  state.counters["emit_ms"] = Seconds(sum.emit) / rounds;
  state.counters["optimize_ms"] = Seconds(sum.optimize) / rounds;
  state.counters["generate_ms"] = Seconds(sum.generate) / rounds;
  state.counters["link_ms"] = Seconds(sum.link) / rounds;
}
BENCHMARK(BM_CompileTile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lathe
BENCHMARK_MAIN();
