// The role that says which task of a job gets the next trials.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

// What is known of a task. Times are per call; 0: not known.
struct TaskProgress {
  int64_t weight = 1;         // How often the network runs it.
  int64_t budget = 0;         // Trials that it may have in all.
  int64_t counted = 0;        // Of these, the ones with an outcome ...
  int64_t open = 0;           // ... and those under way.
  bool is_closed = false;     // Nothing more comes of it: its space is exhausted, or it failed.
  double flops = 0;
  double untuned_ns = 0;
  double best_ns = 0;
  std::vector<double> best_after;  // best_ns after each outcome, in order: the curve that a gradient is taken of.

  int64_t remaining() const { return is_closed ? 0 : budget - counted - open; }
};

// Not thread-safe. Knows nothing of time.
class TaskScheduler {
 public:
  virtual ~TaskScheduler() = default;
  // The task with remaining() > 0 whose turn it is; nullopt if there is none.
  virtual std::optional<size_t> Next(std::span<const TaskProgress> tasks) = 0;
};

// One after the other.
std::unique_ptr<TaskScheduler> MakeRoundRobin();

}  // namespace lathe
