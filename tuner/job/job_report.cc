#include "tuner/job/job_report.h"

#include <algorithm>

#include "support/status_macros.h"
#include "tuner/database/finals.h"
#include "tuner/job/job_search.h"

namespace lathe {
namespace {

WorkloadFactsCache::Facts FindOut(Store& store, const TuningKey& key) {
  WorkloadFactsCache::Facts facts;
  const StatusOr<TuneTask> loaded = LoadTuneTask(store, key);
  if (!loaded.ok()) return facts;
  facts.flops = loaded->flops;
  facts.factors = loaded->factors;
  const StatusOr<MeasureCandidate> untuned = UntunedCandidate(*loaded);
  if (untuned.ok()) facts.untuned_trace = untuned->trace_digest;
  return facts;
}

// Of one trace: as its finals measured it, if it was in any, for so the best was, too; else the best that was ever
// measured of it.
double TimeOf(std::vector<TuningRecord> records) {
  std::erase_if(records, [](const TuningRecord& record) { return !IsTimed(record.status); });
  if (records.empty()) return 0;
  std::vector<TuningRecord> finals;
  std::ranges::copy_if(records, std::back_inserter(finals), [](const auto& record) { return record.final_round > 0; });
  if (const std::optional<size_t> median = BestOfFinals(finals)) return finals[*median].timings->median_ns;
  const auto place = [](const TuningRecord& record) {
    return std::pair(record.status != TrialState::kOk, record.timings->median_ns);
  };
  return std::ranges::min_element(records, {}, place)->timings->median_ns;
}

Status AddFacts(Store& store, const WorkloadFactsCache::Facts& facts, TaskReport& task) {
  task.flops = facts.flops;
  task.factors = facts.factors;
  if (!facts.untuned_trace) return OkStatus();
  ASSIGN_OR_RETURN(std::vector<TuningRecord> records, store.RecordsOf(task.key, *facts.untuned_trace));
  task.untuned_ns = TimeOf(std::move(records));
  return OkStatus();
}

}  // namespace

WorkloadFactsCache::Facts WorkloadFactsCache::Of(Store& store, const TuningKey& key) {
  std::lock_guard lock(mutex_);
  const auto [known, is_new] = known_.try_emplace({key.workload, key.target});
  if (is_new) known->second = FindOut(store, key);
  return known->second;
}

StatusOr<JobReport> MakeJobReport(Store& store, int64_t job_id) {
  WorkloadFactsCache facts;
  return MakeJobReport(store, job_id, facts);
}

StatusOr<JobReport> MakeJobReport(Store& store, int64_t job_id, WorkloadFactsCache& facts) {
  JobReport report;
  ASSIGN_OR_RETURN(report.job, store.GetJob(job_id));
  ASSIGN_OR_RETURN(const std::vector<TaskRow> rows, store.ListTasks(job_id));
  for (const TaskRow& row : rows) {
    TaskReport task{.name = row.name, .key = row.key, .weight = row.weight, .state = row.state};
    ASSIGN_OR_RETURN(task.trials, store.CountMeasured(row.key));
    ASSIGN_OR_RETURN(const TaskCounts counts, store.CountTrials(row.id));
    task.own_trials = counts.trials_done;
    task.trials +=
        counts.by_state[static_cast<size_t>(TrialState::kInfraFailed)];  // Counted, though they taught nothing.
    for (const TrialState state : AllTrialStates()) {
      const int64_t count = counts.by_state[static_cast<size_t>(state)];
      if (SpendsBudget(state) && !HasTimings(state) && count > 0)
        task.failures[std::string(TrialStateName(state))] = count;
    }
    ASSIGN_OR_RETURN(const std::vector<BestAnswer> best, store.QueryBest(std::span(&row.key, 1)));
    if (best[0].lookup == Lookup::kHit) task.best_ns = best[0].record->timings->median_ns;
    RETURN_IF_ERROR(AddFacts(store, facts.Of(store, row.key), task));
    report.measured += task.own_trials;
    report.reused += std::max<int64_t>(0, task.trials - task.own_trials);
    report.tasks.push_back(std::move(task));
  }
  return report;
}

}  // namespace lathe
