// The core's care for jobs: taken up, advanced after every event, finished.
#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"
#include "tuner/job/farm_core.h"

namespace lathe {
namespace {

constexpr Duration kSayWaitingAfter = std::chrono::seconds(1);
constexpr Duration kHoldBackAfter =
    std::chrono::seconds(2);  // Of trouble: what is tried again may go wrong, what waits shall not.
constexpr size_t kEndedKept = 64;
constexpr size_t kReasonsShown = 3;
constexpr int kFinalsShare = 7;  // Of a time limit, one part in this many is for the finalists.

std::string FirstWords(const std::string& text) { return text.substr(0, std::min<size_t>(text.find('\n'), 160)); }

std::string ReasonOf(const TrialRow& trial) {
  return fmt::format("{}: {}", TrialStateName(trial.state), FirstWords(trial.error));
}

// Equal for reasons that differ in numbers only, as they do from candidate to candidate.
std::string WithoutNumbers(std::string reason) {
  std::erase_if(reason, [](char c) { return c >= '0' && c <= '9'; });
  return reason;
}

}  // namespace

// ---- Taking a job up.

StatusOr<FarmCore::Job> FarmCore::LoadJob(const JobRow& row) {
  ASSIGN_OR_RETURN(const JobSpec spec, JobSpec::FromJson(row.spec));
  ASSIGN_OR_RETURN(std::vector<TaskRow> tasks, store_.ListTasks(row.id));
  std::vector<TaskStanding> progress;
  for (const TaskRow& task : tasks) {
    progress.push_back(
        {.weight = task.weight, .budget = task.trial_budget, .is_closed = task.state == JobState::kFailed});
  }
  JobPlan plan(std::move(progress), {.total_budget = spec.total_trials}, options_.schedulers());
  DeviceWish wish = DeviceWish::OfKey(tasks.front().key.device_class);
  if (!spec.devices.empty()) {
    ASSIGN_OR_RETURN(wish, DeviceWish::ParseForJob(spec.devices));
  }
  return Job(row, spec, std::move(wish), std::move(tasks), std::move(plan), Now());
}

Status FarmCore::TakeUp(int64_t job_id) {
  if (jobs_.contains(job_id) || std::ranges::find(waiting_, job_id) != waiting_.end()) return OkStatus();
  ASSIGN_OR_RETURN(const JobRow row, store_.GetJob(job_id));
  if (IsTerminal(row.state)) return OkStatus();
  if (jobs_.size() < options_.most_jobs) return Begin(row);
  // By priority, then by age.
  const StatusOr<JobSpec> spec = JobSpec::FromJson(row.spec);
  const int priority = spec.ok() ? spec->priority : 0;
  waiting_priority_[job_id] = priority;
  waiting_.insert(std::ranges::find_if(waiting_, [&](int64_t id) { return waiting_priority_[id] < priority; }), job_id);
  ports_.OnJobTakenUp(job_id);
  return OkStatus();
}

void FarmCore::BeginWaitingJobs() {
  if (waiting_retry_at_ && Now() < *waiting_retry_at_) return;
  waiting_retry_at_.reset();
  while (!waiting_.empty() && jobs_.size() < options_.most_jobs) {
    const int64_t job_id = waiting_.front();
    waiting_.pop_front();
    const Status begun = Resume(job_id);
    if (Check(begun, "take up a job")) {
      if (!jobs_.contains(job_id)) ports_.OnJobLeft(job_id);  // It cannot be read, or has been cancelled.
      continue;
    }
    waiting_.push_front(job_id);
    waiting_retry_at_ = Now() + kRetryAfter;
    return;
  }
}

Status FarmCore::Begin(const JobRow& row) {
  ASSIGN_OR_RETURN(Job loaded, LoadJob(row));
  RETURN_IF_ERROR(store_.SetJobState(row.id, JobState::kRunning, ""));
  loaded.row.state = JobState::kRunning;
  Job& job = jobs_.emplace(row.id, std::move(loaded)).first->second;
  ports_.OnJobTakenUp(row.id);
  job.search = ports_.BeginSearch(job.row, job.spec, job.tasks);
  return AdoptOpenTrials(job);
}

Status FarmCore::AdoptOpenTrials(Job& job) {
  std::map<int64_t, size_t> index;
  for (size_t i = 0; i < job.tasks.size(); ++i) {
    index[job.tasks[i].id] = i;
    job.plan.task(i).counted = CountBudget(job, i);
  }
  std::set<size_t> needed;
  const std::vector<TrialState> open{TrialState::kProposed, TrialState::kBuildQueued,   TrialState::kBuilding,
                                     TrialState::kBuilt,    TrialState::kMeasureQueued, TrialState::kAssigned,
                                     TrialState::kRunning};
  RETURN_IF_ERROR(ForEachTrial(store_, {.job_id = job.row.id, .states = open}, [&](const TrialRow& trial) {
    const size_t task = index.at(trial.task_id);
    OpenTrialOf(job, task, trial);
    if (trial.final_round > 0) {
      job.finals[task].is_adopting = true;
      return;
    }
    ++job.plan.task(task).open;
    if (trial.state == TrialState::kProposed) job.proposed.push_back(trial.id);
    needed.insert(task);
  }));
  for (const size_t task : needed) {
    ++job.preparing;
    job.search->Prepare(task);
  }
  for (size_t task = 0; task < job.finals.size(); ++task) {
    if (!job.finals[task].is_adopting) continue;
    ++job.preparing;
    job.finals[task].phase = FinalsView::Phase::kAsked;
    job.search->ChooseFinalists(task);
  }
  adopted_workers_.clear();  // Builds of this job may be with workers that are known already.
  return OkStatus();
}

void FarmCore::OpenTrialOf(Job& job, size_t task, const TrialRow& row) {
  OpenTrial& open = AddOpen(job, row.id, task, row.trace_digest, row.state);
  open.since = Now();
  open.is_final = row.final_round > 0;
  open.module = row.module_digest;
  if (open.module) ports_.Pin(*open.module);
  if (open.state == TrialState::kBuilding) build_due_.Set(row.id, open.since + BuildPatience());
}

FarmCore::OpenTrial& FarmCore::AddOpen(Job& job, int64_t trial_id, size_t task, const Digest& trace, TrialState state) {
  const auto [it, is_new] = job.open.try_emplace(trial_id);
  OpenTrial& open = it->second;
  if (!is_new) --job.in_state[static_cast<size_t>(open.state)];
  ++job.in_state[static_cast<size_t>(state)];
  open.task = task;
  open.trace_digest = trace;
  open.state = state;
  job_of_trial_[trial_id] = job.row.id;
  return open;
}

void FarmCore::NoteState(Job& job, int64_t trial_id, OpenTrial& open, TrialState state) {
  --job.in_state[static_cast<size_t>(open.state)];
  ++job.in_state[static_cast<size_t>(state)];
  open.state = state;
  open.since = Now();
  const bool is_built = state == TrialState::kBuilding;
  build_due_.Set(trial_id, is_built ? std::optional(open.since + BuildPatience()) : std::nullopt);
}

void FarmCore::NoteMeasuredNow(int64_t trial_id, bool is_measured) {
  Job* job = JobOfTrial(trial_id);
  if (job == nullptr) return;
  OpenTrial& open = job->open.at(trial_id);
  if (std::exchange(open.is_measured_now, is_measured) != is_measured) job->measured_now += is_measured ? 1 : -1;
}

void FarmCore::OnSearching(int64_t job_id, bool is_busy) {
  if (const auto it = jobs_.find(job_id); it != jobs_.end()) it->second.is_searching = is_busy;
}

void FarmCore::OnSearchBroken(int64_t job_id, const Status& why) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  job.broken = why.message();
  job.is_searching = false;
  job.preparing = 0;
  job.prepare_again.clear();
  job.choose_again.clear();
  job.plan.AbandonRound();
  for (size_t task = 0; task < job.tasks.size(); ++task) {
    if (job.failures[task].empty()) CloseTask(job, task, why);
    FinalsView& finals = job.finals[task];
    if (finals.phase == FinalsView::Phase::kAsked) finals.phase = FinalsView::Phase::kOver;
  }
}

