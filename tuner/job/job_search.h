// The searching of one job: a thread that owns the strategies of its tasks, proposes when told to, and learns from what
// was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest.h"
#include "support/status.h"
#include "tuner/database/store.h"
#include "tuner/job/job_searcher.h"
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

// Called on the search's thread.
struct JobSearchHandlers {
  std::function<void(size_t task, StatusOr<PreparedTask>)> on_prepared;
  // The new trials, PROPOSED in the Store. Empty: nothing new to offer. Ends the round.
  std::function<void(size_t task, StatusOr<std::vector<ProposedTrial>>)> on_proposed;
  std::function<void(size_t task, StatusOr<PreparedFinals>)> on_finalists;
  std::function<void(bool is_busy)> on_busy;  // Begins or ends using the CPU.
  std::function<void(Status)> on_broken;      // It has ended for good and answers nothing any more.
};

// What a search writes. Called on its thread.
class SearchWrites {
 public:
  virtual ~SearchWrites() = default;
  // As Store::ProposeTrials, in state PROPOSED, of the job's task in this place.
  virtual StatusOr<std::vector<std::optional<int64_t>>> ProposeTrials(size_t task,
                                                                      std::span<const NewTrial> trials) = 0;
  virtual Status RecordModelRound(int64_t task_id, const ModelRound& round) = 0;
};

// Into the store, which must outlive it.
class StoreSearchWrites : public SearchWrites {
 public:
  StoreSearchWrites(Store& store, std::vector<TaskRow> tasks) : store_(store), tasks_(std::move(tasks)) {}
  StatusOr<std::vector<std::optional<int64_t>>> ProposeTrials(size_t task, std::span<const NewTrial> trials) override {
    return store_.ProposeTrials(tasks_[task].id, trials, TrialState::kProposed);
  }
  Status RecordModelRound(int64_t task_id, const ModelRound& round) override {
    return store_.RecordModelRound(task_id, round);
  }

 private:
  Store& store_;
  const std::vector<TaskRow> tasks_;
};

struct JobSearchOptions {
  StrategyFactory strategies;
  ReferenceFactory references;
};

class JobSearch : public JobSearcher {
 public:
  // Starts the thread. `store`, which it only reads, and `gate` must outlive it.
  JobSearch(JobSearchOptions options, JobSpec spec, std::vector<TaskRow> tasks, Store& store,
            std::unique_ptr<SearchWrites> writes, QuietGate& gate, JobSearchHandlers handlers);
  // Ends soon: after the step under way.
  ~JobSearch() override;
  JobSearch(const JobSearch&) = delete;

  // Answered by the handlers. From any thread.
  void Prepare(size_t task) override;
  void Propose(size_t task, int count) override;
  void Observe(size_t task, MeasuredCandidate measured) override;
  void ChooseFinalists(size_t task) override;
  void Distrust(size_t task) override;

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
