#include "tuner/job/job_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>

#include "compiler/ir/workload_facts.h"
#include "support/status_macros.h"
#include "tuner/database/finals.h"
#include "tuner/job/best_check.h"
#include "tuner/job/warm_start.h"
#include "tuner/measure/parse_workload.h"
#include "tuner/search/adapt_trace.h"
#include "tuner/search/untuned_schedule.h"

namespace lathe {
namespace {

constexpr int kProposeTries = 64;
constexpr int kMostForeign = 256;        // Of a workload: more are hardly better, and each costs a trial.
constexpr int kForeignShare = 4;         // One trial in this many, and one at least, while there are any.
constexpr size_t kNearestKeys = 4;       // Workloads whose schedules a search begins with,
constexpr size_t kMostPerNeighbour = 4;  // the fastest of each;
constexpr size_t kTeachers = 2;          // of the nearest the model learns,
constexpr size_t kMostTaught = 64;       // from this many measurements of each.
constexpr size_t kMostRecalled = 1000;   // Of a key. More teach little, and each is replayed.
constexpr int kWarmShare = 2;            // One of this many of the first round; what comes of them guides the rest.
constexpr uint64_t kInputSeed = 1;       // One per workload is enough: every candidate of it sees the same inputs.
constexpr uint64_t kFinalInputSeed = 2;  // What is right by accident on those is wrong on these.

uint64_t SeedOf(const JobSpec& spec, const TuningKey& key) {
  uint64_t seed = spec.seed;
  for (int i = 0; i < 8; ++i) seed = Random::Mix(seed ^ key.workload.bytes[static_cast<size_t>(i)]);
  return seed;
}

bool IsFloat32(const std::vector<Rounding>& roundings) {
  return !roundings.empty() && std::all_of(roundings.begin(), roundings.end(),
                                           [](const Rounding& rounding) { return rounding.type.bits >= 32; });
}

NewTrial ToNewTrial(const MeasureCandidate& candidate) {
  return {candidate.trace_digest, candidate.trace_json, candidate.predicted, candidate.seed};
}

}  // namespace

StatusOr<MeasureCandidate> UntunedCandidate(const TuneTask& task) {
  ASSIGN_OR_RETURN(const Schedule schedule, UntunedSchedule(task.func, task.target));
  MeasureCandidate candidate{schedule.trace(), schedule.trace().ToJson(), {}, schedule.func(), 0, 0};
  candidate.trace_digest = Sha256(candidate.trace_json);
  return candidate;
}

StatusOr<TuneTask> LoadTuneTask(Store& store, const TuningKey& key, std::string_view space) {
  ASSIGN_OR_RETURN(const Workload workload, store.GetWorkload(key.workload));
  ASSIGN_OR_RETURN(PrimFunc func, ParseWorkload(workload.digest, workload.name, workload.text));
  ASSIGN_OR_RETURN(Target target, Target::Parse(key.target));
  TuneTask task{key.workload, std::move(func), std::move(target), {}, 0};
  task.keeps_to_sketches = space != kDefaultSpace;
  const WorkloadFacts facts = FactsOf(task.func);
  task.flops = facts.flops;
  task.is_float32 = IsFloat32(facts.roundings) && !facts.narrow_factor;
  if (!task.is_float32) task.factors = facts.narrow_factor ? facts.narrow_factor->ToString() : "";
  ASSIGN_OR_RETURN(const std::unique_ptr<SpaceGenerator> generator, MakeSpace(space));
  ASSIGN_OR_RETURN(task.sketches, generator->Generate(task.func, task.target));
  return task;
}

MeasuredCandidate ToMeasured(const TuningRecord& record) {
  MeasuredCandidate measured{record.trace_digest, record.trace_json};
  if (!record.timings) return measured;
  measured.outcome = record.status == TrialState::kCensored ? MeasuredCandidate::Outcome::kCensored
                                                            : MeasuredCandidate::Outcome::kTimed;
  measured.median_ns = record.timings->median_ns;
  return measured;
}

class JobSearch::Impl {
 public:
  Impl(JobSearchOptions options, JobSpec spec, std::vector<TaskRow> rows, Store& store,
       std::unique_ptr<SearchWrites> writes, QuietGate& gate, JobSearchHandlers handlers)
      : options_(std::move(options)),
        spec_(spec),
        rows_(std::move(rows)),
        store_(store),
        writes_(std::move(writes)),
        gate_(gate),
        handlers_(std::move(handlers)),
        warm_starts_(store),
        thread_([this] { Run(); }) {}

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
      if (references_ != nullptr) references_->Cancel();
    }
    changed_.notify_all();
    thread_.join();
  }

  void Add(std::function<void()> request) {
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    changed_.notify_all();
  }

  void Prepare(size_t index) {
    StatusOr<PreparedTask> prepared = Load(index);
    if (is_stopping_) return;
    if (!prepared.ok()) tasks_.erase(index);
    handlers_.on_prepared(index, std::move(prepared));
  }

  void Propose(size_t index, int count) {
    StatusOr<std::vector<ProposedTrial>> proposed = ProposeTrials(index, count);
    if (!is_stopping_) handlers_.on_proposed(index, std::move(proposed));
  }

  void ChooseFinalists(size_t index) {
    StatusOr<PreparedFinals> finals = PrepareFinals(index);
    if (!is_stopping_) handlers_.on_finalists(index, std::move(finals));
  }

  void Distrust(size_t index) {
    distrusted_.insert(index);
    tasks_.erase(index);
  }

  void Observe(size_t index, const MeasuredCandidate& measured) {
    const auto it = tasks_.find(index);
    if (it == tasks_.end()) return;
    ++it->second->num_results;
    it->second->strategy->Observe(measured);
  }

 private:
  // What the database knows already neither counts nor guides.
  bool IsFresh(size_t index) const { return spec_.is_fresh || distrusted_.contains(index); }

  struct Task {
    explicit Task(TuneTask loaded) : task(std::move(loaded)) {}
    TuneTask task;
    std::unique_ptr<SearchStrategy> strategy;
    std::optional<MeasureCandidate> untuned;  // Until it was proposed.
    std::vector<ScheduleTrace> foreign;       // To be proposed; the fastest by its writer's measurement last.
    std::vector<ScheduleTrace> warm;     // Of the nearest workloads, made to fit; to be proposed before all others.
    int num_drawn = 0, num_foreign = 0;  // Trials asked for; those of them that were foreign.
    int64_t num_results = 0;             // That the strategy was told.
    bool is_recalling = false;           // It is told what was known before.
  };

  void Run() {
    bool is_busy = false;
    for (;;) {
      std::function<void()> request;
      {
        std::unique_lock lock(mutex_);
        if (requests_.empty() && is_busy) {
          lock.unlock();
          handlers_.on_busy(is_busy = false);
          lock.lock();
        }
        changed_.wait(lock, [&] { return is_stopping_ || !requests_.empty(); });
        if (is_stopping_) break;
        request = std::move(requests_.front());
        requests_.pop_front();
      }
      gate_.WaitUntilOpen();
      if (!is_busy) handlers_.on_busy(is_busy = true);
      request();
    }
    std::lock_guard lock(mutex_);
    references_.reset();  // Its child belongs to this thread.
  }

  ReferenceSource& References() {
    std::lock_guard lock(mutex_);
    if (references_ == nullptr) references_ = options_.references();
    if (is_stopping_) references_->Cancel();
    return *references_;
  }

  StatusOr<PreparedTask> Load(size_t index) {
    const TaskRow& row = rows_[index];
    ASSIGN_OR_RETURN(TuneTask loaded, LoadTuneTask(store_, row.key, spec_.space));
    const auto task = std::make_shared<Task>(std::move(loaded));
    task->task.before_replay = [this] { return MayGoOn(); };
    task->strategy = options_.strategies(
        task->task, SeedOf(spec_, row.key),
        [this, id = row.id, task = task.get()](const ModelReport& report) { Keep(id, *task, report); });
    ASSIGN_OR_RETURN(task->untuned, UntunedCandidate(task->task));
    PreparedTask prepared{
        .untuned_trace = task->untuned->trace_digest, .flops = task->task.flops, .is_float32 = task->task.is_float32};
    untuned_traces_[index] = prepared.untuned_trace;
    task->is_recalling = true;
    RETURN_IF_ERROR(Recall(index, *task, prepared));
    task->is_recalling = false;
    RETURN_IF_ERROR(RecallForeign(index, *task));
    if (!IsFresh(index)) RETURN_IF_ERROR(WarmUp(row.key, *task));
    ASSIGN_OR_RETURN(prepared.measurement,
                     Measurement(row.key, task->task.func, task->task.target, kInputSeed, ScreenPolicy()));
    tasks_[index] = task;
    return prepared;
  }

  // How the model ranked what it had not seen. A report that the Store cannot take now is lost; nothing depends on it.
  void Keep(int64_t task_id, const Task& task, const ModelReport& report) {
    if (task.is_recalling) return;  // The best first: that says nothing.
    (void)writes_->RecordModelRound(task_id, {.trials = task.num_results,
                                              .batch = static_cast<int64_t>(report.batch),
                                              .rows = static_cast<int64_t>(report.rows),
                                              .pairs = report.before.pairs,
                                              .pairs_right = report.before.pairs_right,
                                              .regret_at_1 = report.before.regret_at_1,
                                              .regret_at_8 = report.before.regret_at_8,
                                              .refitted = report.refitted,
                                              .trees = report.trees,
                                              .draft_weight = report.draft_weight});
  }

  StatusOr<TaskMeasurement> Measurement(const TuningKey& key, const PrimFunc& func, const Target& target, uint64_t seed,
                                        const MeasurePolicy& policy) {
    TaskMeasurement measurement{.kernel = func.name, .seed = seed, .policy = policy, .threads = target.num_cores()};
    measurement.codegen_version =
        static_cast<uint32_t>(key.codegen_version.llvm_major * 1000 + key.codegen_version.revision);
    ASSIGN_OR_RETURN(measurement.reference, References().Make(key.workload, func, seed));
    return measurement;
  }

  // Also of a task whose search another process has ended.
  std::optional<Digest> UntunedTrace(size_t index) {
    const auto known = untuned_traces_.find(index);
    if (known != untuned_traces_.end()) return known->second;
    const StatusOr<TuneTask> task = LoadTuneTask(store_, rows_[index].key);
    const StatusOr<MeasureCandidate> untuned = task.ok() ? UntunedCandidate(*task) : task.status();
    return untuned.ok() ? std::optional(untuned->trace_digest) : std::nullopt;
  }

  StatusOr<PreparedFinals> PrepareFinals(size_t index) {
    const TuningKey& key = rows_[index].key;
    PreparedFinals finals;
    const auto counts = [&](const RecordOutcome& record) { return !distrusted_.contains(index) || IsOfJob(record); };
    ASSIGN_OR_RETURN(const PartOfHistory part, SomeHistory(store_, key, kMostRecalled, UntunedTrace(index), counts));
    const std::vector<TuningRecord>& history = part.records;
    RETURN_IF_ERROR(RecallFinals(index, history, finals));
    if (finals.finalists.empty()) RETURN_IF_ERROR(ChooseAmong(index, history, finals));
    if (finals.finalists.empty() && !finals.known) return finals;
    ASSIGN_OR_RETURN(const Workload workload, store_.GetWorkload(key.workload));
    ASSIGN_OR_RETURN(const PrimFunc func, ParseWorkload(workload.digest, workload.name, workload.text));
    ASSIGN_OR_RETURN(const Target target, Target::Parse(key.target));
    ASSIGN_OR_RETURN(finals.measurement, Measurement(key, func, target, kFinalInputSeed, FinalPolicy()));
    return finals;
  }

  Status ChooseAmong(size_t index, const std::vector<TuningRecord>& history, PreparedFinals& finals) {
    const TaskRow& row = rows_[index];
    ASSIGN_OR_RETURN(const std::vector<BestAnswer> best, store_.QueryBest(std::span(&row.key, 1)));
    const bool is_known = best[0].lookup == Lookup::kHit && !distrusted_.contains(index);
    const std::optional<TuningRecord> decided = is_known ? best[0].record : std::nullopt;
    for (const TuningRecord& record : lathe::ChooseFinalists(history, decided, UntunedTrace(index)))
      finals.finalists.push_back({record.trace_digest, record.trace_json, record.seed, record.module_digest});
    if (!finals.finalists.empty() || !decided || spec_.is_fresh) return OkStatus();
    ASSIGN_OR_RETURN(const TaskCounts counts, store_.CountTrials(row.id));
    if (counts.trials_done == 0) finals.known = decided;  // By others; the job had nothing to do.
    return OkStatus();
  }

  bool IsOfJob(const RecordOutcome& record) {
    if (!record.trial_id) return false;
    const StatusOr<TrialRow> trial = store_.GetTrial(*record.trial_id);
    return trial.ok() && trial->job_id == rows_.front().job_id;
  }

  // Finals of this task that an earlier process began: who is in them, and what they measured.
  Status RecallFinals(size_t index, const std::vector<TuningRecord>& history, PreparedFinals& finals) {
    std::map<int64_t, TrialRow> trials;
    RETURN_IF_ERROR(
        ForEachTrial(store_, {.job_id = rows_[index].job_id, .only_finals = true}, [&](const TrialRow& trial) {
          const bool is_final = trial.task_id == rows_[index].id && trial.final_round != kCheckRound;
          if (is_final) trials[trial.id] = trial;
        }));
    std::unordered_set<Digest, DigestHash> failed, seen;
    for (const TuningRecord& record : history) {
      if (record.late || !record.trial_id || !trials.contains(*record.trial_id)) continue;
      finals.rounds.push_back(record);
      if (!HasTimings(record.status)) failed.insert(record.trace_digest);
    }
    for (const auto& [id, trial] : trials) {
      if (failed.contains(trial.trace_digest) || !seen.insert(trial.trace_digest).second) continue;
      finals.finalists.push_back({trial.trace_digest, trial.trace_json, trial.seed, trial.module_digest});
    }
    return OkStatus();
  }

  // Teaches the strategy what is known under the key, whoever measured it; of a fresh job only what the job itself did.
  Status Recall(size_t index, Task& task, PreparedTask& prepared) {
    const TaskRow& row = rows_[index];
    ASSIGN_OR_RETURN(const std::vector<TrialRow> first, store_.ListTrials({.task_id = row.id}, {.limit = 1}));
    const auto counts = [&](const RecordOutcome& record) {
      if (!IsFresh(index)) return true;
      return !first.empty() && record.trial_id >= first[0].id && IsOfTask(record, row.id);
    };
    ASSIGN_OR_RETURN(const PartOfHistory part,
                     SomeHistory(store_, row.key, kMostRecalled, prepared.untuned_trace, counts));
    if (!part.is_whole) RETURN_IF_ERROR(ExcludeMeasured(index, task));
    std::vector<MeasuredCandidate> measured;
    for (const TuningRecord& record : part.records) {
      if (record.final_round == 0) ++task.num_results;
      measured.push_back(ToMeasured(record));
      if (record.late) continue;  // It informs; what it says is measured again before anything is compared with it.
      const bool is_timed = IsTimed(record.status);
      if (is_timed && (prepared.best_ns == 0 || record.timings->median_ns < prepared.best_ns))
        prepared.best_ns = record.timings->median_ns;
      if (record.trace_digest != prepared.untuned_trace) continue;
      task.untuned.reset();
      if (is_timed) prepared.untuned_ns = record.timings->median_ns;
    }
    task.strategy->Recall(measured);
    return OkStatus();
  }

  bool IsOfTask(const RecordOutcome& record, int64_t task_id) {
    if (!record.trial_id) return false;
    const StatusOr<TrialRow> trial = store_.GetTrial(*record.trial_id);
    return trial.ok() && trial->task_id == task_id;
  }

  // A fresh job measures anew what others did; its own trials are each proposed once.
  Status ExcludeMeasured(size_t index, Task& task) {
    if (IsFresh(index)) return OkStatus();
    ASSIGN_OR_RETURN(std::vector<Digest> measured, store_.MeasuredTraces(rows_[index].key));
    task.strategy->Exclude(std::move(measured));
    return OkStatus();
  }

  // Schedules that another tuner made for the workload. What does not replay is dropped when its turn comes.
  Status RecallForeign(size_t index, Task& task) {
    const TaskRow& row = rows_[index];
    ASSIGN_OR_RETURN(const std::vector<ForeignTrace> traces, store_.ListForeign(row.key.workload, kMostForeign));
    std::unordered_set<Digest, DigestHash> known;
    if (!IsFresh(index) && !traces.empty()) {
      ASSIGN_OR_RETURN(const std::vector<Digest> measured, store_.MeasuredTraces(row.key));
      known.insert(measured.begin(), measured.end());
    }
    for (const ForeignTrace& foreign : traces) {
      if (!known.insert(foreign.trace_digest).second) continue;
      StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(foreign.trace_json);
      if (trace.ok()) task.foreign.push_back(*std::move(trace));
    }
    std::reverse(task.foreign.begin(), task.foreign.end());
    return OkStatus();
  }

  // For a task of which nothing is known: schedules of the nearest workloads, and what was measured there.
  Status WarmUp(const TuningKey& key, Task& task) {
    if (task.num_results > 0) return OkStatus();
    ASSIGN_OR_RETURN(const std::vector<TuningKey> nearest, warm_starts_.Nearest(key, task.task.func, kNearestKeys));
    for (size_t i = 0; i < nearest.size(); ++i) {
      const auto all = [](const RecordOutcome&) { return true; };
      ASSIGN_OR_RETURN(const PartOfHistory part, SomeHistory(store_, nearest[i], kMostRecalled, std::nullopt, all));
      const std::vector<TuningRecord>& history = part.records;
      if (i < kTeachers && nearest[i].device_class == key.device_class) Teach(nearest[i], history);
      for (const TuningRecord& record : FastestTraces(history, kMostPerNeighbour)) {
        const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(record.trace_json);
        StatusOr<ScheduleTrace> adapted = trace.ok() ? AdaptTrace(task.task, *trace) : trace.status();
        if (adapted.ok()) task.warm.push_back(*std::move(adapted));
      }
    }
    return OkStatus();
  }

  // What strategies of a job share learns from another workload's measurements: a strategy of that one is told them.
  void Teach(const TuningKey& key, std::span<const TuningRecord> history) {
    const bool is_task = std::any_of(rows_.begin(), rows_.end(), [&](const TaskRow& row) { return row.key == key; });
    if (is_task || !taught_.insert(key).second) return;
    StatusOr<TuneTask> task = LoadTuneTask(store_, key);
    if (!task.ok()) return;  // It teaches nothing; the search does without.
    task->before_replay = [this] { return MayGoOn(); };
    const auto strategy = options_.strategies(*task, SeedOf(spec_, key), [](const ModelReport&) {});
    std::vector<MeasuredCandidate> measured;
    for (const TuningRecord& record : EvenlyOver(history, kMostTaught)) measured.push_back(ToMeasured(record));
    strategy->Recall(measured);
  }

  bool MayGoOn() {
    gate_.WaitUntilOpen();
    return !is_stopping_;
  }

  StatusOr<std::vector<ProposedTrial>> ProposeTrials(size_t index, int count) {
    const auto it = tasks_.find(index);
    if (it == tasks_.end()) return InternalError(fmt::format("propose for task {}: it is not prepared", index));
    std::vector<ProposedTrial> proposed;
    // After a restart a strategy may come up with what waits in the Store already; the task has each trace once.
    for (int tries = 0; proposed.empty() && tries < kProposeTries; ++tries) {
      const std::vector<NewTrial> trials = Draw(*it->second, count);
      if (trials.empty()) break;
      // What the Store cannot take now is lost to the strategy, which has others; the untuned one is asked for again.
      ASSIGN_OR_RETURN(const auto ids, writes_->ProposeTrials(index, trials));
      it->second->untuned.reset();
      for (size_t i = 0; i < trials.size(); ++i) {
        if (ids[i]) proposed.push_back({*ids[i], trials[i].trace_digest});
      }
    }
    return proposed;
  }

  std::vector<NewTrial> Draw(Task& task, int count) {
    std::vector<NewTrial> trials;
    if (task.untuned) trials.push_back(ToNewTrial(*task.untuned));
    if (!task.warm.empty()) {
      const std::vector<ScheduleTrace> warm = std::exchange(task.warm, {});
      for (const MeasureCandidate& candidate : task.strategy->Adopt(warm, std::max(1, count / kWarmShare)))
        trials.push_back(ToNewTrial(candidate));
      if (!trials.empty()) return trials;
    }
    DrawForeign(task, count, trials);
    const int wanted = count - static_cast<int>(trials.size());
    if (wanted <= 0) return trials;
    for (const MeasureCandidate& candidate : task.strategy->Propose(wanted)) trials.push_back(ToNewTrial(candidate));
    return trials;
  }

  // They are measured like any other candidate: what their writer measured only says which come first.
  static void DrawForeign(Task& task, int count, std::vector<NewTrial>& trials) {
    task.num_drawn += count;
    while (!task.foreign.empty() && task.num_foreign * kForeignShare < task.num_drawn) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task.task, task.foreign.back(), 0);
      task.foreign.pop_back();
      if (!candidate.ok()) continue;
      trials.push_back(ToNewTrial(*candidate));
      ++task.num_foreign;
    }
  }

  const JobSearchOptions options_;
  const JobSpec spec_;
  const std::vector<TaskRow> rows_;
  Store& store_;
  const std::unique_ptr<SearchWrites> writes_;
  QuietGate& gate_;
  const JobSearchHandlers handlers_;
  WarmStarts warm_starts_;
  std::set<TuningKey> taught_;  // Keys of other workloads that the model knows.
  std::map<size_t, std::shared_ptr<Task>> tasks_;
  std::map<size_t, Digest> untuned_traces_;
  std::set<size_t> distrusted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> requests_;   // Guarded by mutex_.
  std::unique_ptr<ReferenceSource> references_;  // Changes under mutex_.
  std::atomic<bool> is_stopping_ = false;        // Changes under mutex_.
  std::thread thread_;
};

JobSearch::JobSearch(JobSearchOptions options, JobSpec spec, std::vector<TaskRow> tasks, Store& store,
                     std::unique_ptr<SearchWrites> writes, QuietGate& gate, JobSearchHandlers handlers)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(spec), std::move(tasks), store, std::move(writes),
                                   gate, std::move(handlers))) {}
JobSearch::~JobSearch() = default;

void JobSearch::Prepare(size_t task) {
  impl_->Add([this, task] { impl_->Prepare(task); });
}
void JobSearch::Propose(size_t task, int count) {
  impl_->Add([this, task, count] { impl_->Propose(task, count); });
}
void JobSearch::ChooseFinalists(size_t task) {
  impl_->Add([this, task] { impl_->ChooseFinalists(task); });
}
void JobSearch::Distrust(size_t task) {
  impl_->Add([this, task] { impl_->Distrust(task); });
}
void JobSearch::Observe(size_t task, MeasuredCandidate measured) {
  impl_->Add([this, task, measured = std::move(measured)] { impl_->Observe(task, measured); });
}

}  // namespace lathe