void FarmCore::OnPrepared(int64_t job_id, size_t index, StatusOr<PreparedTask> prepared) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  const bool is_farms_own =
      IsFarmsOwn(job, prepared.status(), fmt::format("prepare task \"{}\"", job.tasks[index].name));
  if (is_farms_own && HasTrialsOf(job, index)) {
    job.prepare_again.insert(index);
    return;
  }
  job.preparing = std::max(0, job.preparing - 1);
  if (is_farms_own) return;  // It is prepared when its turn comes again.
  if (!prepared.ok()) return CloseTask(job, index, prepared.status());
  TaskStanding& task = job.plan.task(index);
  task.flops = prepared->flops;
  task.best_ns = prepared->best_ns;
  task.untuned_ns = prepared->untuned_ns;
  job.prepared[index] = *std::move(prepared);
  ports_.Pin(job.prepared[index]->measurement.reference.blob);
  if (store_.SetTaskState(job.tasks[index].id, JobState::kRunning).ok()) job.tasks[index].state = JobState::kRunning;
}

// A full disk, a builder that somebody killed: trouble, which says nothing about the task. Whatever failed is tried
// again at retry_at.
bool FarmCore::IsFarmsOwn(Job& job, const Status& status, std::string_view what) {
  const bool is_farms_own = IsWorthRetrying(status.code());
  if (is_farms_own) job.retry_at = Now() + kRetryAfter;
  if (is_farms_own || status.ok()) Check(status, what);
  return is_farms_own;
}

