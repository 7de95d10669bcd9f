// Compiled with -O2 in every build (see CMakeLists.txt): the loops below are what is measured.
#include "runner/peak.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "runtime/cpu_features.h"
#include "runtime/thread_pool.h"
#include "runtime/tile_permission.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) || defined(__ARM_NEON)
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

// The same with an instruction that adds products of short factors to the lanes of `acc`.
#define LATHE_DOT_LOOP(NAME, TARGET, V, F, ACCUMULATORS, START, FACTOR, DOT, OPERATIONS)              \
  TARGET double NAME(int64_t rounds, double seed, double& sink) {                                     \
    V acc[ACCUMULATORS];                                                                              \
    F factor = FACTOR(static_cast<int>(seed * 1e4));                                                  \
    _Pragma("GCC unroll 32") for (int i = 0; i < ACCUMULATORS; ++i) acc[i] = START(i);                \
    for (int64_t r = 0; r < rounds; ++r) {                                                            \
      _Pragma("GCC unroll 32") for (int i = 0; i < ACCUMULATORS; ++i) {                               \
        asm volatile("" : LATHE_IN_REGISTER(factor)); /* No two products are known to be the same. */ \
        acc[i] = DOT(acc[i], factor, factor);                                                         \
      }                                                                                               \
    }                                                                                                 \
    alignas(64) V lanes[1];                                                                           \
    _Pragma("GCC unroll 32") for (int i = 0; i < ACCUMULATORS; ++i) {                                 \
      lanes[0] = acc[i];                                                                              \
      sink += static_cast<double>(*reinterpret_cast<const volatile unsigned char*>(lanes));           \
    }                                                                                                 \
    return static_cast<double>(OPERATIONS) * ACCUMULATORS * static_cast<double>(rounds);              \
  }

#if defined(__x86_64__)
#define LATHE_IN_REGISTER(x) "+v"(x)
#define LATHE_TARGET(features) __attribute__((target(features)))
#define LATHE_SSE_FMA_PS(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define LATHE_SSE_FMA_PD(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define LATHE_BYTES_512(x) _mm512_set1_epi32(x)
#define LATHE_BYTES_256(x) _mm256_set1_epi32(x)
#define LATHE_BF16_512(x) (__m512bh) _mm512_set1_epi32((x) + 0x3f803f80)
#define LATHE_MADD_256(acc, a, b) _mm256_add_epi32(acc, _mm256_madd_epi16(a, b))
#define LATHE_HALF_SET(x) _mm512_set1_ph(static_cast<_Float16>(static_cast<float>(x)))
LATHE_FMA_LOOP(Avx512F32, LATHE_TARGET("avx512f"), __m512, float, 24, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_store_ps,
               16)
LATHE_FMA_LOOP(Avx512F64, LATHE_TARGET("avx512f"), __m512d, double, 24, _mm512_set1_pd, _mm512_fmadd_pd,
               _mm512_store_pd, 8)
LATHE_FMA_LOOP(Avx2F32, LATHE_TARGET("avx2,fma"), __m256, float, 12, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_store_ps,
               8)
LATHE_FMA_LOOP(Avx2F64, LATHE_TARGET("avx2,fma"), __m256d, double, 12, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_store_pd,
               4)
LATHE_FMA_LOOP(SseF32, , __m128, float, 12, _mm_set1_ps, LATHE_SSE_FMA_PS, _mm_store_ps, 4)
LATHE_FMA_LOOP(SseF64, , __m128d, double, 12, _mm_set1_pd, LATHE_SSE_FMA_PD, _mm_store_pd, 2)
LATHE_FMA_LOOP(Avx512F16, LATHE_TARGET("avx512fp16"), __m512h, _Float16, 24, LATHE_HALF_SET, _mm512_fmadd_ph,
               _mm512_store_ph, 32)
LATHE_DOT_LOOP(Avx512Vnni, LATHE_TARGET("avx512f,avx512vnni"), __m512i, __m512i, 24, _mm512_set1_epi32, LATHE_BYTES_512,
               _mm512_dpbusd_epi32, 128)
