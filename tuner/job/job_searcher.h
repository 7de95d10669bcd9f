// What a job has searched: requests of the farm's core to whoever proposes candidates, and what it answers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "support/digest.h"
#include "tuner/database/store.h"
#include "tuner/measure/measure_spec.h"
#include "tuner/search/search_strategy.h"

namespace lathe {

// What the core has to know of a task before it can be measured.
struct PreparedTask {
  TaskMeasurement measurement;
  Digest untuned_trace;  // Of the default schedule: the first trial of each task.
  double flops = 0;
  bool is_float32 = false;             // No narrower type is multiplied.
  double untuned_ns = 0, best_ns = 0;  // From the history; 0: not measured yet.
};

// What the core has to know to measure the finalists of a task again.
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

// The searching of one job; its tasks are named by their place in the job. Requests are served in order. Answers come
// later: FarmCore::OnPrepared, OnProposed, OnFinalists, OnSearching; OnSearchBroken when there will be none any more.
class JobSearcher {
 public:
  virtual ~JobSearcher() = default;
  virtual void Prepare(size_t task) = 0;             // Answered once per call.
  virtual void Propose(size_t task, int count) = 0;  // Of a prepared task. The answer ends the round.
  virtual void Observe(size_t task, MeasuredCandidate measured) = 0;
  // Once all is measured; of a task that need not be prepared. Answered once per call.
  virtual void ChooseFinalists(size_t task) = 0;
  // What was known of the task before this job is no longer true: from now on it is searched as by a fresh job.
  virtual void Distrust(size_t task) = 0;
};

}  // namespace lathe