bool FarmCore::HasTrialsOf(const Job& job, size_t task) const {
  return std::ranges::any_of(job.open, [&](const auto& entry) { return entry.second.task == task; });
}

void FarmCore::AskSearchAgain(Job& job) {
  for (const size_t task : std::exchange(job.prepare_again, {})) job.search->Prepare(task);
  for (const size_t task : std::exchange(job.choose_again, {})) job.search->ChooseFinalists(task);
}

// The task cannot be tuned: it ends, the others go on.
void FarmCore::CloseTask(Job& job, size_t index, const Status& why) {
  job.failures[index] = why.message();
  job.plan.CloseTask(index);
  ports_.Log(fmt::format("task \"{}\": {}", job.tasks[index].name, why.message()));
  std::vector<int64_t> trials;
  for (const auto& [id, open] : job.open) {
    if (open.task == index) trials.push_back(id);
  }
  DropTrials(job, trials);
  CancelInStore(trials);
}

// The store has cancelled them, or is about to.
void FarmCore::DropTrials(Job& job, const std::vector<int64_t>& trials) {
  (void)workers_.Withdraw(trials);
  for (const int64_t trial : trials) EndTrial(job, trial, TrialState::kCancelled, std::nullopt);
}

void FarmCore::CancelInStore(const std::vector<int64_t>& trials) {
  Perform("cancel trials of a task", [this, trials] { return store_.CancelTrials(trials); });
}

void FarmCore::OnProposed(int64_t job_id, size_t index, StatusOr<std::vector<ProposedTrial>> proposed) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  if (!proposed.ok()) {
    const bool is_closed = job.plan.tasks()[index].is_closed;
    job.plan.RoundEnded(index, 0);
    job.plan.task(index).is_closed = is_closed;  // The store's trouble says nothing about the space.
    if (is_closed || !job.failures[index].empty()) return;
    if (job.prepared[index]) Check(proposed.status(), "propose trials");  // Else what kept it from being prepared.
    job.retry_at = Now() + kRetryAfter;
    return;
  }
  troubles_.Succeeded("propose trials");
  if (!job.failures[index].empty()) {  // The task was closed while it was searched.
    job.plan.RoundEnded(index, 0);
    std::vector<int64_t> trials;
    for (const ProposedTrial& trial : *proposed) trials.push_back(trial.trial_id);
    return CancelInStore(trials);
  }
  job.plan.RoundEnded(index, static_cast<int64_t>(proposed->size()));
  for (const ProposedTrial& trial : *proposed) {
    AddOpen(job, trial.trial_id, index, trial.trace_digest, TrialState::kProposed).times.proposed = Now();
    job.proposed.push_back(trial.trial_id);
  }
}

