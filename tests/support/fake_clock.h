// A clock that stands still until the test moves it.
#pragma once

#include <atomic>

#include "support/clock.h"

namespace lathe {

class FakeClock : public Clock {
 public:
  explicit FakeClock(int64_t unix_ns = 1'800'000'000'000'000'000) : start_unix_ns_(unix_ns) {}
  TimePoint Now() override { return TimePoint(std::chrono::hours(1)) + passed_.load(); }
  int64_t UnixNanos() override { return start_unix_ns_ + passed_.load().count(); }
  // Looks at itself now and then: how often is no business of the test, which waits for what follows.
  void WaitUntil(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, TimePoint deadline) override {
    if (Now() < deadline) changed.wait_for(lock, std::chrono::milliseconds(1));
  }
  // Any thread.
  void Advance(Duration by) {
    for (Duration before = passed_; !passed_.compare_exchange_weak(before, before + by);) {
    }
  }

 private:
  const int64_t start_unix_ns_;
  std::atomic<Duration> passed_{Duration(0)};
};

}  // namespace lathe
