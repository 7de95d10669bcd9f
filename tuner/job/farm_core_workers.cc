// The core's dealings with workers.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/job/farm_core.h"
#include "tuner/job/synchronize_check.h"
#include "tuner/measure/golden.h"

namespace lathe {
namespace {

constexpr Duration kLongestWait = std::chrono::seconds(30);

v1::BuildTask MakeBuildTask(const TuningKey& key, const TrialRow& trial, uint32_t kernel_abi, bool may_spill,
                            const FarmCoreOptions& options) {
  v1::BuildTask build;
  build.set_trial_id(trial.id);
  build.set_attempt(static_cast<int32_t>(trial.attempt));
  build.set_workload(std::string(key.workload.raw()));
  build.set_trace_json(trial.trace_json);
  build.set_target(key.target);
  build.set_time_limit_ns(options.build_time_limit.count());
  build.set_kernel_abi(kernel_abi);
  build.set_may_spill(may_spill);
  return build;
}

}  // namespace

void FarmCore::Synchronize(const v1::SynchronizeRequest& request, Answer answer) {
  if (const Status status = CheckSynchronizeRequest(request); !status.ok()) return answer(status);
  const std::string& worker = request.worker().name();
  if (is_draining_) return answer(Status(Unavailable("synchronize: the coordinator is stopping; ask again")));
  if (adopted_workers_.insert(worker).second) AdoptBuilds(worker);
  const StatusOr<WorkerTable::Heard> known = workers_.Hear(request, Now());
  if (!known.ok()) return answer(known.status());
  const WorkerTable::Heard& heard = *known;
  for (const auto& [trial, attempt] : heard.started) {
    if (Job* job = JobOfTrial(trial)) job->open.at(trial).times.build_started = Now();
  }
  TakeBuilds(worker, heard.finished);
  for (const v1::BuildTask& task : heard.undeliverable) {
    if (task.trial_id() < 0) {
      workers_.Done(worker, task.trial_id(), task.attempt());
      goldens_.Failed(task.trial_id(), Now());
      continue;
    }
    const auto failed = store_.FailAttempt({task.trial_id(), task.attempt()}, InfraFailure::kWorkerLost,
                                           fmt::format("worker {} never took it", worker));
    if (!Check(failed.status(), "give up a build")) continue;
    workers_.Done(worker, task.trial_id(), task.attempt());
    RefreshTrial(task.trial_id());
  }
  AnswerPoll(worker);  // A newer declaration ends the wait of the former call.
  const Duration wait = std::clamp(Duration(request.wait_ns()), Duration(0), kLongestWait);
  polls_[worker].push_back({std::move(answer), Now() + wait});
}

// What the store says this worker is building, from before this process or the worker's last silence.
void FarmCore::AdoptBuilds(const std::string& worker) {
  std::vector<TrialRow> building;
  const Status listed = ForEachTrial(store_, {.states = {TrialState::kBuilding}}, [&](const TrialRow& trial) {
    if (trial.worker == worker) building.push_back(trial);
  });
  if (!Check(listed, "look up builds")) return;
  for (const TrialRow& trial : building) {
    if (const Job* job = JobOfTrial(trial.id)) SendBuild(*job, job->open.at(trial.id).task, worker, trial);
  }
}

void FarmCore::SendBuild(const Job& job, size_t task, const std::string& worker, const TrialRow& trial) {
  const TuningKey& key = job.tasks[task].key;
  const bool is_untuned = job.prepared[task] && job.prepared[task]->untuned_trace == trial.trace_digest;
  v1::BuildTask build = MakeBuildTask(key, trial, classes_[key.device_class].kernel_abi, is_untuned, options_);
  if (builds_.Begin(build, left_builds_))
    workers_.Assign(worker, std::move(build));
  else
    ++counters_.builds_merged;
}

void FarmCore::TakeBuilds(const std::string& worker, const std::vector<v1::BuildState>& states) {
  std::vector<BuildReport> reports;
  for (const v1::BuildState& state : states) {
    if (state.trial_id() < 0) {
      TakeGoldenBuild(worker, state);
      continue;
    }
    if (auto report = ReportOf(worker, state)) reports.push_back(*std::move(report));
  }
  const std::vector<std::optional<CommitAnswer>> answers = CommitBuilds(reports);
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!answers[i]) continue;  // The worker declares it again.
    workers_.Done(worker, reports[i].trial_id, static_cast<int32_t>(reports[i].attempt));
    ShareBuild(reports[i]);
    NoteBuilt(reports[i], *answers[i]);
  }
}