// ---- Going on.

int64_t FarmCore::CountOpen(const Job& job, std::initializer_list<TrialState> states) const {
  int64_t count = 0;
  for (const TrialState state : states) count += job.in_state[static_cast<size_t>(state)];
  return count;
}

void FarmCore::Advance(Job& job) {
  if (job.retry_at && *job.retry_at <= Now()) job.retry_at.reset();
  KeepTime(job);
  const bool may_act = !job.retry_at;
  if (may_act) AskSearchAgain(job);
  if (may_act && job.preparing == 0) {
    if (!std::exchange(job.has_its_leases, true)) TakeLeasesBack(job);
    Release(job);
    BeginRound(job);
  }
  const bool may_end = may_act && (job.preparing == 0 || job.has_timed_out);
  const bool is_over = may_end && job.plan.IsOver() && AdvanceFinals(job);
  UpdateDemand(job);
  NoteWaiting(job);
  job.activity.Set(job.measured_now, static_cast<int>(CountOpen(job, {TrialState::kBuilding})),
                   job.is_searching ? 1 : 0, Now());
  if (is_over) Finish(job);
}

// Hands candidates to the workers one by one, so that what is learned meanwhile can still change what comes next.
void FarmCore::Release(Job& job) {
  if (const auto trouble = troubles_.Worst(Now()); trouble && trouble->lasts >= kHoldBackAfter) return;
  const int limit = InflightLimit(job.devices, workers_.TotalSlots());
  const auto under_way = static_cast<int64_t>(job.open.size() - job.proposed.size());
  std::vector<AttemptFence> next;
  for (const int64_t trial : job.proposed)
    if (under_way + static_cast<int64_t>(next.size()) < limit) next.push_back({.trial_id = trial});
  if (next.empty()) return;
  const std::vector<StatusOr<bool>> released = store_.AdvanceTrials(next, TrialState::kBuildQueued);
  for (size_t i = 0; i < next.size(); ++i) {
    if (!NoteReleased(job, next[i].trial_id, released[i])) return;
  }
}

// False: the store could not.
bool FarmCore::NoteReleased(Job& job, int64_t trial, const StatusOr<bool>& released) {
  if (!Check(released.status(), "release a trial")) {
    job.retry_at = Now() + kRetryAfter;
    return false;
  }
  std::erase(job.proposed, trial);
  const auto open = job.open.find(trial);
  if (!*released) {  // Its time was up between the search's finding it and our hearing of it: it is cancelled.
    RefreshTrial(trial);
  } else if (open != job.open.end()) {
    open->second.times.build_queued = Now();
    SetTrialState(job, trial, TrialState::kBuildQueued);
  }
  return true;
}

void FarmCore::BeginRound(Job& job) {
  // Searched ahead, so that workers and devices have something while the next candidates are being looked for.
  if (job.plan.IsRoundOpen() || static_cast<int>(job.proposed.size()) > std::max(2, workers_.TotalSlots())) return;
  for (size_t task = 0; task < job.tasks.size(); ++task) job.plan.task(task).floor_ns = FloorOf(job, task);
  const std::optional<JobPlan::Round> round = job.plan.NextRound(job.devices);
  if (!round) return;
  if (!job.prepared[round->task]) job.search->Prepare(round->task);
  job.search->Propose(round->task, round->count);
}

void FarmCore::KeepTime(Job& job) {
  const Duration limit = job.spec.time_limit;
  // Nothing is proposed any more; finals that have begun by then have begun because there was time for them.
  const bool has_begun = std::ranges::any_of(job.finals, &FinalsView::is_asked);
  if (!has_begun && TimeIsUp(job, job.has_timed_out, limit - limit / kFinalsShare)) job.plan.StopProposing();
  if (TimeIsUp(job, job.are_finals_timed_out, limit)) job.has_timed_out = true;
}

