// What one core of this machine reaches at best, measured: the denominators of "% of peak".
#pragma once

#include <cstdint>

#include "runtime/monotonic.h"

namespace lathe {

struct MachinePeak {
  double gflops_f32 = 0;  // Multiply and add count as two operations.
  double gflops_f64 = 0;
  int vector_bits = 0;       // Width of the vectors that reached it.
  double read_gb_per_s = 0;  // Streaming reads of a buffer of twice the last level cache, at most 256 MiB.
};

// Runs on the calling thread (pin it first) for about 5 x `ns_per_figure`, best of several tries for each figure. On a
// machine that is busy otherwise the figures are too low.
MachinePeak MeasureMachinePeak(int64_t ns_per_figure = 20'000'000, int64_t (*now_ns)() = MonotonicNs);

}  // namespace lathe
