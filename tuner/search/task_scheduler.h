// Which task of a job gets the next round of trials. Pure.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace lathe {

// What is known of one task. Times are per call, in ns.
struct TaskProgress {
  double weight = 1;    // How often the network calls it.
  double flops = 0;     // Of one call; 0: unknown.
  double floor_ns = 0;  // What a call takes at least, by the peak that was measured; 0: unknown, no bound.
  // The best time known after each finished round; infinity before the first success. Never rises.
  std::vector<double> best_ns;
  int rounds_in_flight = 0;          // Handed out, not finished.
  std::optional<double> untuned_ns;  // Of the default schedule, where it was measured.
  bool is_finished = false;          // Its budget is spent or its space exhausted: never chosen.
};

class TaskScheduler {
 public:
  virtual ~TaskScheduler() = default;
  // The position of the task that gets the next round; nullopt if all are finished.
  virtual std::optional<size_t> Next(std::span<const TaskProgress> tasks) const = 0;
};

// Each in turn: the one with the fewest rounds, in order of position.
std::unique_ptr<TaskScheduler> MakeRoundRobinScheduler();

struct GradientOptions {
  double alpha = 0.2;       // Weight of the recent slope against the optimistic 1/n gain.
  int window = 3;           // Rounds that the slope looks back.
  double reachable = 0.97;  // Of the peak: where a task counts as done.
  int patience = 3;         // Failing rounds after which a task without any success waits longer and longer.
};
// MetaSchedule's gradient scheduler: first one round each, then the task with the largest
//   weight * min(alpha * slope + (1 - alpha) * best / n, best - floor / reachable).
// Unlike there, a gain never exceeds what the roofline leaves, rounds in flight count in n, and a task whose first
// rounds all failed goes on being tried: its gain is guessed from the untuned time, or from the flops, or from the
// other tasks, and falls with each failing round.
std::unique_ptr<TaskScheduler> MakeGradientScheduler(const GradientOptions& options = {});

}  // namespace lathe
