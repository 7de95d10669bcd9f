// A clock that stands still until the test moves it.
#pragma once

#include <atomic>

#include "support/clock.h"

namespace lathe {

// Far ahead of the machine's, so that who sleeps by that one until this one says something sleeps until woken.
class FakeClock : public Clock {
 public:
  explicit FakeClock(int64_t unix_ns = 1'800'000'000'000'000'000) : start_unix_ns_(unix_ns) {}
  TimePoint Now() override { return start_ + passed_.load(); }
  int64_t UnixNanos() override { return start_unix_ns_ + passed_.load().count() + stepped_.load().count(); }
  // Somebody sets the wall clock. Any thread, like Advance.
  void StepWallClock(Duration by) { stepped_ = stepped_.load() + by; }
  void Advance(Duration by) {
    for (Duration before = passed_; !passed_.compare_exchange_weak(before, before + by);) {
    }
  }

 private:
  const TimePoint start_ = SystemClock().Now() + std::chrono::hours(10'000);
  const int64_t start_unix_ns_;
  std::atomic<Duration> passed_{Duration(0)}, stepped_{Duration(0)};
};

}  // namespace lathe
