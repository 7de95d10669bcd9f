// A thread that runs what is posted to it, in order, and looks after the rest when time has come.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "support/clock.h"

namespace lathe {

class EventLoop {
 public:
  // `after` runs after each batch of work and at the time it returned last (nullopt: not before there is work).
  explicit EventLoop(std::function<std::optional<TimePoint>()> after) : after_(std::move(after)) {}
  ~EventLoop() { Stop(); }
  // Before Start: called on the loop's thread after it was busy for longer than `limit` at a stretch.
  void OnSlow(Duration limit, std::function<void(Duration)> tell) {
    slow_ = limit;
    tell_slow_ = std::move(tell);
  }
  // The longest time that it was busy at a stretch since this was asked last. Any thread.
  Duration TakeLongest() { return Duration(longest_ns_.exchange(0)); }
  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  // What was posted before is done; later posts are dropped. Harmless twice.
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  // False if it is stopping.
  bool Post(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      if (is_stopping_) return false;
      work_.push_back(std::move(work));
    }
    changed_.notify_one();
    return true;
  }
  // Runs `work` on the loop's thread and returns its result; `stopped` if it is stopping. Never to be called on that
  // thread.
  template <typename Work>
  auto Ask(Work work, decltype(work()) stopped) -> decltype(work()) {
    auto promise = std::make_shared<std::promise<decltype(work())>>();
    auto future = promise->get_future();
    if (!Post([promise, work = std::move(work)]() mutable { promise->set_value(work()); })) return stopped;
    return future.get();
  }
  // The same, but nullopt once `limit` is over; what was asked for is done later then.
  template <typename Work>
  auto AskWithin(Duration limit, Work work) -> std::optional<decltype(work())> {
    auto promise = std::make_shared<std::promise<decltype(work())>>();
    auto future = promise->get_future();
    if (!Post([promise, work = std::move(work)]() mutable { promise->set_value(work()); })) return std::nullopt;
    if (future.wait_for(limit) != std::future_status::ready) return std::nullopt;
    return future.get();
  }

 private:
  void NoteBusy(Duration time) {
    if (time.count() > longest_ns_.load()) longest_ns_ = time.count();
    if (slow_ && time > *slow_) tell_slow_(time);
  }
  void Run() {
    std::optional<TimePoint> deadline = after_();
    for (;;) {
      std::deque<std::function<void()>> batch;
      {
        std::unique_lock lock(mutex_);
        const auto has_work = [&] { return is_stopping_ || !work_.empty(); };
        if (deadline)
          changed_.wait_until(lock, *deadline, has_work);
        else
          changed_.wait(lock, has_work);
        if (is_stopping_ && work_.empty()) return;
        batch.swap(work_);
      }
      const TimePoint begin = SystemClock().Now();
      for (auto& work : batch) work();
      deadline = after_();
      NoteBusy(SystemClock().Now() - begin);
    }
  }

  const std::function<std::optional<TimePoint>()> after_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  // Guarded by mutex_.
  bool is_stopping_ = false;                // Guarded by mutex_.
  std::optional<Duration> slow_;
  std::function<void(Duration)> tell_slow_;
  std::atomic<int64_t> longest_ns_ = 0;
  std::thread thread_;
};

}  // namespace lathe