// True once, when `after` is over since the job was taken up: what waits then is cancelled.
bool FarmCore::TimeIsUp(Job& job, bool& flag, Duration after) {
  const bool is_over = job.spec.time_limit > Duration(0) && Now() - job.taken_up >= after;
  if (!is_over || flag || job.retry_at) return false;
  const StatusOr<std::vector<int64_t>> cancelled = store_.CancelWaitingTrials(job.row.id);
  if (!Check(cancelled.status(), "end a job's time")) {
    job.retry_at = Now() + kRetryAfter;
    return false;
  }
  flag = true;
  for (const int64_t trial : *cancelled) {
    if (job.open.contains(trial)) EndTrial(job, trial, TrialState::kCancelled, std::nullopt);
  }
  return true;
}

void FarmCore::UpdateDemand(Job& job) {
  JobDemand demand{.wish = job.wish};
  if (job.preparing == 0) {
    demand.claimable = CountOpen(job, {TrialState::kMeasureQueued});
    demand.coming =
        CountOpen(job, {TrialState::kProposed, TrialState::kBuildQueued, TrialState::kBuilding, TrialState::kBuilt});
    const bool are_finals_over = std::ranges::all_of(job.finals, &FinalsView::is_over);
    demand.coming += job.plan.IsRoundOpen() || !are_finals_over ? 1 : 0;
  }
  desk_.SetDemand(job.row.id, std::move(demand));
}

// Why nobody builds what waits to be built; empty: somebody does, or will.
std::string FarmCore::WhyNotBuilt(const Job& job) const {
  if (CountOpen(job, {TrialState::kBuildQueued}) == 0) return "";
  const std::vector<std::string> workers = workers_.Names();
  if (workers.empty()) return "a worker: none is connected; start one with `lathe worker --connect HOST:PORT`";
  const CodegenVersion version = job.tasks.front().key.codegen_version;
  const auto wanted = static_cast<uint32_t>(version.llvm_major * 1000 + version.revision);
  const bool has_one =
      std::ranges::any_of(workers, [&](const std::string& name) { return workers_.CodegenVersion(name) == wanted; });
  return has_one ? ""
                 : fmt::format(
                       "a worker of code generator {}.{}: those connected have another; start one of the server's "
                       "release",
                       version.llvm_major, version.revision);
}

void FarmCore::NoteWaiting(Job& job) {
  const std::optional<std::string> request = desk_.WaitingRequest(job.row.id);
  std::string why = request && desk_.LeasesOf(job.row.id) == 0 ? tracker_->WhyWaiting(*request) : "";
  if (why.empty()) why = WhyNotBuilt(job);
  if (why.empty()) {
    job.waits_since.reset();
    if (!job.waits_for.empty())
      Check(store_.SetJobState(job.row.id, JobState::kRunning, ""), "note what a job waits for");
    job.waits_for.clear();
    return;
  }
  if (!job.waits_since) job.waits_since = Now();
  job.is_wait_told = job.waits_for == why;
  if (Now() - *job.waits_since < kSayWaitingAfter || job.is_wait_told) return;
  job.waits_for = why;
  job.is_wait_told = true;
  Check(store_.SetJobState(job.row.id, JobState::kRunning, why), "note what a job waits for");
  job.waits_since = Now();
}

// ---- Trials.

FarmCore::Job* FarmCore::JobOfTrial(int64_t trial_id) {
  const auto job_id = job_of_trial_.find(trial_id);
  if (job_id == job_of_trial_.end()) return nullptr;
  const auto it = jobs_.find(job_id->second);
  return it == jobs_.end() || !it->second.open.contains(trial_id) ? nullptr : &it->second;
}

const FarmCore::OpenTrial* FarmCore::FindOpen(int64_t trial_id) const {
  const auto job_id = job_of_trial_.find(trial_id);
  if (job_id == job_of_trial_.end()) return nullptr;
  const auto job = jobs_.find(job_id->second);
  if (job == jobs_.end()) return nullptr;
  const auto open = job->second.open.find(trial_id);
  return open == job->second.open.end() ? nullptr : &open->second;
}

