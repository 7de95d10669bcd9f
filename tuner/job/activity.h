// How a job's time was spent, and how long its trials took. Pure: time comes in with each event.
#pragma once

#include <cstdint>
#include <vector>

#include "support/clock.h"

namespace lathe {

// Each moment belongs to one part: measuring before building before searching before idle.
struct ActivityShares {
  Duration measuring{}, building{}, searching{}, idle{};
  Duration total() const { return measuring + building + searching + idle; }
};

class ActivityMeter {
 public:
  explicit ActivityMeter(TimePoint now) : since_(now) {}
  void Set(int measuring, int building, int searching, TimePoint now);
  ActivityShares Shares(TimePoint now) const;

 private:
  Duration& Part();
  ActivityShares shares_;
  TimePoint since_;
  int measuring_ = 0, building_ = 0, searching_ = 0;
};

// The steps of one trial's life; a zero one has not happened.
struct TrialTimes {
  TimePoint proposed{}, build_queued{}, build_started{}, built{}, assigned{}, running{}, result{}, committed{};
};

double MedianNs(std::vector<int64_t> values);  // 0 of none.

// Over the trials of a job that reached a device.
struct TrialLatencies {
  std::vector<int64_t> idle_gap_ns;  // End of one timed window to the next trial's begin, where a next one was at hand.
  std::vector<int64_t> result_to_commit_ns;  // Result here -> record committed.
  std::vector<int64_t> built_to_commit_ns;   // Artifact ready -> record committed, without the measurement itself.
  void Add(const TrialTimes& times, int64_t idle_ns, int64_t measure_ns);
};

}  // namespace lathe
