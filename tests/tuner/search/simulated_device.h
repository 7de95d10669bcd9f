// A stand-in for a device: times that follow a hidden analytic function of a candidate's decisions, with noise. Same
// seed, same times.
#pragma once

#include "tuner/search/search_strategy.h"

namespace lathe {

struct SimulatedDeviceOptions {
  uint64_t seed = 1;            // Of the hidden optimum.
  double noise = 0.03;          // Relative, of each measurement.
  double failing_share = 0.03;  // Of the candidates.
  double censor_above = 4;      // Slower than this many times the fastest so far: reported as "slower than" that.
};

class SimulatedDevice {
 public:
  explicit SimulatedDevice(const SimulatedDeviceOptions& options) : options_(options) {}

  // Without noise. Each tile size has a preferred value; neighbouring tiles want to be alike; the innermost tiles
  // together want to be of a size.
  double TrueNs(const ScheduleTrace& trace) const;
  MeasuredCandidate Measure(const MeasureCandidate& candidate);
  double best_true_ns() const { return best_true_ns_; }  // Of all candidates that got a time.

 private:
  SimulatedDeviceOptions options_;
  double best_ns_ = 1e300, best_true_ns_ = 1e300;
};

// A task over workload text in TVMScript for an AVX-512 machine with `cores` cores; CHECKs that it has sketches.
TuneTask MakeTestTask(const char* text, int cores = 1);

}  // namespace lathe
