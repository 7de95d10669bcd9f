// Clocks as numbers; this folder does not know support/clock.h.
#pragma once

#include <time.h>

#include <cstdint>

namespace lathe {

inline int64_t ReadClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

inline int64_t MonotonicNs() { return ReadClockNs(CLOCK_MONOTONIC); }

}  // namespace lathe
