// Virtual time: what happens is a queue of events, drawn from one seed; the first broken promise ends it.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <string>

#include "support/clock.h"
#include "support/random.h"

namespace lathe::sim {

class World {
 public:
  explicit World(uint64_t seed) : random(seed) {}

  void At(Duration delay, std::function<void()> run) {
    events_.push({now + std::max(delay, Duration(0)), next_order_++, std::move(run)});
  }
  // False if nothing is left to happen.
  bool RunNext() {
    if (events_.empty()) return false;
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now = std::max(now, event.time);
    event.run();
    return true;
  }
  Duration Within(int64_t low_ms, int64_t high_ms) {
    return std::chrono::milliseconds(low_ms +
                                     static_cast<int64_t>(random.Below(static_cast<uint64_t>(high_ms - low_ms + 1))));
  }
  bool Chance(int percent) { return random.Below(100) < static_cast<uint64_t>(percent); }

  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) {
    if (!keeps_history) return;
    history.push_back(fmt::format("{:9.3f} s  {}", std::chrono::duration<double>(now - kStart).count(),
                                  fmt::format(format, std::forward<Args>(args)...)));
    if (history.size() > kHistoryKept) history.pop_front();
  }
  template <typename... Args>
  void Broken(fmt::format_string<Args...> format, Args&&... args) {
    if (!broken) broken = fmt::format(format, std::forward<Args>(args)...);
  }

  static constexpr TimePoint kStart{std::chrono::hours(1)};
  static constexpr size_t kHistoryKept = 400;
  TimePoint now = kStart;
  Duration wall_step{};  // Of the server's wall clock.
  Random random;
  bool keeps_history = false;
  std::deque<std::string> history;
  std::optional<std::string> broken;  // The first promise that was.

 private:
  struct Event {
    TimePoint time;
    uint64_t order;
    std::function<void()> run;
    bool operator<(const Event& other) const { return std::tie(other.time, other.order) < std::tie(time, order); }
  };
  uint64_t next_order_ = 0;
  std::priority_queue<Event> events_;
};

class WorldClock : public Clock {
 public:
  explicit WorldClock(World& world) : world_(world) {}
  TimePoint Now() override { return world_.now; }
  int64_t UnixNanos() override {
    return 1'700'000'000'000'000'000 + (world_.now - World::kStart + world_.wall_step).count();
  }

 private:
  World& world_;
};

}  // namespace lathe::sim
