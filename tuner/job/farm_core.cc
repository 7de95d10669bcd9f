#include "tuner/job/farm_core.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr Duration kLookAgainAfter = std::chrono::seconds(1);  // At what waits while there is trouble.

std::optional<TimePoint> Earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

FarmCore::FarmCore(FarmCoreOptions options, Store& store, FarmPorts& ports, Clock& clock)
    : options_(std::move(options)),
      store_(store),
      ports_(ports),
      clock_(clock),
      leases_(store),
      desk_({.suits = [this](const DeviceWish& wish,
                             const LeaseRecord& lease) { return tracker_->devices().Suits(wish, lease.device); },
             .choose_yields = [this](const std::vector<HeldDevice>& held,
                                     TimePoint now) { return tracker_->ChooseYields(held, now); }}),
      workers_(static_cast<uint64_t>(clock.UnixNanos())) {}

Status FarmCore::Start() {
  ASSIGN_OR_RETURN(const TrackerSnapshot snapshot, leases_.LoadTracker());
  tracker_ = std::make_unique<TrackerCore>(snapshot, Now());
  ASSIGN_OR_RETURN(const std::vector<DeviceRow> devices, store_.ListDevices());
  RestoreHealth(devices);
  RETURN_IF_ERROR(ForEachTrial(store_, {.states = {TrialState::kBuilding}}, [&](const TrialRow& trial) {
    workers_.Restore(trial.worker, Now());  // Builds of workers that may come back.
  }));
  if (options_.resumes_jobs) {
    for (int64_t after = 0;;) {
      ASSIGN_OR_RETURN(const std::vector<JobRow> rows, store_.ListJobs({after, 1000}));
      for (const JobRow& row : rows) {
        if (!IsTerminal(row.state)) RETURN_IF_ERROR(Resume(row.id));
      }
      if (rows.size() < 1000) break;
      after = rows.back().id;
    }
  }
  return OkStatus();
}

// A job that cannot be read fails by itself: the others have done nothing. What may be readable later is left as it is.
Status FarmCore::Resume(int64_t job_id) {
  const Status taken_up = TakeUp(job_id);
  if (taken_up.ok() || taken_up.code() == StatusCode::kUnavailable) return taken_up;
  ports_.Log(fmt::format("take up job {}: {}", job_id, taken_up.message()));
  Forget(job_id);
  return store_.SetJobState(job_id, JobState::kFailed, taken_up.message());
}

void FarmCore::Stop() {
  is_draining_ = true;
  for (auto& [id, job] : jobs_) job.search.reset();
  TurnWorkersAway();
}

bool FarmCore::Check(const Status& status, std::string_view what) {
  if (status.ok())
    troubles_.Succeeded(what);
  else if (troubles_.Failed(what, status.message(), Now()))
    ports_.Log(fmt::format("{}: {}", what, status.message()));
  return status.ok();
}

// Whatever has come due, and whatever follows from what has just happened; then when to look again.
std::optional<TimePoint> FarmCore::Step() {
  if (is_draining_) {
    SendAcknowledgements();
    return std::nullopt;
  }
  looks_again_ = false;
  const TimePoint now = Now();
  if (const Duration pause = watch_.TakePause(); pause > Duration(0)) RenewAfterPause(pause);
  NoteBegun();
  RetryEffects();
  RetryCommits();
  GiveUpTheStalled();
  GiveUpStalledBuilds();
  if (const auto due = tracker_->NextDeadline(); due && *due <= now) StepTracker(TimePassed{});
  for (const std::string& worker : workers_.PassTime(now)) {
    adopted_workers_.erase(worker);
    goldens_.WorkerLost(worker);
    Perform("lose worker " + worker, [this, worker] {
      const StatusOr<std::vector<int64_t>> lost = store_.LoseWorker(worker);
      if (!lost.ok()) return lost.status();
      ports_.Log(fmt::format("worker \"{}\" is gone; {} builds go back to the queue", worker, lost->size()));
      ++counters_.workers_lost;
      counters_.failed_attempts[InfraFailure::kWorkerLost] += static_cast<int64_t>(lost->size());
      for (const int64_t trial : *lost) RefreshTrial(trial);
      return OkStatus();
    });
  }
  AdvanceHealth();
  BeginWaitingJobs();
  if (counts_devices_) CountDevices();
  std::vector<int64_t> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (const int64_t id : ids) {
    if (const auto it = jobs_.find(id); it != jobs_.end()) Advance(it->second);
  }
  AssignBuilds();
  PlanDevices();
  SendAcknowledgements();
  AnswerPolls();

  std::optional<TimePoint> next = NextDeadline();
  // Deadlines that have passed meanwhile are looked at at once, but never in a tight circle.
  if (next) next = std::max(*next, Now() + std::chrono::microseconds(100));
  watch_.WaitsUntil(next);
  return next ? std::optional(watch_.ByClock(*next)) : std::nullopt;
}