void FarmCore::SetTrialState(Job& job, int64_t trial_id, TrialState state) {
  if (IsTerminal(state)) return EndTrial(job, trial_id, state, std::nullopt);
  OpenTrial& open = job.open.at(trial_id);
  const TrialState former = open.state;
  if (former != state) NoteState(job, trial_id, open, state);
  if (former == TrialState::kBuilding && state != TrialState::kBuilding) LeaveBuild(trial_id);
}

void FarmCore::RefreshTrial(int64_t trial_id) {
  Job* job = JobOfTrial(trial_id);
  if (job == nullptr) return;
  const StatusOr<TrialRow> row = store_.GetTrial(trial_id);
  if (Check(row.status(), "look up a trial")) SetTrialState(*job, trial_id, row->state);
}

void FarmCore::RefreshGivenTrials() {
  std::vector<int64_t> given;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [trial, open] : job.open) {
      if (open.state == TrialState::kBuilding || open.state == TrialState::kAssigned ||
          open.state == TrialState::kRunning)
        given.push_back(trial);
    }
  }
  for (const int64_t trial : given) RefreshTrial(trial);
}

int64_t FarmCore::CountBudget(Job& job, size_t index) {
  const TaskRow& task = job.tasks[index];
  const StatusOr<TaskCounts> own = store_.CountTrials(task.id);
  if (!Check(own.status(), "count trials")) return job.plan.tasks()[index].counted;
  if (job.spec.is_fresh || job.distrusted.contains(index)) return own->trials_done;
  const StatusOr<int64_t> measured = store_.CountMeasured(task.key);
  if (!Check(measured.status(), "count trials")) return job.plan.tasks()[index].counted;
  // Trials that failed for reasons of the farm left no record, but cost what they cost.
  return *measured + own->by_state[static_cast<size_t>(TrialState::kInfraFailed)];
}

void FarmCore::EndTrial(Job& job, int64_t trial_id, TrialState outcome, const std::optional<Timings>& timings) {
  const auto it = job.open.find(trial_id);
  if (it == job.open.end()) return;
  NoteMeasuredNow(trial_id, false);
  const OpenTrial open = it->second;
  job.open.erase(it);
  job_of_trial_.erase(trial_id);
  --job.in_state[static_cast<size_t>(open.state)];
  build_due_.Clear(trial_id);
  std::erase(job.proposed, trial_id);
  LeaveBuild(trial_id);
  if (open.module) ports_.Unpin(*open.module);
  if (open.is_final) return job.finals[open.task].Ended(open.trace_digest, outcome, timings);
  if (!SpendsBudget(outcome)) return job.plan.TrialDropped(open.task);
  ++job.measured;
  job.failed += HasTimings(outcome) ? 0 : 1;
  const bool is_untuned = job.prepared[open.task] && open.trace_digest == job.prepared[open.task]->untuned_trace;
  const std::optional<double> median_ns = timings ? std::optional(timings->median_ns) : std::nullopt;
  job.plan.TrialEnded(open.task, outcome, median_ns, is_untuned, CountBudget(job, open.task));
  if (!HasRecord(outcome)) return;
  MeasuredCandidate measured{.trace_digest = open.trace_digest};
  if (median_ns) {
    measured.outcome =
        outcome == TrialState::kCensored ? MeasuredCandidate::Outcome::kCensored : MeasuredCandidate::Outcome::kTimed;
    measured.median_ns = *median_ns;
  }
  const StatusOr<TrialRow> row = store_.GetTrial(trial_id);
  if (row.ok()) measured.trace_json = row->trace_json;
  job.search->Observe(open.task, std::move(measured));
}

// ---- The end.

std::string FarmCore::Explain(Job& job) {
  struct Reason {
    int count = 0;
    std::string words;  // Of the first.
  };
  std::map<std::string, Reason> reasons;
  const auto add = [&](const std::string& words) {
    Reason& reason = reasons[WithoutNumbers(words)];
    if (reason.count++ == 0) reason.words = words;
  };
  for (const std::string& failure : job.failures) {
    if (!failure.empty()) add(failure);
  }
  (void)ForEachTrial(store_, {.job_id = job.row.id}, [&](const TrialRow& trial) {
    if (SpendsBudget(trial.state) && !HasTimings(trial.state)) add(ReasonOf(trial));
  });
  std::vector<std::pair<int, std::string>> ordered;
  for (const auto& [key, reason] : reasons) ordered.emplace_back(-reason.count, reason.words);
  std::sort(ordered.begin(), ordered.end());
  std::string text = "no candidate could be timed";
  for (size_t i = 0; i < std::min(ordered.size(), kReasonsShown); ++i)
    text += fmt::format("; {} x {}", -ordered[i].first, ordered[i].second);
  return text;
}

