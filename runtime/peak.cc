// Compiled with -O2 in every build (see CMakeLists.txt): the loops below are what is measured.
#include "runtime/peak.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "runtime/cpu_features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace lathe {
namespace {

using ReadClock = int64_t (*)();

// A loop of independent multiply-adds: `rounds` rounds, returns the operations done. Enough accumulators to cover
// latency (4-5 cycles) times two units.
using FmaLoop = double (*)(int64_t rounds, double seed, double& sink);

// Body of a loop with kAccumulators registers of type V; a macro since a target attribute does not reach into
// templates.
#define LATHE_FMA_LOOP(NAME, TARGET, V, T, ACCUMULATORS, SET1, FMA, STORE, LANES)                            \
  TARGET double NAME(int64_t rounds, double seed, double& sink) {                                            \
    V acc[ACCUMULATORS];                                                                                     \
    const V factor = SET1(static_cast<T>(0.999)), term = SET1(static_cast<T>(seed));                         \
    _Pragma("GCC unroll 32") for (int i = 0; i < ACCUMULATORS; ++i) acc[i] = SET1(static_cast<T>(seed + i)); \
    for (int64_t r = 0; r < rounds; ++r) {                                                                   \
      _Pragma("GCC unroll 32") for (int i = 0; i < ACCUMULATORS; ++i) acc[i] = FMA(acc[i], factor, term);    \
    }                                                                                                        \
    alignas(64) T lanes[LANES];                                                                              \
    _Pragma("GCC unroll 32") for (int i = 0; i < ACCUMULATORS; ++i) {                                        \
      STORE(lanes, acc[i]);                                                                                  \
      sink += static_cast<double>(lanes[0]);                                                                 \
    }                                                                                                        \
    return 2.0 * LANES * ACCUMULATORS * static_cast<double>(rounds);                                         \
  }

#if defined(__x86_64__)
#define LATHE_TARGET_AVX512 __attribute__((target("avx512f")))
#define LATHE_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define LATHE_SSE_FMA_PS(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define LATHE_SSE_FMA_PD(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
LATHE_FMA_LOOP(Avx512F32, LATHE_TARGET_AVX512, __m512, float, 24, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_store_ps, 16)
LATHE_FMA_LOOP(Avx512F64, LATHE_TARGET_AVX512, __m512d, double, 24, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_store_pd, 8)
LATHE_FMA_LOOP(Avx2F32, LATHE_TARGET_AVX2, __m256, float, 12, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_store_ps, 8)
LATHE_FMA_LOOP(Avx2F64, LATHE_TARGET_AVX2, __m256d, double, 12, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_store_pd, 4)
LATHE_FMA_LOOP(SseF32, , __m128, float, 12, _mm_set1_ps, LATHE_SSE_FMA_PS, _mm_store_ps, 4)
LATHE_FMA_LOOP(SseF64, , __m128d, double, 12, _mm_set1_pd, LATHE_SSE_FMA_PD, _mm_store_pd, 2)
#elif defined(__aarch64__)
#define LATHE_NEON_FMA_F32(a, b, c) vfmaq_f32(c, a, b)
#define LATHE_NEON_FMA_F64(a, b, c) vfmaq_f64(c, a, b)
LATHE_FMA_LOOP(NeonF32, , float32x4_t, float, 24, vdupq_n_f32, LATHE_NEON_FMA_F32, vst1q_f32, 4)
LATHE_FMA_LOOP(NeonF64, , float64x2_t, double, 24, vdupq_n_f64, LATHE_NEON_FMA_F64, vst1q_f64, 2)
#else
#define LATHE_SCALAR_SET(x) (x)
#define LATHE_SCALAR_FMA(a, b, c) ((a) * (b) + (c))
#define LATHE_SCALAR_STORE(to, x) ((to)[0] = (x))
LATHE_FMA_LOOP(ScalarF32, , float, float, 8, LATHE_SCALAR_SET, LATHE_SCALAR_FMA, LATHE_SCALAR_STORE, 1)
LATHE_FMA_LOOP(ScalarF64, , double, double, 8, LATHE_SCALAR_SET, LATHE_SCALAR_FMA, LATHE_SCALAR_STORE, 1)
#endif

volatile double global_sink;

// Operations per nanosecond = GFLOP/s, best of the tries that fit into `ns`.
double BestRate(FmaLoop loop, int64_t ns, ReadClock now_ns) {
  const int64_t end = now_ns() + ns;
  double best = 0, sink = 0;
  int64_t rounds = 10'000;
  do {
    const int64_t begin = now_ns();
    const double operations = loop(rounds, 1e-3, sink);
    const int64_t took = std::max<int64_t>(1, now_ns() - begin);
    best = std::max(best, operations / static_cast<double>(took));
    if (took < ns / 20) rounds *= 2;
  } while (now_ns() < end);
  global_sink = sink;
  return best;
}

struct LoopPair {
  FmaLoop f32, f64;
  int vector_bits;
};

void TryLoops(const LoopPair& loops, int64_t ns, ReadClock now_ns, MachinePeak& peak) {
  const double f32 = BestRate(loops.f32, ns, now_ns), f64 = BestRate(loops.f64, ns, now_ns);
  if (f32 > peak.gflops_f32) peak.vector_bits = loops.vector_bits;
  peak.gflops_f32 = std::max(peak.gflops_f32, f32);
  peak.gflops_f64 = std::max(peak.gflops_f64, f64);
}

double ReadRate(int64_t ns, ReadClock now_ns) {
  const auto size = static_cast<size_t>(std::min<int64_t>(2 * LastLevelCacheBytes(AvailableCpus().front()), 256 << 20));
  auto* memory = static_cast<uint64_t*>(std::aligned_alloc(64, size));
  if (memory == nullptr) return 0;
  std::memset(memory, 1, size);
  double best = 0;
  const int64_t end = now_ns() + ns;
  do {
    uint64_t sum[8] = {};
    const int64_t begin = now_ns();
    for (size_t i = 0; i < size / sizeof(uint64_t); i += 8) {
      for (size_t j = 0; j < 8; ++j) sum[j] += memory[i + j];
    }
    const int64_t took = std::max<int64_t>(1, now_ns() - begin);
    for (const uint64_t s : sum) global_sink = static_cast<double>(s);
    best = std::max(best, static_cast<double>(size) / static_cast<double>(took));
  } while (now_ns() < end);
  std::free(memory);
  return best;
}

}  // namespace

MachinePeak MeasureMachinePeak(int64_t ns_per_figure, int64_t (*now_ns)()) {
  MachinePeak peak;
#if defined(__x86_64__)
  // Wide vectors lower the clock of some processors, so both widths are tried.
  if (HostHasCpuFeature("avx512f")) TryLoops({Avx512F32, Avx512F64, 512}, ns_per_figure, now_ns, peak);
  if (HostHasCpuFeature("avx2") && HostHasCpuFeature("fma"))
    TryLoops({Avx2F32, Avx2F64, 256}, ns_per_figure, now_ns, peak);
  if (peak.vector_bits == 0) TryLoops({SseF32, SseF64, 128}, ns_per_figure, now_ns, peak);
#elif defined(__aarch64__)
  TryLoops({NeonF32, NeonF64, 128}, ns_per_figure, now_ns, peak);
#else
  TryLoops({ScalarF32, ScalarF64, 32}, ns_per_figure, now_ns, peak);
#endif
  peak.read_gb_per_s = ReadRate(ns_per_figure, now_ns);
  return peak;
}

}  // namespace lathe
