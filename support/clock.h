// Time as a value. Decision logic takes a TimePoint as an argument; only shells ask a Clock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lathe {

using Duration = std::chrono::nanoseconds;
// Monotonic; comparable within one process only. Wall-clock time is for display and for database rows.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() = 0;
  virtual int64_t UnixNanos() = 0;
  // Waits on `changed`, whose mutex `lock` holds, until it is notified or this clock says `deadline`; may also return
  // for no reason. A shell that sleeps until something is due sleeps here, so that whoever owns the clock owns that
  // too.
  virtual void WaitUntil(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, TimePoint deadline) = 0;
};

// The machine's clocks; shared by all threads, never destroyed.
Clock& SystemClock();

}  // namespace lathe