std::optional<TimePoint> FarmCore::NextDeadline() {
  const TimePoint now = Now();
  if (looks_again_) return now;
  std::optional<TimePoint> next = Earlier(tracker_->NextDeadline(), workers_.NextDeadline());
  next = Earlier(next, desk_.NextDeadline());
  next = Earlier(Earlier(next, retry_effects_at_), retry_commits_at_);
  next = Earlier(Earlier(next, waiting_retry_at_), NextHealthDeadline(now));
  for (const auto& [worker, polls] : polls_) {
    for (const Poll& poll : polls) next = Earlier(next, poll.deadline);
  }
  if (uncommitted_.empty()) next = Earlier(next, stalled_at_.First());
  next = Earlier(next, build_due_.First());
  if (troubles_.Worst(now)) next = Earlier(next, now + kLookAgainAfter);
  for (const auto& [id, job] : jobs_) {
    next = Earlier(next, job.retry_at);
    if (job.spec.time_limit > Duration(0) && !job.has_timed_out)
      next = Earlier(next, job.taken_up + job.spec.time_limit);
    if (job.waits_since && !job.is_wait_told) next = Earlier(next, *job.waits_since + std::chrono::seconds(1));
  }
  return next;
}

// The stored ends of leases are wall-clock times, which went on.
void FarmCore::RenewAfterPause(Duration pause) {
  ports_.Log(fmt::format("was stopped for {} s; nobody's silence meanwhile counts",
                         std::chrono::duration_cast<std::chrono::seconds>(pause).count()));
  for (const auto& [name, entry] : tracker_->devices().devices()) {
    if (const LeaseRecord* lease = tracker_->LeaseOf(name)) Do(PersistRenewal{name, lease->epoch});
  }
}

void FarmCore::Perform(std::string what, std::function<Status()> effect) {
  effects_.push_back({std::move(what), std::move(effect)});
  if (effects_.size() == 1) RetryEffects();
}

void FarmCore::RetryEffects() {
  if (effects_.empty() || (retry_effects_at_ && Now() < *retry_effects_at_)) return;
  const bool was_late = retry_effects_at_.has_value();
  retry_effects_at_.reset();
  while (!effects_.empty()) {
    const Effect effect = effects_.front();
    const Status status = effect.run();
    Check(status, effect.what);
    if (!status.ok() && IsWorthRetrying(status.code())) {
      retry_effects_at_ = Now() + kRetryAfter;
      return;
    }
    effects_.pop_front();
  }
  if (was_late) RefreshGivenTrials();
}

StatusOr<JobRow> FarmCore::Cancel(int64_t job_id, const std::string& reason) {
  ASSIGN_OR_RETURN(JobRow row, store_.CancelJob(job_id, reason));
  if (std::erase(waiting_, job_id) > 0) ports_.OnJobLeft(job_id);
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return row;
  Job& job = it->second;
  job.row = row;
  std::vector<int64_t> trials;
  for (const auto& [trial, open] : job.open) trials.push_back(trial);
  DropTrials(job, trials);
  Forget(job_id);
  return row;
}

void FarmCore::Drain() {
  is_draining_ = true;
  TurnWorkersAway();
  for (const auto& [device, view] : devices_) {
    const auto held = desk_.HeldBy(device);
    if (!held) continue;
    TellToRest(device, held->epoch);
    StepTracker(LeaseReleased{device, held->epoch});
  }
}

}  // namespace lathe
