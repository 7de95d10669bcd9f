// What all CPUs of a target reach together on this machine, measured.
#pragma once

#include <vector>

namespace lathe {

// Float32 GFLOP/s of these CPUs at once (takes about 0.2 s): two that share a core count as what they reach, not as
// two.
double MeasurePeakGflops(const std::vector<int>& cpus);

}  // namespace lathe
