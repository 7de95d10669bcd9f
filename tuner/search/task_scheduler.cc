#include "tuner/search/task_scheduler.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

size_t RoundsOf(const TaskProgress& task) {
  return task.best_ns.size() + static_cast<size_t>(std::max(0, task.rounds_in_flight));
}
bool HasTime(const TaskProgress& task) { return !task.best_ns.empty() && std::isfinite(task.best_ns.back()); }

// The task with the fewest rounds; the first of several.
std::optional<size_t> Neediest(std::span<const TaskProgress> tasks) {
  std::optional<size_t> neediest;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].is_finished) continue;
    if (!neediest || RoundsOf(tasks[i]) < RoundsOf(tasks[*neediest])) neediest = i;
  }
  return neediest;
}

class RoundRobin : public TaskScheduler {
 public:
  std::optional<size_t> Next(std::span<const TaskProgress> tasks) const override { return Neediest(tasks); }
};

class Gradient : public TaskScheduler {
 public:
  explicit Gradient(const GradientOptions& options) : options_(options) {}

  std::optional<size_t> Next(std::span<const TaskProgress> tasks) const override {
    const std::optional<size_t> neediest = Neediest(tasks);
    if (!neediest || RoundsOf(tasks[*neediest]) == 0) return neediest;
    std::optional<size_t> best;
    double most = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].is_finished) continue;
      const double gain = tasks[i].weight * GainOf(tasks[i], tasks);
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
    return best ? best : neediest;  // Nothing to gain anywhere: what is left of the budget is shared evenly.
  }

 private:
  // What the roofline says a call takes at least; 0 if unknown, or if a call takes less: a schedule need not do every
  // operation that the workload counts (products with padding).
  double BoundOf(const TaskProgress& task) const {
    const bool is_void = HasTime(task) && task.best_ns.back() < task.floor_ns;
    return is_void ? 0 : task.floor_ns / options_.reachable;
  }

  // Nanoseconds per call that one more round may bring.
  double GainOf(const TaskProgress& task, std::span<const TaskProgress> tasks) const {
    const double rounds = static_cast<double>(RoundsOf(task));
    if (!HasTime(task)) {
      const double guess = GuessOf(task, tasks);
      const double excess = std::max(0.0, rounds + 1 - options_.patience);
      return std::max(0.0, guess - BoundOf(task)) / (rounds * (1 + excess * excess));
    }
    const double best = task.best_ns.back();
    const size_t finished = task.best_ns.size();
    const size_t window = static_cast<size_t>(std::max(1, options_.window));
    double slope = 0;
    if (finished > window) {
      const double before = task.best_ns[finished - 1 - window];
      // The first success is a start, not a slope.
      if (std::isfinite(before)) slope = std::max(0.0, before - best) / static_cast<double>(window);
    }
    const double gain = options_.alpha * slope + (1 - options_.alpha) * best / rounds;
    return std::min(gain, std::max(0.0, best - BoundOf(task)));
  }

  // A call of a task that never ran: as its untuned schedule, or as slow per operation as the slowest other task, or as
  // the mean of them.
  double GuessOf(const TaskProgress& task, std::span<const TaskProgress> tasks) const {
    if (task.untuned_ns && std::isfinite(*task.untuned_ns)) return *task.untuned_ns;
    double slowest_per_flop = 0, sum = 0;
    int count = 0;
    for (const TaskProgress& other : tasks) {
      if (!HasTime(other)) continue;
      sum += other.best_ns.back();
      ++count;
      if (other.flops > 0) slowest_per_flop = std::max(slowest_per_flop, other.best_ns.back() / other.flops);
    }
    if (task.flops > 0 && slowest_per_flop > 0) return task.flops * slowest_per_flop;
    if (task.floor_ns > 0) return 20 * task.floor_ns;  // 5 % of the peak.
    return count > 0 ? sum / count : 1;
  }

  const GradientOptions options_;
};

}  // namespace

std::unique_ptr<TaskScheduler> MakeRoundRobinScheduler() { return std::make_unique<RoundRobin>(); }
std::unique_ptr<TaskScheduler> MakeGradientScheduler(const GradientOptions& options) {
  return std::make_unique<Gradient>(options);
}

}  // namespace lathe
