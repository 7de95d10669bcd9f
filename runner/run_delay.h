// How long threads were ready to run and had to wait, because others had their CPU: what the scheduler counts for each
// thread. Unlike CPU time against wall time it stays 0 where a thread waits for another one of its own.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

class RunDelayMeter {
 public:
  // Watches the threads that this process has now; all of them, each by its file `tasks`/<id>/schedstat. Where there is
  // none (no /proc, a kernel that does not count), nothing is watched.
  explicit RunDelayMeter(const char* tasks = "/proc/self/task");
  ~RunDelayMeter();
  RunDelayMeter(const RunDelayMeter&) = delete;
  RunDelayMeter& operator=(const RunDelayMeter&) = delete;

  size_t num_threads() const { return files_.size(); }
  // Nanoseconds since each thread began; 0 for one that has ended.
  std::vector<int64_t> Read() const;
  // By how much the thread that waited longest waited since `before`.
  int64_t LongestSince(const std::vector<int64_t>& before) const;

 private:
  std::vector<int> files_;
};

}  // namespace lathe
