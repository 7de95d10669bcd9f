// How a job spends its trials: which task is searched next, how many candidates at once, when it is over. Pure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tuner/job/trial_state.h"
#include "tuner/search/task_scheduler.h"

namespace lathe {

// How far a task of a job is. Times are per call; 0: not known.
struct TaskStanding {
  int64_t weight = 1;      // How often the network runs it.
  int64_t budget = 0;      // Trials that it may have in all.
  int64_t counted = 0;     // Of these, the ones with an outcome ...
  int64_t open = 0;        // ... and those under way.
  bool is_closed = false;  // Nothing more comes of it: its space is exhausted, it gains nothing, or it failed.
  double flops = 0;
  double floor_ns = 0;  // By the peak of the devices; 0: not known.
  double untuned_ns = 0;
  double best_ns = 0;
  std::vector<double> best_after;  // best_ns after each outcome, in order: the curve that a gradient is taken of.
  size_t gained_at = 0;            // Outcomes until the last one that was worth it.
  double gained_ns = 0;            // The best then.

  int64_t remaining() const { return is_closed ? 0 : budget - counted - open; }
};

struct JobPlanOptions {
  int64_t total_budget =
      0;  // Trials of all tasks together, those of earlier jobs included; 0: only the tasks' own budgets count.
  int64_t round_size = 16;  // Candidates per proposal.
  // A task ends early once this many results in a row, and as many as half of all, have gained less than this share of
  // its best time: so many lie behind a search when it is done that a last gain would have been found by luck alone.
  int64_t fewest_fruitless = 96;
  double least_gain = 0.005;
};

class JobPlan {
 public:
  JobPlan(std::vector<TaskStanding> tasks, JobPlanOptions options, std::unique_ptr<TaskScheduler> scheduler);

  struct Round {
    size_t task;
    int count;
  };
  // What to search next; nullopt when the budget is used up or nobody has anything to offer. At most one round is under
  // way. Of many devices a round has a candidate for each fourth, so that searching keeps up with them.
  std::optional<Round> NextRound(int devices = 0);
  // The round gave `added` new trials, which are open from now on. None: the task's space is exhausted.
  void RoundEnded(size_t task, int64_t added);
  // Nobody searches any more: whatever round is under way gives nothing. Harmless where none is.
  void AbandonRound() { is_round_open_ = false; }
  // An open trial got its outcome. `counted` is what the task's budget has paid for so far.
  void TrialEnded(size_t task, TrialState outcome, std::optional<double> median_ns, bool is_untuned, int64_t counted);
  // Not by an outcome: cancelled.
  void TrialDropped(size_t task) { --tasks_[task].open; }
  void CloseTask(size_t task) { tasks_[task].is_closed = true; }
  // No round begins any more.
  void StopProposing() { is_stopped_ = true; }

  // No trial is open, no round is under way and none will be.
  bool IsOver() const;
  bool IsRoundOpen() const { return is_round_open_; }
  bool HasTimed(size_t task) const { return tasks_[task].best_ns > 0; }
  int64_t OpenTrials() const;
  const std::vector<TaskStanding>& tasks() const { return tasks_; }
  TaskStanding& task(size_t task) { return tasks_[task]; }

 private:
  int64_t RemainingInAll() const;
  bool IsOnPlateau(const TaskStanding& task) const;

  std::vector<TaskStanding> tasks_;
  const JobPlanOptions options_;
  std::unique_ptr<TaskScheduler> scheduler_;
  bool is_round_open_ = false, is_stopped_ = false;
};

// Trials of a job that may be between search and result at one time: the devices are busy and have the next one at
// hand, every build slot works, and what is learned still reaches the search soon.
int InflightLimit(int devices, int build_slots);

}  // namespace lathe
