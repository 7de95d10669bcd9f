// Threads on which calls are answered: gRPC's own must not wait for the database. Threads are started as they are
// needed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe {

class CallPool {
 public:
  explicit CallPool(size_t max_threads) : max_threads_(max_threads) {}
  ~CallPool();  // Waits until everything that was handed over has run.
  CallPool(const CallPool&) = delete;

  // Thread-safe. Beyond `max_threads` at once, work waits its turn.
  void Run(std::function<void()> work);

 private:
  void Serve();

  const size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> queue_;  // These four are guarded by mutex_.
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool is_closing_ = false;
};

}  // namespace lathe
