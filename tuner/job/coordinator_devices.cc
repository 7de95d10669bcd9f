// The coordinator's dealings with devices: the tracker's shell, leases for jobs, specs out, results in.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rpc/device_message.h"
#include "runtime/measure_statistics.h"
#include "tuner/job/coordinator_impl.h"

namespace lathe {
namespace {

constexpr int kPlanRounds = 100;  // At one time; whatever follows is seen to when next something happens.
constexpr Duration kStoreHeartbeatEvery = std::chrono::seconds(5);
constexpr int kMostSkipped =
    8;  // Of a workload's operations a schedule may need one in so many: padding of a transposed
        // convolution; and the peak is too low where the device was busy when it measured it.
constexpr Duration kRetryCommitAfter = std::chrono::seconds(1);

std::string FactsJson(const v1::DeviceFacts& facts) {
  nlohmann::json json = {{"arch", facts.arch()},
                         {"cpu_model", facts.cpu_model()},
                         {"memory_bytes", facts.memory_bytes()},
                         {"num_cores", facts.num_cores()},
                         {"peak_gflops", facts.peak_gflops()},
                         {"peak_gops", facts.peak_gops()},
                         {"os", facts.os()},
                         {"cpus", nlohmann::json::array()},
                         {"cpu_features", nlohmann::json::array()}};
  for (const int cpu : facts.cpus()) json["cpus"].push_back(cpu);
  for (const std::string& feature : facts.cpu_features()) json["cpu_features"].push_back(feature);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

v1::AckVerdict VerdictOf(Ack ack) {
  switch (ack) {
    case Ack::kAccepted:
      return v1::ACK_VERDICT_ACK;
    case Ack::kDuplicate:
      return v1::ACK_VERDICT_DUPLICATE;
    case Ack::kStale:
      break;
  }
  return v1::ACK_VERDICT_STALE;
}

}  // namespace

// ---- What the gateway's thread says goes to the loop.

void Coordinator::Impl::OnDeviceUp(const v1::Hello& hello) {
  const v1::DeviceFacts& facts = hello.facts();
  DeviceRecord record{facts.name(), facts.key(), FactsJson(facts), hello.epoch_seen()};
  std::set<std::string> spooled(hello.spooled_keys().begin(), hello.spooled_keys().end());
  loop_.Post([this, record = std::move(record), abi = facts.kernel_abi(), gflops = facts.peak_gflops(),
              gops = facts.peak_gops(), current = hello.current(), spooled = std::move(spooled)] {
    DeviceView& view = devices_[record.name];
    view.key = record.key;
    view.kernel_abi = abi;
    view.peak_gflops = gflops;
    view.peak_gops = gops;
    view.told_epoch = -1;
    StepTracker(DeviceReported{record});
    CountDevices();
    GiveUpWhatItDiedOf(record.name, current, spooled);
    TakeProgress(record.name, current);
  });
}

// Trials that ran and of which the device has neither a runner nor a result: its process ended meanwhile, maybe because
// of them. Without this a module that restarts its board would be given to it for ever.
void Coordinator::Impl::GiveUpWhatItDiedOf(const std::string& device, const v1::Current& current,
                                           const std::set<std::string>& spooled) {
  const auto held = desk_.HeldBy(device);
  const StatusOr<int64_t> device_id = leases_.IdOf(device);
  if (!held || !device_id.ok()) return;
  for (const int64_t id : held->trials) {
    const Job* job = JobOfTrial(id);
    const auto spec = devices_[device].specs.find(id);
    if (job == nullptr || spec == devices_[device].specs.end() || job->open.at(id).state != TrialState::kRunning)
      continue;
    const int32_t attempt = spec->second.attempt();
    const bool is_there = std::any_of(
        current.trials().begin(), current.trials().end(),
        [&](const v1::Current::Trial& trial) { return trial.trial_id() == id && trial.attempt() == attempt; });
    if (is_there || spooled.contains(std::string(ResultKey(spec->second, device).raw()))) continue;
    const auto failed = store_->FailAttempt({id, attempt, *device_id, held->epoch}, InfraFailure::kDeviceLost,
                                            fmt::format("device {} ended while it ran", device), UnixNow());
    if (!Check(failed.status(), "give up a trial")) continue;
    desk_.Settled(device, id);
    RefreshTrial(id);
  }
}

void Coordinator::Impl::OnDeviceHeard(const std::string& device, const v1::Current& current) {
  loop_.Post([this, device, current] { TakeProgress(device, current); });
}

void Coordinator::Impl::OnDeviceDown(const std::string& device, const std::string& reason) {
  loop_.Post([this, device] {
    devices_[device].measuring.clear();
    StepTracker(DeviceLeft{device});
  });
}

void Coordinator::Impl::OnResult(const v1::MeasureResult& result) {
  loop_.Post([this, result] { TakeResult(result); });
}

StatusOr<BlobPiece> Coordinator::Impl::ReadBlob(const Digest& digest, int64_t offset, int64_t limit) {
  return blobs_->Read(digest, offset, limit);
}

// ---- The tracker's shell.

void Coordinator::Impl::StepTracker(const TrackerEvent& event) {
  tracker_events_.push_back(event);
  if (is_stepping_tracker_) return;
  is_stepping_tracker_ = true;
  while (!tracker_events_.empty()) {
    const TrackerEvent next = std::move(tracker_events_.front());
    tracker_events_.pop_front();
    for (const TrackerAction& action : tracker_->Step(next, Now()))
      std::visit([this](const auto& a) { Do(a); }, action);
  }
  is_stepping_tracker_ = false;
}

void Coordinator::Impl::Do(const PersistDevice& action) {
  Perform("register device " + action.record.name,
          [this, record = action.record] { return leases_.PersistDevice(record); });
}

void Coordinator::Impl::Do(const DeviceChange& action) {
  options_.log(fmt::format("device \"{}\" is {}: {}", action.device, DeviceStateName(action.to), action.reason));
  CountDevices();
  if (action.to != DeviceState::kLost) return;
  Perform("lose device " + action.device, [this, device = action.device] {
    const StatusOr<int64_t> id = leases_.IdOf(device);
    if (!id.ok()) return OkStatus();  // It has no row, so no trials.
    const StatusOr<std::vector<int64_t>> lost = store_->LoseDevice(*id, UnixNow());
    if (!lost.ok()) return lost.status();
    for (const int64_t trial : *lost) RefreshTrial(trial);
    return OkStatus();
  });
}

void Coordinator::Impl::Do(const PersistGrant& action) {
  StatusOr<int64_t> epoch = Status(Unavailable("what happened before is not in the store yet"));
  if (effects_.empty()) epoch = leases_.PersistGrant(action.lease, action.epoch_floor, kLeaseTtl);
  Check(epoch.status(), "grant a lease");
  StepTracker(GrantCommitted{action.lease.device, action.lease.request_id, epoch.status(), epoch.ok() ? *epoch : 0});
}

void Coordinator::Impl::Do(const PersistRenewal& action) {
  Check(leases_.PersistRenewal(action.device, action.epoch, kLeaseTtl), "renew a lease");
}

void Coordinator::Impl::Do(const PersistEnd& action) {
  Perform("end a lease", [this, action] { return leases_.PersistEnd(action.device, action.epoch, action.why); });
}

void Coordinator::Impl::Do(const AnswerGranted& action) {
  desk_.Granted(action.lease, Now());
  // A lease from before a restart may have trials already; the device may even be at work on them, or have their
  // results.
  const StatusOr<int64_t> id = leases_.IdOf(action.lease.device);
  if (!Check(id.status(), "look up assigned trials")) return;
  std::vector<TrialRow> given;
  const Status listed =
      ForEachTrial(*store_, {.device_id = *id, .states = {TrialState::kAssigned, TrialState::kRunning}},
                   [&](const TrialRow& trial) { given.push_back(trial); });
  if (!Check(listed, "look up assigned trials")) return;
  for (const TrialRow& trial : given)
    if (trial.epoch == action.lease.epoch) GiveTrial(action.lease.device, trial);
}

void Coordinator::Impl::Do(const AnswerEnded& action) {
  options_.log(fmt::format("lease of \"{}\" ended: {}", action.device, action.reason));
  const auto held = desk_.HeldBy(action.device);
  desk_.Ended(action.device, action.epoch);
  if (!held || held->epoch != action.epoch) return;
  for (const int64_t trial : held->trials) RefreshTrial(trial);
  devices_[action.device].specs.clear();
}

void Coordinator::Impl::CountDevices() {
  std::map<std::string, int> counts;
  for (const auto& [name, entry] : tracker_->devices().devices())
    counts[entry.record.key] += entry.state == DeviceState::kOnline ? 1 : 0;
  for (const auto& [key, count] : counts) desk_.SetDeviceCount(key, count);
}

// ---- Leases for jobs.

// Those it holds from before a restart: asking again with the same id gives the same lease, and what is assigned under
// it.
void Coordinator::Impl::TakeLeasesBack(Job& job) {
  UpdateDemand(job);
  std::vector<LeaseRecord> mine, others;
  for (const auto& [name, entry] : tracker_->devices().devices()) {
    const LeaseRecord* lease = tracker_->LeaseOf(name);
    const auto holder = lease == nullptr ? std::nullopt : DeviceDesk::JobOfRequest(lease->request_id);
    if (holder == job.row.id) mine.push_back(*lease);
    // Unless all jobs are resumed, those of another may wait for ever: nobody but us can hold anything for them.
    else if (holder && !options_.resumes_jobs && !jobs_.contains(*holder))
      others.push_back(*lease);
  }
  for (const LeaseRecord& lease : others) StepTracker(LeaseReleased{lease.device, lease.epoch});
  for (const LeaseRecord& lease : mine) {
    desk_.Expect(lease.request_id);
    StepTracker(LeaseRequested{lease.request_id, lease.key});
  }
}

void Coordinator::Impl::PlanDevices() {
  for (int round = 0; round < kPlanRounds; ++round) {
    const std::vector<DeskAction> actions = desk_.Plan(Now());
    if (actions.empty()) break;
    for (const DeskAction& action : actions) std::visit([this](const auto& a) { Do(a); }, action);
  }
  TellDevices();
}

void Coordinator::Impl::Do(const AskForDevice& action) { StepTracker(LeaseRequested{action.request_id, action.key}); }
void Coordinator::Impl::Do(const WithdrawAsking& action) { StepTracker(RequestWithdrawn{action.request_id}); }
void Coordinator::Impl::Do(const KeepLease& action) { StepTracker(LeaseRenewed{action.device, action.epoch}); }

void Coordinator::Impl::Do(const GiveBack& action) {
  v1::Desired nothing;
  nothing.set_epoch(action.epoch);
  (void)gateway_->SetDesired(action.device, nothing);  // If it is away, its lease ends with its time.
  DeviceView& view = devices_[action.device];
  view.specs.clear();
  view.told.clear();
  view.told_epoch = action.epoch;
  StepTracker(LeaseReleased{action.device, action.epoch});
}

void Coordinator::Impl::Do(const ClaimTrial& action) {
  const StatusOr<int64_t> id = leases_.IdOf(action.device);
  if (!Check(id.status(), "claim a trial")) return desk_.NothingToClaim(action.device, action.epoch, Now());
  const auto claimed = store_->ClaimForMeasure(*id, action.epoch, {.job_id = action.job_id}, UnixNow());
  if (!Check(claimed.status(), "claim a trial") || !claimed->has_value() || !GiveTrial(action.device, **claimed)) {
    desk_.NothingToClaim(action.device, action.epoch, Now());
  }
}

// Makes the spec of an assigned trial and puts it at the device's hand. False if that cannot be.
bool Coordinator::Impl::GiveTrial(const std::string& device, const TrialRow& trial) {
  Job* job = JobOfTrial(trial.id);
  if (job == nullptr || !trial.module_digest) return false;
  OpenTrial& open = job->open.at(trial.id);
  const auto& prepared = job->prepared[open.task];
  const StatusOr<int64_t> size = blobs_->Size(*trial.module_digest);
  const bool is_prepared = open.is_final || prepared;
  if (!is_prepared || !size.ok()) {
    const InfraFailure failure = is_prepared ? InfraFailure::kArtifactLost : InfraFailure::kOther;
    const AttemptFence fence{trial.id, trial.attempt, trial.device_id.value_or(0), trial.epoch.value_or(0)};
    Check(store_->FailAttempt(fence, failure, "its module is not in the blob store", UnixNow()).status(),
          "give up a trial");
    RefreshTrial(trial.id);
    return false;
  }
  const bool is_whole = open.is_final || open.trace_digest == prepared->untuned_trace;
  const TaskMeasurement& measurement = open.is_final ? job->finals[open.task].measurement : prepared->measurement;
  devices_[device].specs[trial.id] =
      MakeMeasureSpec(measurement, trial, *size, is_whole ? 0 : job->plan.tasks()[open.task].best_ns);
  open.times.assigned = Now();
  open.attempt = trial.attempt;
  desk_.Claimed(device, *trial.epoch, trial.id);
  SetTrialState(*job, trial.id, trial.state);
  return true;
}

void Coordinator::Impl::TellDevices() {
  for (auto& [name, view] : devices_) {
    const auto held = desk_.HeldBy(name);
    if (!held) continue;
    std::vector<TrialAttempt> wanted;
    for (const int64_t trial : held->trials) wanted.push_back({trial, view.specs.at(trial).attempt()});
    if (held->epoch == view.told_epoch && wanted == view.told) continue;
    v1::Desired desired;
    desired.set_epoch(held->epoch);
    for (const int64_t trial : held->trials) *desired.add_specs() = view.specs.at(trial);
    if (!gateway_->SetDesired(name, std::move(desired)).ok()) continue;  // It is away; the tracker knows.
    view.told = std::move(wanted);
    view.told_epoch = held->epoch;
    std::erase_if(view.specs, [&](const auto& entry) {
      return std::find(held->trials.begin(), held->trials.end(), entry.first) == held->trials.end();
    });
  }
}

// ---- Progress and results.

// What a call takes at least by the peak that the devices of the class measured; 0: unknown.
double Coordinator::Impl::FloorOf(const Job& job, size_t task) const {
  const auto& prepared = job.prepared[task];
  double peak = 0;
  for (const auto& [name, view] : devices_) {
    if (view.key == job.tasks[task].key.device_class && prepared)
      peak = std::max(peak, prepared->is_float32 ? view.peak_gflops : view.peak_gops);
  }
  return peak > 0 ? prepared->flops / peak : 0;
}

// A time that no machine of the class can reach is none: a clock that jumped, a kernel that returned early.
void Coordinator::Impl::RefuseImpossible(v1::MeasureResult& result) {
  const Job* job = JobOfTrial(result.trial_id());
  if (job == nullptr || (result.status() != v1::MEASURE_STATUS_OK && result.status() != v1::MEASURE_STATUS_NOISY))
    return;
  const size_t task = job->open.at(result.trial_id()).task;
  const double floor_ns = FloorOf(*job, task),
               median_ns =
                   Summarize(std::vector<double>(result.samples_ns().begin(), result.samples_ns().end())).median;
  if (median_ns * kMostSkipped >= floor_ns) return;
  result.set_status(v1::MEASURE_STATUS_WRONG_RESULT);
  result.set_message(fmt::format(
      "a call took {:.3g} ns; its {:.3g} operations take {:.3g} ns at the peak that the device measured, and "
      "no schedule skips more than {} of {} of them",
      median_ns, job->prepared[task]->flops, floor_ns, kMostSkipped - 1, kMostSkipped));
}

void Coordinator::Impl::TakeProgress(const std::string& device, const v1::Current& current) {
  StepTracker(DeviceHeard{device});
  DeviceView& view = devices_[device];
  const StatusOr<int64_t> id = leases_.IdOf(device);
  if (id.ok() && Now() - view.heartbeat_stored >= kStoreHeartbeatEvery) {
    view.heartbeat_stored = Now();
    Check(store_->Heartbeat(*id, UnixNow()), "store a heartbeat");
  }
  view.measuring.clear();
  for (const v1::Current::Trial& trial : current.trials()) {
    if (trial.phase() != v1::TRIAL_PHASE_MEASURING) continue;
    view.measuring.insert(trial.trial_id());
    Job* job = JobOfTrial(trial.trial_id());
    if (job == nullptr || job->open.at(trial.trial_id()).state != TrialState::kAssigned) continue;
    const AttemptFence fence{trial.trial_id(), trial.attempt(), id.ok() ? *id : 0, trial.epoch()};
    const StatusOr<bool> moved = store_->AdvanceTrial(fence, TrialState::kRunning, UnixNow());
    if (!Check(moved.status(), "note that a trial runs") || !*moved) continue;
    job->open.at(trial.trial_id()).times.running = Now();
    SetTrialState(*job, trial.trial_id(), TrialState::kRunning);
  }
}

void Coordinator::Impl::TakeResult(v1::MeasureResult result) {
  RefuseImpossible(result);
  Job* job = JobOfTrial(result.trial_id());
  const bool is_latest = job != nullptr && job->open.at(result.trial_id()).attempt == result.attempt();
  const auto held = desk_.HeldBy(result.device());
  // The device's next trial is begun before this one is on disk.
  if (held && held->epoch == result.epoch() && is_latest) desk_.Finished(result.device(), result.trial_id());
  if (const auto view = devices_.find(result.device()); view != devices_.end())
    view->second.measuring.erase(result.trial_id());
  if (is_latest) {
    OpenTrial& open = job->open.at(result.trial_id());
    open.times.result = Now();
    open.idle_ns = result.idle_ns();
    open.measure_ns = result.measure_ns();
  }
  const StatusOr<int64_t> id = leases_.IdOf(result.device());
  if (id.ok()) commits_.Push({result, *id});
}

void Coordinator::Impl::RunCommits() {
  while (const std::optional<Commit> commit = commits_.Pop()) {
    const v1::AckVerdict verdict = CommitOne(*commit);
    if (verdict == v1::ACK_VERDICT_UNSPECIFIED) continue;  // Not committed: the device keeps it and sends it again.
    const StatusOr<Digest> key = Digest::FromBytes(commit->result.key());
    if (key.ok() && gateway_ != nullptr) gateway_->Acknowledge(commit->result.device(), *key, verdict);
  }
}

AttemptFence Coordinator::Impl::FenceOf(const Commit& commit) {
  return {commit.result.trial_id(), commit.result.attempt(), commit.device_id, commit.result.epoch()};
}

v1::AckVerdict Coordinator::Impl::CommitOne(const Commit& commit) {
  const v1::MeasureResult& result = commit.result;
  const std::optional<RunResult> row = ToRunResult(result, commit.device_id);
  for (;;) {
    StatusOr<CommitAnswer> answer = CommitAnswer{Ack::kStale};
    if (row) {
      answer = store_->CommitResult(*row, UnixNow());
    } else if (result.status() != v1::MEASURE_STATUS_CANCELLED) {
      answer = store_->FailAttempt(FenceOf(commit), InfraFailure::kOther, result.message(), UnixNow());
    }
    if (!answer.ok() && IsWorthRetrying(answer.status().code()) && !is_stopping_) {
      loop_.Post([this, status = answer.status()] { Check(status, "commit a result"); });
      std::this_thread::sleep_for(kRetryCommitAfter);
      continue;
    }
    loop_.Post([this, commit, answer] { OnCommitted(commit, answer); });
    if (answer.ok()) return VerdictOf(answer->ack);
    return IsWorthRetrying(answer.status().code()) ? v1::ACK_VERDICT_UNSPECIFIED : v1::ACK_VERDICT_STALE;
  }
}

// A device that gives up one trial after the other, because its disk is full, is trouble; a single trial may have
// itself to blame. Without this nobody would hear of it: such trials wait, are tried again, and nothing fails here.
void Coordinator::Impl::NoteHealth(const v1::MeasureResult& result) {
  DeviceView& view = devices_[result.device()];
  const std::string what = "measure at device " + result.device();
  if (result.status() == v1::MEASURE_STATUS_INFRA_FAILED) {
    view.failed.insert(result.trial_id());
    if (view.failed.size() > 1) Check(Unavailable(result.message()), what);
  } else if (result.status() != v1::MEASURE_STATUS_CANCELLED) {
    view.failed.clear();
    troubles_.Succeeded(what);
  }
}

void Coordinator::Impl::OnCommitted(const Commit& commit, const StatusOr<CommitAnswer>& answer) {
  const v1::MeasureResult& result = commit.result;
  NoteHealth(result);
  const auto held = desk_.HeldBy(result.device());
  if (answer.ok()) troubles_.Succeeded("commit a result");
  Job* job = JobOfTrial(result.trial_id());
  if (held && held->epoch == result.epoch()) {
    // A lease that was taken back after the result came has the trial once more, as it was not in the store yet.
    const bool is_given_again = job != nullptr && job->open.at(result.trial_id()).attempt > result.attempt();
    if (!is_given_again) desk_.Finished(result.device(), result.trial_id());
    desk_.Settled(result.device(), result.trial_id());
  }
  if (!answer.ok()) {
    if (answer.status().code() == StatusCode::kNotFound) return;  // A trial of another database.
    Check(answer.status(), "commit a result");
    if (job != nullptr) {
      Check(store_->FailAttempt(FenceOf(commit), InfraFailure::kOther, answer.status().message(), UnixNow()).status(),
            "give up a trial");
      RefreshTrial(result.trial_id());
    }
    return;
  }
  // Once it is in the store the trial may be given out again, even before this is heard of.
  if (job == nullptr || job->open.at(result.trial_id()).attempt > result.attempt()) return;
  if (answer->ack == Ack::kStale && !answer->record_id) return RefreshTrial(result.trial_id());
  OpenTrial& open = job->open.at(result.trial_id());
  open.times.committed = Now();
  if (!IsTerminal(answer->trial_state)) return SetTrialState(*job, result.trial_id(), answer->trial_state);
  if (open.times.result != TimePoint{} && !open.is_final) job->latencies.Add(open.times, open.idle_ns, open.measure_ns);
  const std::optional<RunResult> row = ToRunResult(result, 0);
  EndTrial(*job, result.trial_id(), answer->trial_state, row ? row->timings : std::nullopt);
}

}  // namespace lathe