LATHE_DOT_LOOP(AvxVnni, LATHE_TARGET("avx2,avxvnni"), __m256i, __m256i, 12, _mm256_set1_epi32, LATHE_BYTES_256,
               _mm256_dpbusd_avx_epi32, 64)
LATHE_DOT_LOOP(Avx2Int16, LATHE_TARGET("avx2"), __m256i, __m256i, 12, _mm256_set1_epi32, LATHE_BYTES_256,
               LATHE_MADD_256, 32)
LATHE_DOT_LOOP(Avx512Bf16, LATHE_TARGET("avx512f,avx512bf16"), __m512, __m512bh, 24, _mm512_set1_ps, LATHE_BF16_512,
               _mm512_dpbf16_ps, 64)

// Four tiles of sums, two of either factor, as the best products use them: 16 rows of 64 bytes each.
struct TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t columns[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

#define LATHE_TILE_LOOP(NAME, TARGET, DOT, OPERATIONS)       \
  TARGET double NAME(int64_t rounds, double, double& sink) { \
    alignas(64) static const TileConfig config;              \
    alignas(64) unsigned char memory[1024] = {};             \
    _tile_loadconfig(&config);                               \
    _tile_zero(0);                                           \
    _tile_zero(1);                                           \
    _tile_zero(2);                                           \
    _tile_zero(3);                                           \
    _tile_loadd(4, memory, 64);                              \
    _tile_loadd(5, memory, 64);                              \
    _tile_loadd(6, memory, 64);                              \
    _tile_loadd(7, memory, 64);                              \
    for (int64_t r = 0; r < rounds; ++r) {                   \
      DOT(0, 4, 6);                                          \
      DOT(1, 4, 7);                                          \
      DOT(2, 5, 6);                                          \
      DOT(3, 5, 7);                                          \
    }                                                        \
    _tile_stored(0, memory, 64);                             \
    sink += memory[0];                                       \
    _tile_release();                                         \
    return 4.0 * (OPERATIONS) * static_cast<double>(rounds); \
  }
LATHE_TILE_LOOP(AmxInt8, LATHE_TARGET("amx-tile,amx-int8"), _tile_dpbssd, 32768)
LATHE_TILE_LOOP(AmxBf16, LATHE_TARGET("amx-tile,amx-bf16"), _tile_dpbf16ps, 16384)

#elif defined(__aarch64__)
#define LATHE_IN_REGISTER(x) "+w"(x)
#define LATHE_TARGET(features) __attribute__((target(features)))
#define LATHE_NEON_FMA_F32(a, b, c) vfmaq_f32(c, a, b)
#define LATHE_NEON_FMA_F64(a, b, c) vfmaq_f64(c, a, b)
#define LATHE_NEON_FMA_F16(a, b, c) vfmaq_f16(c, a, b)
#define LATHE_NEON_SET_F16(x) vdupq_n_f16(static_cast<float16_t>(x))
#define LATHE_NEON_BYTES(x) vdupq_n_s8(static_cast<int8_t>(x))
#define LATHE_NEON_BF16(x) vreinterpretq_bf16_u16(vdupq_n_u16(static_cast<uint16_t>((x) + 0x3f80)))
LATHE_FMA_LOOP(NeonF32, , float32x4_t, float, 24, vdupq_n_f32, LATHE_NEON_FMA_F32, vst1q_f32, 4)
LATHE_FMA_LOOP(NeonF64, , float64x2_t, double, 24, vdupq_n_f64, LATHE_NEON_FMA_F64, vst1q_f64, 2)
LATHE_FMA_LOOP(NeonF16, LATHE_TARGET("arch=armv8.2-a+fp16"), float16x8_t, float16_t, 24, LATHE_NEON_SET_F16,
               LATHE_NEON_FMA_F16, vst1q_f16, 8)
LATHE_DOT_LOOP(NeonDot, LATHE_TARGET("arch=armv8.2-a+dotprod"), int32x4_t, int8x16_t, 24, vdupq_n_s32, LATHE_NEON_BYTES,
               vdotq_s32, 32)
LATHE_DOT_LOOP(NeonI8mm, LATHE_TARGET("arch=armv8.2-a+i8mm"), int32x4_t, int8x16_t, 24, vdupq_n_s32, LATHE_NEON_BYTES,
               vmmlaq_s32, 64)
LATHE_DOT_LOOP(NeonBf16, LATHE_TARGET("arch=armv8.2-a+bf16"), float32x4_t, bfloat16x8_t, 24, vdupq_n_f32,
               LATHE_NEON_BF16, vbfmmlaq_f32, 32)
#else
#define LATHE_SCALAR_SET(x) (x)
#define LATHE_SCALAR_FMA(a, b, c) ((a) * (b) + (c))
#define LATHE_SCALAR_STORE(to, x) ((to)[0] = (x))
#if defined(__ARM_NEON)
#define LATHE_NEON_FMA_F32(a, b, c) vfmaq_f32(c, a, b)
LATHE_FMA_LOOP(NeonF32, , float32x4_t, float, 12, vdupq_n_f32, LATHE_NEON_FMA_F32, vst1q_f32, 4)
#else
LATHE_FMA_LOOP(ScalarF32, , float, float, 8, LATHE_SCALAR_SET, LATHE_SCALAR_FMA, LATHE_SCALAR_STORE, 1)
#endif
LATHE_FMA_LOOP(ScalarF64, , double, double, 8, LATHE_SCALAR_SET, LATHE_SCALAR_FMA, LATHE_SCALAR_STORE, 1)
#endif

volatile double global_sink;

// A loop and what it needs. Vectors that multiply numbers of one type are alternatives: the widest need not be the
// fastest, since it may lower the clock.
struct RoofRow {
  const char* types;
  const char* instructions;
  int vector_bits;
  FmaLoop loop;
};

constexpr RoofRow kRoofs[] = {
#if defined(__x86_64__)
    {"float32", "avx512f", 512, Avx512F32},    {"float32", "fma", 256, Avx2F32},
    {"float32", "sse2", 128, SseF32},          {"float64", "avx512f", 512, Avx512F64},
    {"float64", "fma", 256, Avx2F64},          {"float64", "sse2", 128, SseF64},
    {"float16", "avx512fp16", 512, Avx512F16}, {"bfloat16", "avx512bf16", 512, Avx512Bf16},
    {"bfloat16", "amx-bf16", 8192, AmxBf16},   {"int16*int16", "avx2", 256, Avx2Int16},
    {"uint8*int8", "avxvnni", 256, AvxVnni},   {"uint8*int8", "avx512vnni", 512, Avx512Vnni},
    {"int8*int8", "amx-int8", 8192, AmxInt8},
#elif defined(__aarch64__)
    {"float32", "neon", 128, NeonF32},   {"float64", "neon", 128, NeonF64},      {"float16", "fullfp16", 128, NeonF16},
    {"bfloat16", "bf16", 128, NeonBf16}, {"int8*int8", "dotprod", 128, NeonDot}, {"int8*int8", "i8mm", 128, NeonI8mm},
#elif defined(__ARM_NEON)
    {"float32", "vfp4", 128, NeonF32},
    {"float64", "", 64, ScalarF64},
#else
    {"float32", "", 32, ScalarF32},
    {"float64", "", 64, ScalarF64},
#endif
};

bool IsPresent(const RoofRow& row) {
  const std::string_view name = row.instructions;
  return (name.empty() || HostHasCpuFeature(name)) && (!name.starts_with("amx") || TilePermission().ok());
}

// Operations per nanosecond = GOP/s, best of the tries that fit into `ns`.
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

ComputeRoof MeasureRoof(const RoofRow& row, int64_t ns, ReadClock now_ns) {
  ComputeRoof roof{row.types, row.instructions, row.vector_bits, IsPresent(row)};
  if (roof.is_present) roof.gops = BestRate(row.loop, ns, now_ns);
  return roof;
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

// Bytes read and written per nanosecond by copies of one half of `bytes` to the other, best of the tries.
double CopyRate(int64_t bytes, int64_t ns, ReadClock now_ns) {
  const auto half = static_cast<size_t>(bytes / 2) & ~size_t{63};
  const std::unique_ptr<char, void (*)(void*)> memory(static_cast<char*>(std::aligned_alloc(64, 2 * half)), std::free);
  if (memory == nullptr || half == 0) return 0;
  std::memset(memory.get(), 1, 2 * half);
  const int64_t end = now_ns() + ns;
  double best = 0;
  int64_t rounds = 1;
  do {
    const int64_t begin = now_ns();
    for (int64_t r = 0; r < rounds; ++r) {
      std::memcpy(memory.get() + half, memory.get(), half);
      asm volatile("" : : "r"(memory.get()) : "memory");  // Every copy counts.
    }
    const int64_t took = std::max<int64_t>(1, now_ns() - begin);
    best = std::max(best, 2.0 * static_cast<double>(half) * static_cast<double>(rounds) / static_cast<double>(took));
    if (took < ns / 20) rounds *= 2;
  } while (now_ns() < end);
  return best;
}

}  // namespace

std::vector<ComputeRoof> MeasureComputeRoofs(int64_t ns_per_figure, int64_t (*now_ns)()) {
  std::vector<ComputeRoof> roofs;
  for (const RoofRow& row : kRoofs) roofs.push_back(MeasureRoof(row, ns_per_figure, now_ns));
  return roofs;
}

std::vector<CopyRoof> MeasureCopyRoofs(int64_t ns_per_figure, int64_t (*now_ns)()) {
  constexpr int64_t kMost = int64_t{512} << 20;
  std::vector<CopyRoof> roofs;
  int64_t last = LastLevelCacheBytes(AvailableCpus().front());
  for (const CacheInfo& cache : CpuCaches(AvailableCpus().front())) {
    if (cache.kind == 'i') continue;
    // Half of a cache, since others use it, too, and not more than what a fair share of it is.
    const int64_t bytes = std::min(kMost, std::max<int64_t>(cache.size_bytes / 2 / cache.sharing_cpus, 4096));
    roofs.push_back({"L" + std::to_string(cache.level), bytes, CopyRate(bytes, ns_per_figure, now_ns)});
  }
  const int64_t bytes = std::min(kMost, 4 * last);
  roofs.push_back({"memory", bytes, CopyRate(bytes, ns_per_figure, now_ns)});
  return roofs;
}

MachinePeak MeasureMachinePeak(int64_t ns_per_figure, int64_t (*now_ns)()) {
  MachinePeak peak;
  for (const RoofRow& row : kRoofs) {
    const std::string_view types = row.types;
    if ((types != "float32" && types != "float64") || !IsPresent(row)) continue;
    const double rate = MeasureRoof(row, ns_per_figure, now_ns).gops;
    double& best = types == "float32" ? peak.gflops_f32 : peak.gflops_f64;
    if (types == "float32" && rate > best) peak.vector_bits = row.vector_bits;
    best = std::max(best, rate);
  }
  peak.read_gb_per_s = ReadRate(ns_per_figure, now_ns);
  return peak;
}

DevicePeak MeasureDevicePeak(const std::vector<int>& cpus, int64_t ns_per_figure) {
  std::vector<DevicePeak> figures(cpus.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      (void)PinCurrentThread(std::vector<int>{cpus[i]});
      for (const ComputeRoof& roof : MeasureComputeRoofs(ns_per_figure)) {
        figures[i].gops = std::max(figures[i].gops, roof.gops);
        if (roof.types == "bfloat16") figures[i].gops_bf16 = std::max(figures[i].gops_bf16, roof.gops);
        if (roof.types == "float32") figures[i].gflops_f32 = std::max(figures[i].gflops_f32, roof.gops);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  DevicePeak sum;
  for (const DevicePeak& figure : figures) {
    sum.gflops_f32 += figure.gflops_f32;
    sum.gops_bf16 += figure.gops_bf16;
    sum.gops += figure.gops;
  }
  return sum;
}

}  // namespace lathe