void FarmCore::Finish(Job& job) {
  std::vector<TuningKey> keys;
  for (const TaskRow& task : job.tasks) keys.push_back(task.key);
  const StatusOr<std::vector<BestAnswer>> best = store_.QueryBest(keys);
  if (!Check(best.status(), "finish a job")) {
    job.retry_at = Now() + kRetryAfter;
    return;
  }
  bool any = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool is_known = (*best)[i].lookup == Lookup::kHit;
    any |= is_known;
    if (IsTerminal(job.tasks[i].state)) continue;
    const bool was_tried = job.plan.tasks()[i].counted > 0 || !job.failures[i].empty();
    const JobState state = is_known && !job.broken ? JobState::kDone
                           : was_tried             ? JobState::kFailed
                                                   : JobState::kCancelled;
    Check(store_.SetTaskState(job.tasks[i].id, state), "finish a task");
  }
  if (job.has_timed_out)
    Check(store_.CancelWaitingTrials(job.row.id).status(), "finish a job");  // What the search found since.
  const std::string ended = job.has_timed_out ? "its time was up" : fmt::format("{}", fmt::join(job.remarks, "; "));
  any &= !job.broken;
  const std::string detail = job.broken ? *job.broken : any ? ended : Explain(job);
  if (!Check(store_.SetJobState(job.row.id, any ? JobState::kDone : JobState::kFailed, detail), "finish a job")) {
    job.retry_at = Now() + kRetryAfter;
    return;
  }
  job.row.state = any ? JobState::kDone : JobState::kFailed;
  job.row.detail = detail;
  Forget(job.row.id);
}

void FarmCore::Forget(int64_t job_id) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  if (StatusOr<JobProgress> progress = Progress(job_id); progress.ok()) ended_[job_id] = *std::move(progress);
  while (ended_.size() > kEndedKept) ended_.erase(ended_.begin());
  for (const auto& prepared : job.prepared) {
    if (prepared) ports_.Unpin(prepared->measurement.reference.blob);
  }
  for (const FinalsView& finals : job.finals) {
    if (finals.is_under_way()) ports_.Unpin(finals.measurement.reference.blob);
  }
  desk_.EndJob(job_id);
  ports_.EndSearch(std::move(job.search));
  jobs_.erase(it);
  ports_.OnJobLeft(job_id);
  looks_again_ |= !waiting_.empty();
}

StatusOr<JobProgress> FarmCore::Progress(int64_t job_id) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) {
    if (const auto ended = ended_.find(job_id); ended != ended_.end()) return ended->second;
    ASSIGN_OR_RETURN(JobRow row, store_.GetJob(job_id));
    JobProgress progress{.row = std::move(row)};
    if (const auto waits = std::ranges::find(waiting_, job_id); waits != waiting_.end())
      progress.waits_for =
          fmt::format("its turn: {} jobs are at work, {} wait before it", jobs_.size(), waits - waiting_.begin());
    return progress;
  }
  const Job& job = it->second;
  const Trouble trouble = troubles_.Worst(Now()).value_or(Trouble{});
  return JobProgress{.row = job.row,
                     .tasks = job.plan.tasks(),
                     .measured = job.measured,
                     .failed = job.failed,
                     .is_deciding = std::ranges::any_of(job.finals, &FinalsView::is_under_way),
                     .waits_for = job.waits_for,
                     .trouble = trouble.words,
                     .trouble_lasts = trouble.lasts,
                     .shares = job.activity.Shares(Now()),
                     .latencies = job.latencies};
}

}  // namespace lathe
