// What one core of this machine reaches at best, measured: the denominators of "% of peak".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/monotonic.h"

namespace lathe {

// A way to multiply and add. One multiplication and one addition count as two operations.
struct ComputeRoof {
  std::string_view types;         // "float32", "uint8*int8", "bfloat16": of the factors; sums are float32 or int32.
  std::string_view instructions;  // What must be there, by LLVM's name: "avx512f", "avx512vnni", "amx-int8".
  int vector_bits = 0;            // Of one operand; 8192 for a tile.
  bool is_present = false;
  double gops = 0;  // Per second, of one core; 0 where it is absent.
};

// All that Lathe knows of this architecture, absent ones too, in a fixed order. Runs on the calling thread (pin it
// first) for about `ns_per_figure` each, best of several tries. On a machine that is busy otherwise the figures are too
// low. Thread-safe.
std::vector<ComputeRoof> MeasureComputeRoofs(int64_t ns_per_figure = 20'000'000, int64_t (*now_ns)() = MonotonicNs);

// Copies within one level of the memory: half of it is read, half written.
struct CopyRoof {
  std::string level;    // "L1", "L2", "L3", "memory".
  int64_t bytes = 0;    // Touched by the copy that was measured, source and destination.
  double gb_per_s = 0;  // Read and written bytes together.
};

// One per data cache of the calling thread's CPU, and memory, which is touched at twice the last cache (at most
// 512 MiB). As MeasureComputeRoofs.
std::vector<CopyRoof> MeasureCopyRoofs(int64_t ns_per_figure = 20'000'000, int64_t (*now_ns)() = MonotonicNs);

struct MachinePeak {
  double gflops_f32 = 0;  // The best that vectors of any width reach.
  double gflops_f64 = 0;
  int vector_bits = 0;       // Width of the vectors that reached it.
  double read_gb_per_s = 0;  // Streaming reads of a buffer of twice the last level cache, at most 256 MiB.
};

// Runs on the calling thread (pin it first) for about 5 x `ns_per_figure`.
MachinePeak MeasureMachinePeak(int64_t ns_per_figure = 20'000'000, int64_t (*now_ns)() = MonotonicNs);

// What all of some CPUs reach at once.
struct DevicePeak {
  double gflops_f32 = 0;
  double gops_bf16 = 0;  // 0: it has no instructions of bfloat16.
  double gops = 0;       // Of the instructions that do the most, of any type.
};

// On a thread per CPU, for about 15 x `ns_per_figure`.
DevicePeak MeasureDevicePeak(const std::vector<int>& cpus, int64_t ns_per_figure = 5'000'000);

}  // namespace lathe
