// The searching of one job: a thread that owns the strategies of its tasks, proposes when told to, and learns from what
// was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest.h"
#include "support/status.h"
#include "tuner/database/store.h"
#include "tuner/job/job_spec.h"
#include "tuner/job/quiet_gate.h"
#include "tuner/measure/measure_spec.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/spaces.h"

namespace lathe {

// Makes the strategy of one task; `task` outlives it. `on_update` is for strategies that learn.
using StrategyFactory =
    std::function<std::unique_ptr<SearchStrategy>(const TuneTask& task, uint64_t seed, ModelReportSink on_update)>;
// Called once per job. What the strategies of a job share, a cost model, lives with the factory it returns.
using SearchFactory = std::function<StrategyFactory()>;

// What the coordinator has to know of a task before it can be measured.
struct PreparedTask {
  TaskMeasurement measurement;
  Digest untuned_trace;  // Of the default schedule: the first trial of each task.
  double flops = 0;
  bool is_float32 = false;             // No narrower type is multiplied.
  double untuned_ns = 0, best_ns = 0;  // From the history; 0: not measured yet.
};

// What the coordinator has to know to measure the finalists of a task again.
struct PreparedFinals {
  TaskMeasurement measurement;         // By other inputs than those of the search.
  std::vector<NewFinalist> finalists;  // Empty: nothing to be decided.
  std::vector<TuningRecord> rounds;    // Of these finalists, from an earlier process.
  std::optional<TuningRecord> known;   // The only finalist, which an earlier job decided: to be checked.
};

struct ProposedTrial {
  int64_t trial_id = 0;
  Digest trace_digest;
};

// Called on the search's thread.
struct JobSearchHandlers {
  std::function<void(size_t task, StatusOr<PreparedTask>)> on_prepared;
  // The new trials, PROPOSED in the Store. Empty: nothing new to offer. Ends the round.
  std::function<void(size_t task, StatusOr<std::vector<ProposedTrial>>)> on_proposed;
  std::function<void(size_t task, StatusOr<PreparedFinals>)> on_finalists;
  std::function<void(bool is_busy)> on_busy;  // Begins or ends using the CPU.
};

struct JobSearchOptions {
  StrategyFactory strategies;
  ReferenceFactory references;
};

class JobSearch {
 public:
  // Starts the thread. `store` and `gate` must outlive it.
  JobSearch(JobSearchOptions options, JobSpec spec, std::vector<TaskRow> tasks, Store& store, QuietGate& gate,
            JobSearchHandlers handlers);
  // Ends soon: after the step under way.
  ~JobSearch();
  JobSearch(const JobSearch&) = delete;

  // Requests are served in order and answered by the handlers. From any thread.
  void Prepare(size_t task);             // Answered once per call.
  void Propose(size_t task, int count);  // Of a prepared task.
  void Observe(size_t task, MeasuredCandidate measured);
  // Once all is measured; of a task that need not be prepared. Answered once per call.
  void ChooseFinalists(size_t task);
  // What was known of the task before this job is no longer true: from now on it is searched as by a fresh job.
  void Distrust(size_t task);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The default schedule of a task as a candidate.
StatusOr<MeasureCandidate> UntunedCandidate(const TuneTask& task);
// Everything that a search knows of a task, from its row and the Store; `space` as a job's spec has it.
StatusOr<TuneTask> LoadTuneTask(Store& store, const TuningKey& key, std::string_view space = kDefaultSpace);
// What a record teaches a search.
MeasuredCandidate ToMeasured(const TuningRecord& record);

}  // namespace lathe
