#include "tuner/job/job_plan.h"

#include <algorithm>
#include <limits>

#include "support/check.h"

namespace lathe {

namespace {

constexpr int kDevicesPerCandidate = 4;  // Of a round.

// What the scheduler is told: outcomes grouped into rounds.
TaskProgress ProgressOf(const TaskStanding& task, int64_t round_size) {
  TaskProgress progress{.weight = static_cast<double>(task.weight), .flops = task.flops, .floor_ns = task.floor_ns};
  const size_t size = static_cast<size_t>(std::max<int64_t>(1, round_size));
  for (size_t i = size; i < task.best_after.size() + size && !task.best_after.empty(); i += size) {
    const double best = task.best_after[std::min(i, task.best_after.size()) - 1];
    progress.best_ns.push_back(best > 0 ? best : std::numeric_limits<double>::infinity());
  }
  progress.rounds_in_flight =
      static_cast<int>((task.open + static_cast<int64_t>(size) - 1) / static_cast<int64_t>(size));
  if (task.untuned_ns > 0) progress.untuned_ns = task.untuned_ns;
  progress.is_finished = task.remaining() <= 0;
  return progress;
}

}  // namespace

JobPlan::JobPlan(std::vector<TaskStanding> tasks, JobPlanOptions options, std::unique_ptr<TaskScheduler> scheduler)
    : tasks_(std::move(tasks)), options_(options), scheduler_(std::move(scheduler)) {}

int64_t JobPlan::RemainingInAll() const {
  if (options_.total_budget <= 0) return std::numeric_limits<int64_t>::max();
  int64_t spent = 0;
  for (const TaskStanding& task : tasks_) spent += task.counted + task.open;
  return options_.total_budget - spent;
}

std::optional<JobPlan::Round> JobPlan::NextRound(int devices) {
  const int64_t in_all = RemainingInAll();
  if (is_stopped_ || is_round_open_ || in_all <= 0) return std::nullopt;
  std::vector<TaskProgress> progress;
  for (const TaskStanding& standing : tasks_) progress.push_back(ProgressOf(standing, options_.round_size));
  const std::optional<size_t> task = scheduler_->Next(progress);
  if (!task) return std::nullopt;
  is_round_open_ = true;
  const int64_t size = std::max<int64_t>(options_.round_size, devices / kDevicesPerCandidate);
  return Round{*task, static_cast<int>(std::min({size, tasks_[*task].remaining(), in_all}))};
}

void JobPlan::RoundEnded(size_t task, int64_t added) {
  CHECK(is_round_open_) << "a round ended that was not begun";
  is_round_open_ = false;
  tasks_[task].open += added;
  if (added == 0) tasks_[task].is_closed = true;
}

void JobPlan::TrialEnded(size_t index, TrialState outcome, std::optional<double> median_ns, bool is_untuned,
                         int64_t counted) {
  TaskStanding& task = tasks_[index];
  --task.open;
  task.counted = std::max(task.counted, counted);
  if (median_ns && IsTimed(outcome)) {
    if (is_untuned) task.untuned_ns = *median_ns;
    if (task.best_ns == 0 || *median_ns < task.best_ns) task.best_ns = *median_ns;
  }
  task.best_after.push_back(task.best_ns);
  const bool has_gained = task.gained_ns <= 0 || task.best_ns < (1 - options_.least_gain) * task.gained_ns;
  if (task.best_ns > 0 && has_gained) {
    task.gained_ns = task.best_ns;
    task.gained_at = task.best_after.size();
  }
  if (IsOnPlateau(task)) task.is_closed = true;
}

bool JobPlan::IsOnPlateau(const TaskStanding& task) const {
  if (task.best_ns <= 0) return false;
  const auto fruitless = static_cast<int64_t>(task.best_after.size() - task.gained_at);
  return fruitless >= options_.fewest_fruitless && 2 * fruitless >= static_cast<int64_t>(task.best_after.size());
}

bool JobPlan::IsOver() const {
  if (OpenTrials() > 0) return false;
  if (is_stopped_) return true;
  if (is_round_open_) return false;
  if (RemainingInAll() <= 0) return true;
  return std::none_of(tasks_.begin(), tasks_.end(), [](const TaskStanding& task) { return task.remaining() > 0; });
}

int64_t JobPlan::OpenTrials() const {
  int64_t open = 0;
  for (const TaskStanding& task : tasks_) open += task.open;
  return open;
}

int InflightLimit(int devices, int build_slots) { return 3 * std::max(devices, 1) + std::max(build_slots, 1); }

}  // namespace lathe
