#include "tuner/job/job_report.h"

#include <limits>

#include "support/status_macros.h"
#include "tuner/job/job_search.h"

namespace lathe {
namespace {

// What needs the compiler: the default schedule's name and the arithmetic. A workload that cannot be scheduled has neither.
void AddFacts(class Store& store, TaskReport& task, const std::vector<TuningRecord>& history) {
  const StatusOr<TuneTask> loaded = LoadTuneTask(store, task.key);
  if (!loaded.ok()) return;
  task.flops = loaded->flops;
  const StatusOr<MeasureCandidate> untuned = UntunedCandidate(*loaded);
  if (!untuned.ok()) return;
  for (const TuningRecord& record : history) {
    const bool is_timed = record.status == TrialState::kOk || record.status == TrialState::kNoisy;
    if (is_timed && record.trace_digest == untuned->trace_digest) {
      task.untuned_ns = record.timings->median_ns;
      return;  // Best first.
    }
  }
}

}  // namespace

StatusOr<JobReport> MakeJobReport(class Store& store, int64_t job_id) {
  JobReport report;
  ASSIGN_OR_RETURN(report.job, store.GetJob(job_id));
  ASSIGN_OR_RETURN(const std::vector<TaskRow> rows, store.ListTasks(job_id));
  for (const TaskRow& row : rows) {
    TaskReport task{.name = row.name, .key = row.key, .weight = row.weight, .state = row.state};
    ASSIGN_OR_RETURN(task.trials, store.CountMeasured(row.key));
    ASSIGN_OR_RETURN(const TaskCounts counts, store.CountTrials(row.id));
    task.own_trials = counts.trials_done;
    task.trials += counts.by_state[static_cast<size_t>(TrialState::kInfraFailed)];  // Counted, though they taught nothing.
    for (const TrialState state : AllTrialStates()) {
      const int64_t count = counts.by_state[static_cast<size_t>(state)];
      if (SpendsBudget(state) && !HasTimings(state) && count > 0) task.failures[std::string(TrialStateName(state))] = count;
    }
    ASSIGN_OR_RETURN(const std::vector<BestAnswer> best, store.QueryBest(std::span(&row.key, 1)));
    if (best[0].lookup == Lookup::kHit) task.best_ns = best[0].record->timings->median_ns;
    ASSIGN_OR_RETURN(const std::vector<TuningRecord> history, store.History(row.key, std::numeric_limits<int>::max()));
    AddFacts(store, task, history);
    report.measured += task.own_trials;
    report.reused += std::max<int64_t>(0, task.trials - task.own_trials);
    report.tasks.push_back(std::move(task));
  }
  return report;
}

}  // namespace lathe
