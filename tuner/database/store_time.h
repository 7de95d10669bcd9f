// The time of a store, in nanoseconds since 1970: what its rows are stamped with and its waits are counted by.
#pragma once

#include <algorithm>
#include <mutex>

#include "support/clock.h"

namespace lathe {

// The machine's wall clock, as long as that goes forward; while it stands behind what was said before, time goes on by
// the monotonic clock. So a step of the wall clock, or a board without a battery, neither freezes what waits for its
// time nor puts a later row before an earlier one. Thread-safe.
class StoreTime {
 public:
  explicit StoreTime(Clock& clock) : clock_(clock), at_(clock.Now()), unix_ns_(clock.UnixNanos()) {}

  // What the rows of an earlier process say.
  void GoNoEarlierThan(int64_t unix_ns) {
    std::lock_guard lock(mutex_);
    unix_ns_ = std::max(unix_ns_, unix_ns);
  }
  int64_t Now() {
    std::lock_guard lock(mutex_);
    const TimePoint at = clock_.Now();
    unix_ns_ = std::max(clock_.UnixNanos(), unix_ns_ + std::max(Duration(0), at - at_).count());
    at_ = std::max(at_, at);
    return unix_ns_;
  }

 private:
  Clock& clock_;
  std::mutex mutex_;
  TimePoint at_;     // Guarded by mutex_, of unix_ns_.
  int64_t unix_ns_;  // Guarded by mutex_.
};

}  // namespace lathe
