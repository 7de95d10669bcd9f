#include "cli/tune_job.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "cli/interrupts.h"
#include "cli/place.h"
#include "cli/remote_job.h"
#include "cli/time_text.h"
#include "support/digest.h"
#include "support/status_macros.h"
#include "tuner/database/owner_lock.h"
#include "tuner/service/farm_server.h"
#include "tuner/service/unix_socket.h"

namespace lathe {
namespace {

constexpr Duration kShowEvery = std::chrono::milliseconds(500);
constexpr Duration kTryEvery = std::chrono::milliseconds(100);
constexpr Duration kTroublePatience = std::chrono::seconds(5);  // Somebody may be making room on a full disk.
constexpr Duration kSecondPress = std::chrono::milliseconds(700);
constexpr Duration kOwnerPatience = std::chrono::seconds(10);  // Until somebody who owns the database listens, or ends.

// Equal for what equal commands ask for; the rest of a request id is random.
std::string FingerprintOf(const JobRequest& request, const std::string& target) {
  std::string text = request.name + "\n" + request.device_key + "\n" + target + "\n" + request.spec.ToJson();
  for (const TaskRequest& task : request.tasks)
    text += fmt::format("\n{} {} {}", task.workload.digest.ToHex(), task.weight, task.trial_budget);
  return Sha256(text).ToHex().substr(0, 24);
}

std::string NewRequestId(const std::string& fingerprint) {
  std::random_device device;
  return fmt::format("{}-{:08x}{:08x}", fingerprint, device(), device());
}

// After the first interrupt: is there a second one?
bool IsPressedAgain() {
  return AwaitInterrupts(2, [] { return false; }, kSecondPress);
}

// True once the user wants to leave.
bool IsPressedWithin(Duration limit) {
  return AwaitInterrupts(1, [] { return false; }, limit);
}

// ---- Here.

bool AsksTheSame(Store& store, const JobRow& row, const JobRequest& request) {
  if (row.spec != request.spec.ToJson()) return false;
  const StatusOr<std::vector<TaskRow>> tasks = store.ListTasks(row.id);
  if (!tasks.ok() || tasks->size() != request.tasks.size()) return false;
  for (size_t i = 0; i < tasks->size(); ++i) {
    const TaskRow& task = (*tasks)[i];
    const TaskRequest& wanted = request.tasks[i];
    if (task.key != KeyFor(wanted.workload.digest, wanted.target, request.device_key) ||
        task.trial_budget != wanted.trial_budget)
      return false;
  }
  return true;
}

// The unfinished job of the same command, if there is one; else a new one.
StatusOr<int64_t> SubmitOrResume(Coordinator& coordinator, const JobRequest& request) {
  for (int64_t after = 0;;) {
    ASSIGN_OR_RETURN(const std::vector<JobRow> rows, coordinator.store().ListJobs({after, 1000}));
    for (const JobRow& row : rows) {
      if (IsTerminal(row.state) || !AsksTheSame(coordinator.store(), row, request)) continue;
      RETURN_IF_ERROR(coordinator.ResumeJob(row.id));
      return row.id;
    }
    if (rows.size() < 1000) break;
    after = rows.back().id;
  }
  ASSIGN_OR_RETURN(const CreatedJob created, coordinator.SubmitJob(request));
  const JobRow& job = created.job;
  return job.id;
}

void SayEstimate(Coordinator& coordinator, const JobRequest& request) {
  int64_t known = 0;
  for (const TaskRequest& task : request.tasks) {
    const StatusOr<int64_t> count =
        coordinator.store().CountMeasured(KeyFor(task.workload.digest, task.target, request.device_key));
    if (count.ok()) known += *count;
  }
  int64_t budget = 0;
  for (const TaskRequest& task : request.tasks) budget += task.trial_budget;
  if (request.spec.total_trials > 0) budget = std::min(budget, request.spec.total_trials);
  const int64_t rest = std::max<int64_t>(0, budget - (request.spec.is_fresh ? 0 : known));
  // A trial is a build and about 0.1 s of timing; what it really takes the display tells.
  double seconds = static_cast<double>(rest) * 0.2;
  if (request.spec.time_limit > Duration(0))
    seconds = std::min(seconds, std::chrono::duration<double>(request.spec.time_limit).count());
  std::fprintf(stderr, "%zu %s for %s: at most %lld trials to measure (%lld known already), very roughly %s\n",
               request.tasks.size(), request.tasks.size() == 1 ? "task" : "tasks", request.tasks[0].target.c_str(),
               static_cast<long long>(rest), static_cast<long long>(known), FormatSeconds(seconds).c_str());
}

StatusOr<TuneEnding> FollowHere(Coordinator& coordinator, int64_t job_id, ProgressDisplay& display) {
  std::atomic<bool> has_ended = false;
  const std::jthread watcher([&](const std::stop_token& stop) {
    has_ended = coordinator.WaitForJob(job_id, stop);
    WakeMainThread();
  });
  while (!AwaitInterrupts(1, [&] { return has_ended.load(); }, kShowEvery)) {
    const StatusOr<JobProgress> progress = coordinator.Progress(job_id);
    if (!progress.ok()) continue;
    display.Show(*progress, SystemClock().Now());
    if (progress->trouble_lasts < kTroublePatience) continue;
    display.Clear();
    return Status(ResourceExhausted(progress->trouble +
                                    "; stopped at the last committed trial, the same command goes on from here"));
  }
  if (has_ended) return TuneEnding::kJobEnded;
  coordinator.Drain();
  display.Say("stopping; press Ctrl-C again to cancel the job");
  if (!IsPressedAgain()) return TuneEnding::kInterrupted;
  (void)coordinator.CancelJob(job_id, "cancelled by the user");
  return TuneEnding::kCancelled;
}

StatusOr<TunedJob> TuneHere(std::unique_ptr<EmbeddedFarm> farm, const EmbeddedOptions& options,
                            const JobRequest& request, ProgressDisplay& display) {
  Coordinator& coordinator = farm->coordinator();
  const StatusOr<Endpoint> socket = OwnerEndpoint(options.database_path);
  std::unique_ptr<FarmServer> server;  // For others who would use the database meanwhile; without it they wait.
  if (socket.ok()) {
    StatusOr<std::unique_ptr<FarmServer>> started = FarmServer::Start(coordinator, {*socket});
    if (started.ok())
      server = *std::move(started);
    else
      options.log(started.status().message());
  }
  SayEstimate(coordinator, request);
  TunedJob job;
  ASSIGN_OR_RETURN(const int64_t job_id, SubmitOrResume(coordinator, request));
  ASSIGN_OR_RETURN(job.ending, FollowHere(coordinator, job_id, display));
  display.Clear();
  ASSIGN_OR_RETURN(job.progress, coordinator.Progress(job_id));
  ASSIGN_OR_RETURN(job.report, MakeJobReport(coordinator.store(), job_id));
  job.measured = job.progress->measured;
  server.reset();
  farm->Stop();
  job.farm = std::move(farm);
  return job;
}

// ---- On a server.

// The id of an unfinished job of the same command, else a new one.
StatusOr<std::string> ChooseRequestId(TuningApi& tuning, const std::string& fingerprint) {
  v1::ListJobsRequest request;
  request.set_page_size(1000);
  do {
    ASSIGN_OR_RETURN(const v1::ListJobsResponse page, tuning.ListJobs(request));
    for (const v1::Job& job : page.jobs()) {
      if (job.state() < v1::JOB_STATE_DONE && job.request_id().starts_with(fingerprint)) return job.request_id();
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return NewRequestId(fingerprint);
}

StatusOr<v1::Job> SubmitTo(TuningApi& tuning, JobRequest request, const std::string& target) {
  const std::string fingerprint = FingerprintOf(request, target);
  ASSIGN_OR_RETURN(request.request_id, ChooseRequestId(tuning, fingerprint));
  StatusOr<v1::SubmitJobResponse> response = tuning.SubmitJob(ToSubmitRequest(request, target));
  if (response.code() == StatusCode::kAlreadyExists) {  // Of the same command, for what "auto" meant then.
    request.request_id = NewRequestId(fingerprint);
    response = tuning.SubmitJob(ToSubmitRequest(request, target));
  }
  if (!response.ok()) return response.status();
  return response->job();
}

JobProgress ProgressOf(const v1::Job& job) {
  JobProgress progress;
  progress.row.id = job.id();
  for (const v1::Task& task : job.tasks()) {
    TaskStanding standing{.weight = task.weight(),
                          .budget = task.trial_budget(),
                          .counted = task.trials_known(),
                          .open = task.trials_open()};
    standing.is_closed = task.state() >= v1::JOB_STATE_DONE;
    standing.best_ns = task.best_ns();
    standing.untuned_ns = task.untuned_ns();
    progress.tasks.push_back(std::move(standing));
    progress.measured += task.trials_done();
    for (const v1::StateCount& count : task.counts()) {
      const std::optional<TrialState> state = ParseTrialState(count.state());
      if (state && SpendsBudget(*state) && !HasTimings(*state)) progress.failed += count.trials();
    }
  }
  progress.waits_for = job.waits_for();
  progress.trouble = job.trouble();
  return progress;
}

StatusOr<TuneEnding> FollowThere(TuningApi& tuning, v1::Job& job, Duration patience, ProgressDisplay& display) {
  const auto show = [&](const v1::Job& now) {
    job = now;
    display.Show(ProgressOf(now), SystemClock().Now());
  };
  ASSIGN_OR_RETURN(const RemoteEnding ending, FollowRemoteJob(tuning, job.id(), patience, show, IsPressedWithin));
  if (ending == RemoteEnding::kJobEnded) return TuneEnding::kJobEnded;
  display.Say("leaving the job to its server; press Ctrl-C again to cancel it");
  if (!IsPressedAgain()) return TuneEnding::kInterrupted;
  v1::CancelJobRequest request;
  request.set_job_id(job.id());
  request.set_reason("cancelled by the user");
  ASSIGN_OR_RETURN(const v1::CancelJobResponse cancelled, tuning.CancelJob(request));
  job = cancelled.job();
  return TuneEnding::kCancelled;
}

}  // namespace

StatusOr<TunedJob> TuneOnServer(const Place& place, JobRequest request, const std::string& target, Duration patience,
                                ProgressDisplay& display) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ServerConnection> connection, ConnectTo(place));
  ASSIGN_OR_RETURN(v1::Job job, SubmitTo(connection->tuning(), std::move(request), target));
  display.Say(fmt::format("job {} at {}", job.id(), place.server));
  TunedJob tuned;
  StatusOr<TuneEnding> ending = FollowThere(connection->tuning(), job, patience, display);
  display.Clear();
  if (!ending.ok()) return ending.status();
  tuned.ending = *ending;
  ASSIGN_OR_RETURN(tuned.report, ToReport(job));
  tuned.measured = tuned.report.measured;
  tuned.server = place.server;
  return tuned;
}

StatusOr<TunedJob> TuneDatabase(const EmbeddedOptions& options, JobRequest request, const std::string& target,
                                ProgressDisplay& display) {
  request.request_id = NewRequestId(FingerprintOf(request, target));
  const StatusOr<Endpoint> socket = OwnerEndpoint(options.database_path);
  bool was_attached = false;
  for (TimePoint give_up = SystemClock().Now() + kOwnerPatience;;) {
    if (socket.ok() && SomebodyListens(socket->unix_path)) {
      if (!was_attached) display.Say(fmt::format("another process owns {}; the job runs there", options.database_path));
      was_attached = true;
      StatusOr<TunedJob> job = TuneOnServer({.server = socket->ToString()}, request, target, Duration(0), display);
      if (job.ok() || job.code() != StatusCode::kUnavailable) return job;
      display.Say("the owner of the database has ended; this process takes over");
      give_up = SystemClock().Now() + kOwnerPatience;
    }
    StatusOr<std::unique_ptr<EmbeddedFarm>> farm = EmbeddedFarm::Start(options);
    if (farm.ok()) return TuneHere(*std::move(farm), options, request, display);
    // An owner listens soon, or ends soon; one that has ended its job may still time the network on our CPUs.
    const bool is_owned = farm.code() == StatusCode::kUnavailable && !OwnerLock::Acquire(options.database_path).ok();
    const bool waits_for_cpus = was_attached && farm.code() == StatusCode::kFailedPrecondition;
    if (waits_for_cpus) give_up = SystemClock().Now() + kOwnerPatience;
    if ((!is_owned && !waits_for_cpus) || SystemClock().Now() > give_up) return farm.status();
    if (IsPressedWithin(kTryEvery))
      return Cancelled("tune: interrupted while another process had the database: " + farm.status().message());
  }
}

}  // namespace lathe
