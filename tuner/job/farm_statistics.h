// What the coordinator counts of itself, for whoever watches it over time. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/clock.h"
#include "tuner/job/farm_view.h"
#include "tuner/job/trial_state.h"

namespace lathe {

// How many of what was observed lasted at most as long as each bound, as Prometheus counts.
class DurationHistogram {
 public:
  static constexpr std::array kBounds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
                                         0.5,   1.0,   2.0,   5.0,  10.0, 20.0, 60.0};  // Seconds.
  void Add(Duration time) {
    const double seconds = std::chrono::duration<double>(time).count();
    for (size_t i = 0; i < kBounds.size(); ++i) counts_[i] += seconds <= kBounds[i] ? 1 : 0;
    sum_seconds_ += seconds;
    ++count_;
  }
  int64_t CountTo(size_t bound) const { return counts_[bound]; }
  int64_t count() const { return count_; }
  double sum_seconds() const { return sum_seconds_; }

 private:
  std::array<int64_t, kBounds.size()> counts_{};
  int64_t count_ = 0;
  double sum_seconds_ = 0;
};

// Since the process began.
struct FarmCounters {
  std::map<TrialState, int64_t> builds, measurements;  // Attempts that told something, by outcome; kBuilt: an artifact.
  std::map<InfraFailure, int64_t> failed_attempts;     // That told nothing.
  int64_t builds_merged = 0;                           // That waited for an equal one instead of being done.
  int64_t results_accepted = 0, results_repeated = 0, results_stale = 0;
  int64_t leases_granted = 0, leases_taken_back = 0;  // The latter: their holders did not end them.
  int64_t devices_lost = 0, workers_lost = 0;
  int64_t checks = 0, canaries = 0, quarantines = 0;  // Of devices, by the golden kernel.
  std::map<std::string, double> canary_drift;         // By key: of its latest canary, over the baseline minus 1.
  DurationHistogram result_to_commit;                 // A result here -> in the store.
  DurationHistogram built_to_commit;  // An artifact here -> its record in the store, without the measurement.
  DurationHistogram device_idle;      // A device's idle time between two timed windows, where a trial waited.
};

struct FarmStatistics {
  FarmCounters counters;
  FarmView view;
  std::map<std::pair<std::string, std::string>, int>
      devices;  // (key, what it is: "online", "lent", "drained", ...) -> how many
  std::map<TrialState, int64_t> open_trials;
  Duration oldest_unbuilt{}, oldest_unmeasured{};  // How long the trial has waited that has waited longest.
  int64_t jobs_at_work = 0, jobs_waiting = 0;
  std::string trouble;           // Empty: none.
  Duration loop_busy_longest{};  // The longest time that the loop was busy at a stretch, since it was asked last.
};

}  // namespace lathe
