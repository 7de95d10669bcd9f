// Closed while a device of this machine is inside a timed window: whoever would use its CPUs waits. A setting for one
// machine that is search host and device at once. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace lathe {

class QuietGate {
 public:
  // Called at each change, with whether it is quiet now, on the thread that changed it. Before anybody enters.
  void OnChange(std::function<void(bool)> listener) { listeners_.push_back(std::move(listener)); }
  // A timed window began or ended; windows of several devices overlap.
  void Enter() { Change(+1); }
  void Leave() { Change(-1); }
  void WaitUntilOpen() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return windows_ == 0 || is_ended_; });
  }
  bool is_quiet() const {
    std::lock_guard lock(mutex_);
    return windows_ > 0;
  }
  // From now on nobody waits.
  void End() {
    {
      std::lock_guard lock(mutex_);
      is_ended_ = true;
    }
    changed_.notify_all();
  }

 private:
  void Change(int by) {
    std::lock_guard order(order_);  // Listeners hear changes in their order.
    bool was_quiet, is_quiet;
    {
      std::lock_guard lock(mutex_);
      was_quiet = windows_ > 0;
      windows_ += by;
      is_quiet = windows_ > 0;
    }
    if (was_quiet == is_quiet) return;
    if (!is_quiet) changed_.notify_all();
    for (const auto& listener : listeners_) listener(is_quiet);
  }

  std::vector<std::function<void(bool)>> listeners_;
  std::mutex order_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int windows_ = 0;        // Guarded by mutex_.
  bool is_ended_ = false;  // Guarded by mutex_.
};

}  // namespace lathe