std::optional<BuildReport> FarmCore::ReportOf(const std::string& worker, const v1::BuildState& state) {
  BuildReport report{.trial_id = state.trial_id(), .attempt = state.attempt()};
  const bool is_worker_well = state.has_artifact() || state.failure().error_class() != v1::BUILD_ERROR_CLASS_WORKER;
  Check(is_worker_well ? OkStatus() : Unavailable(state.failure().message()), "build at worker " + worker);
  const StatusOr<Digest> digest = Digest::FromBytes(state.artifact().digest());
  const bool is_lost = state.has_artifact() && !(digest.ok() && ports_.HasBlob(*digest, state.artifact().size()));
  if (is_lost || !is_worker_well) {
    const auto failed = store_.FailAttempt({report.trial_id, report.attempt},
                                           is_lost ? InfraFailure::kArtifactLost : InfraFailure::kOther,
                                           is_lost ? "the worker did not store it" : state.failure().message());
    if (!Check(failed.status(), "commit a build")) return std::nullopt;  // The worker declares it again.
    ++counters_.failed_attempts[is_lost ? InfraFailure::kArtifactLost : InfraFailure::kOther];
    workers_.Done(worker, state.trial_id(), state.attempt());
    if (Job* job = JobOfTrial(report.trial_id); job != nullptr && failed->ack == Ack::kAccepted)
      SetTrialState(*job, report.trial_id, failed->trial_state);
    return std::nullopt;
  }
  if (state.has_artifact()) {
    troubles_.Succeeded("store an artifact");
    report.outcome = BuiltArtifact{*digest, state.artifact().size()};
  } else {
    const bool is_timeout = state.failure().error_class() == v1::BUILD_ERROR_CLASS_TIMEOUT;
    report.outcome =
        BuildFailure{is_timeout ? TrialState::kBuildTimeout : TrialState::kBuildError, state.failure().message()};
    report.environment = fmt::format("{{\"worker\":\"{}\"}}", worker);
  }
  return report;
}

std::vector<std::optional<CommitAnswer>> FarmCore::CommitBuilds(const std::vector<BuildReport>& reports) {
  std::vector<std::optional<CommitAnswer>> answers(reports.size());
  if (reports.empty()) return answers;
  const std::vector<StatusOr<CommitAnswer>> committed = store_.CommitBuilds(reports, TrialState::kMeasureQueued);
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!Check(committed[i].status(), "commit a build")) continue;
    const auto* failure = std::get_if<BuildFailure>(&reports[i].outcome);
    ++counters_.builds[failure != nullptr ? failure->outcome : TrialState::kBuilt];
    answers[i] = *committed[i];
  }
  return answers;
}

// What the trial's build became, if it still is the one that was asked for.
void FarmCore::NoteBuilt(const BuildReport& report, const CommitAnswer& answer) {
  Job* job = JobOfTrial(report.trial_id);
  if (job == nullptr || answer.ack != Ack::kAccepted) return;
  OpenTrial& open = job->open.at(report.trial_id);
  open.times.built = Now();
  if (const auto* artifact = std::get_if<BuiltArtifact>(&report.outcome)) {
    if (open.module) ports_.Unpin(*open.module);
    open.module = artifact->module_digest;
    ports_.Pin(*open.module);
  }
  SetTrialState(*job, report.trial_id, answer.trial_state);
}

// Those that waited for it are built as well. One that took too long may have been in a hurry of its worker's: they try
// for themselves.
void FarmCore::ShareBuild(const BuildReport& report) {
  const auto* failure = std::get_if<BuildFailure>(&report.outcome);
  const std::vector<BuildOf> waiting = builds_.Ended(report.trial_id);
  if (failure != nullptr && failure->outcome == TrialState::kBuildTimeout) {
    left_builds_.insert(left_builds_.end(), waiting.begin(), waiting.end());
    return;
  }
  std::vector<BuildReport> own(waiting.size(), report);
  for (size_t i = 0; i < own.size(); ++i) {
    own[i].trial_id = waiting[i].trial_id;
    own[i].attempt = waiting[i].attempt;
  }
  const std::vector<std::optional<CommitAnswer>> answers = CommitBuilds(own);
  for (size_t i = 0; i < own.size(); ++i) {
    if (answers[i])
      NoteBuilt(own[i], *answers[i]);
    else
      left_builds_.push_back(waiting[i]);
  }
}

// A trial is not being built any more, and nothing is known of its module.
void FarmCore::LeaveBuild(int64_t trial_id) {
  const std::vector<BuildOf> waiting = builds_.Ended(trial_id);
  left_builds_.insert(left_builds_.end(), waiting.begin(), waiting.end());
  looks_again_ |= !waiting.empty();
}

// To the workers that claimed them. One that is gone takes them with it.
void FarmCore::SendLeftBuilds() {
  for (const BuildOf& build : std::exchange(left_builds_, {})) {
    const Job* job = JobOfTrial(build.trial_id);
    if (job == nullptr) continue;
    const StatusOr<TrialRow> trial = store_.GetTrial(build.trial_id);
    if (!Check(trial.status(), "look up a trial")) {
      left_builds_.push_back(build);
      continue;
    }
    if (trial->state == TrialState::kBuilding && trial->attempt == build.attempt && workers_.Knows(trial->worker))
      SendBuild(*job, job->open.at(build.trial_id).task, trial->worker, *trial);
  }
}

