// Time as a value. Decision logic takes a TimePoint as an argument; only shells ask a Clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace lathe {

using Duration = std::chrono::nanoseconds;
// Monotonic; comparable within one process only. Wall-clock time is for display and for database rows.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() = 0;
  virtual int64_t UnixNanos() = 0;
};

// The machine's clocks; shared by all threads, never destroyed.
Clock& SystemClock();

}  // namespace lathe