void FarmCore::AssignBuilds() {
  SendLeftBuilds();
  for (bool has_assigned = true; has_assigned;) {
    has_assigned = false;
    std::vector<std::string> asking;  // A worker that does not ask just now gets its tasks when it does.
    for (const auto& [worker, polls] : polls_)
      if (!polls.empty() && workers_.Capacity(worker) > 0) asking.push_back(worker);
    for (const std::string& worker : asking)
      has_assigned |= AssignGolden(worker) || AssignSome(worker, static_cast<int64_t>(asking.size()));
  }
}

// The oldest waiting trials of the next job in turn: its share of what the worker can take, the worker's of what waits.
bool FarmCore::AssignSome(const std::string& worker, int64_t workers) {
  std::vector<int64_t> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (size_t step = 0; step < ids.size(); ++step) {
    const size_t turn = (next_job_ + step) % ids.size();
    Job& job = jobs_.at(ids[turn]);
    const int64_t waiting = CountOpen(job, {TrialState::kBuildQueued});
    if (waiting == 0 || (job.retry_at && *job.retry_at > Now())) continue;
    const CodegenVersion version = job.tasks.front().key.codegen_version;
    if (workers_.CodegenVersion(worker) != static_cast<uint32_t>(version.llvm_major * 1000 + version.revision))
      continue;
    const int64_t share =
        std::min<int64_t>(workers_.Capacity(worker) / static_cast<int64_t>(ids.size()), waiting / workers);
    const auto claimed = store_.ClaimBuilds(worker, 0, {.job_id = ids[turn]}, std::max<int64_t>(share, 1));
    if (!Check(claimed.status(), "claim a build") || claimed->empty()) {
      job.retry_at = Now() + std::chrono::milliseconds(200);  // It waits for its time after a failure.
      continue;
    }
    for (const TrialRow& trial : *claimed) TakeForBuild(job, worker, trial);
    next_job_ = turn + 1;
    return true;
  }
  return false;
}

void FarmCore::TakeForBuild(Job& job, const std::string& worker, const TrialRow& trial) {
  const auto open = job.open.find(trial.id);
  if (open == job.open.end()) return;
  SetTrialState(job, trial.id, TrialState::kBuilding);
  SendBuild(job, open->second.task, worker, trial);
}

// One more may be before it in its slot, and its artifact has to be stored.
Duration FarmCore::BuildPatience() const { return 2 * options_.build_time_limit + std::chrono::seconds(60); }

// A worker that is heard, declares its task, and never comes to an end with it.
void FarmCore::GiveUpStalledBuilds() {
  for (const int64_t trial : build_due_.TakeDue(Now())) {
    build_due_.Set(trial, Now() + BuildPatience());  // If the store cannot do it now, then after as long again.
    const StatusOr<TrialRow> row = store_.GetTrial(trial);
    if (!Check(row.status(), "look up a trial")) continue;
    const std::string words = fmt::format("worker {} did not come to an end with it in {} s", row->worker,
                                          BuildPatience() / std::chrono::seconds(1));
    const auto failed = store_.FailAttempt({trial, row->attempt}, InfraFailure::kOther, words);
    if (!Check(failed.status(), "give up a build")) continue;
    ports_.Log(fmt::format("trial {}: {}", trial, words));
    (void)workers_.Withdraw({trial});
    RefreshTrial(trial);
  }
}

void FarmCore::TurnWorkersAway() {
  for (auto& [worker, polls] : polls_) {
    for (Poll& poll : polls) poll.answer(Status(Unavailable("synchronize: the coordinator is stopping; ask again")));
  }
  polls_.clear();
}

void FarmCore::AnswerPolls() {
  std::vector<std::string> due;
  for (const auto& [worker, polls] : polls_) {
    const bool is_due =
        std::any_of(polls.begin(), polls.end(), [&](const Poll& poll) { return poll.deadline <= Now(); });
    if (!polls.empty() && (is_due || workers_.HasNews(worker))) due.push_back(worker);
  }
  for (const std::string& worker : due) AnswerPoll(worker);
}

void FarmCore::AnswerPoll(const std::string& worker) {
  std::vector<Poll> polls = std::exchange(polls_[worker], {});
  if (polls.empty()) return;
  std::vector<std::string> needed;
  v1::SynchronizeResponse response = workers_.Answer(worker, needed);
  for (const std::string& raw : needed) {
    const StatusOr<Digest> digest = Digest::FromBytes(raw);
    if (!digest.ok()) continue;
    const StatusOr<Workload> workload =
        *digest == Golden().workload.digest ? StatusOr<Workload>(Golden().workload) : store_.GetWorkload(*digest);
    if (!Check(workload.status(), "read a workload")) continue;
    v1::WorkloadText& text = *response.add_workloads();
    text.set_digest(raw);
    text.set_text(workload->text);
  }
  for (Poll& poll : polls) poll.answer(response);
}

}  // namespace lathe
