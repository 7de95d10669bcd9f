// The core's dealings with devices: the tracker's shell, leases for jobs, specs out, results in.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rpc/device_message.h"
#include "runner/measure_statistics.h"
#include "support/status_macros.h"
#include "tuner/job/farm_core.h"

namespace lathe {
namespace {

constexpr int kPlanRounds = 100;  // At one time; whatever follows is seen to when next something happens.
// The phases of a trial have the farm's own clocks: what a device or worker says of itself is not enough.
constexpr Duration kFetchAndStart = std::chrono::seconds(60);
constexpr int64_t kSlowestBytesPerSecond = 256 << 10;
constexpr Duration kRunGrace = std::chrono::seconds(30);  // Beyond the limit that the device watches itself.
constexpr Duration kStoreHeartbeatEvery = std::chrono::seconds(5);
constexpr int kMostSkipped =
    8;  // Of a workload's operations a schedule may need one in so many: padding of a transposed
        // convolution; and the peak is too low where the device was busy when it measured it.

std::string FactsJson(const v1::DeviceFacts& facts) {
  nlohmann::json json = {{"arch", facts.arch()},
                         {"cpu_model", facts.cpu_model()},
                         {"memory_bytes", facts.memory_bytes()},
                         {"num_cores", facts.num_cores()},
                         {"peak_gflops", facts.peak_gflops()},
                         {"peak_gops", facts.peak_gops()},
                         {"os", facts.os()},
                         {"sandbox", facts.sandbox()},
                         {"tags", nlohmann::json::array()},
                         {"cpus", nlohmann::json::array()},
                         {"cpu_features", nlohmann::json::array()}};
  for (const int cpu : facts.cpus()) json["cpus"].push_back(cpu);
  for (const std::string& feature : facts.cpu_features()) json["cpu_features"].push_back(feature);
  for (const std::string& tag : facts.tags()) json["tags"].push_back(tag);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// What a wish can ask for.
DeviceTraits TraitsOf(const v1::DeviceFacts& facts) {
  DeviceTraits traits{.words = {facts.name(), facts.key(), facts.arch()}};
  traits.words.insert(facts.cpu_features().begin(), facts.cpu_features().end());
  for (const std::string& tag : facts.tags()) {
    const size_t equals = tag.find('=');
    if (equals == std::string::npos)
      traits.words.insert(tag);
    else
      traits.values[tag.substr(0, equals)] = tag.substr(equals + 1);
  }
  // After the tags: what a device is, no tag can say otherwise.
  const std::pair<const char*, std::string> known[] = {{"name", facts.name()},
                                                       {"key", facts.key()},
                                                       {"arch", facts.arch()},
                                                       {"cores", std::to_string(facts.num_cores())},
                                                       {"mem", std::to_string(facts.memory_bytes())},
                                                       {"gflops", fmt::format("{:.1f}", facts.peak_gflops())}};
  for (const auto& [name, value] : known) traits.values[name] = value;
  return traits;
}

AttemptFence FenceOf(const ResultCommit& commit) {
  return {commit.result.trial_id(), commit.result.attempt(), commit.device_id, commit.result.epoch()};
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

StatusOr<CommitAnswer> CommitTo(Store& store, const ResultCommit& commit) {
  const v1::MeasureResult& result = commit.result;
  if (const std::optional<RunResult> row = ToRunResult(result, commit.device_id)) return store.CommitResult(*row);
  if (result.status() == v1::MEASURE_STATUS_CANCELLED) return CommitAnswer{Ack::kStale};
  return store.FailAttempt(FenceOf(commit), InfraFailure::kOther, result.message());
}

StatusOr<int64_t> GrantTo(Store& store, const LeaseGrant& grant) {
  const auto& [lease, epoch_floor, ttl] = grant.grant;
  ASSIGN_OR_RETURN(const LeaseRow granted, store.GrantLease(grant.device_id, lease.request_id, ttl, epoch_floor));
  return granted.epoch;
}

void FarmCore::OnDeviceUp(const v1::Hello& hello) {
  NoteBegun();
  const v1::DeviceFacts& facts = hello.facts();
  DeviceView& view = devices_[facts.name()];
  touched_.insert(facts.name());
  const std::string former_key = std::exchange(view.key, facts.key());
  view.kernel_abi = facts.kernel_abi();
  view.peak_gflops = facts.peak_gflops();
  view.peak_gops = facts.peak_gops();
  if (former_key != view.key) CollectClassFacts(former_key);
  CollectClassFacts(view.key);
  view.told_epoch = -1;
  view.has_greeted = true;
  const bool is_new_process = view.instance != 0 && view.instance != hello.instance();
  view.instance = hello.instance();
  view.trials_at_greeting.clear();
  for (const v1::Current::Trial& trial : hello.current().trials())
    view.trials_at_greeting.insert({trial.trial_id(), trial.attempt()});
  view.spooled_at_greeting = {hello.spooled_keys().begin(), hello.spooled_keys().end()};
  const DeviceHealthTable::Actions health = GreetHealth(facts, is_new_process);
  StepTracker(DeviceReported{{facts.name(), facts.key(), FactsJson(facts), hello.epoch_seen()}, TraitsOf(facts)});
  Apply(health);
  counts_devices_ = true;
  if (!GiveUpWhatItDiedOf(facts.name()) && is_new_process) GiveUpTheFirstGiven(facts.name());
  OnDeviceHeard(facts.name(), hello.current());
}

// Trials that ran and of which the device has neither a runner nor a result: its process ended meanwhile, maybe because
// of them. Without this a module that restarts its board would be given to it for ever.
// True: there were some.
bool FarmCore::GiveUpWhatItDiedOf(const std::string& device) {
  const auto held = desk_.HeldBy(device);
  if (!held || !devices_[device].has_greeted) return false;
  bool has_any = false;
  for (const int64_t id : held->trials) {
    const OpenTrial* open = FindOpen(id);
    if (open == nullptr || open->state != TrialState::kRunning || HadWhenItGreeted(device, id)) continue;
    has_any |= FailAtHand(device, id, InfraFailure::kDeviceLost, fmt::format("device {} ended while it ran", device));
  }
  return has_any;
}

// The process before this one ended, and none of what it had been given is known to have run. The first may have ended
// it before that could be said. So it counts as a failure of the farm, and is not given out for ever; nobody is blamed.
void FarmCore::GiveUpTheFirstGiven(const std::string& device) {
  const auto held = desk_.HeldBy(device);
  if (!held) return;
  const DeviceView& view = devices_[device];
  for (const int64_t id : held->trials) {
    const auto spec = view.specs.find(id);
    const bool was_told = spec != view.specs.end() &&
                          std::ranges::find(view.told, TrialAttempt{id, spec->second.attempt()}) != view.told.end();
    if (!was_told || HadWhenItGreeted(device, id)) continue;
    FailAtHand(device, id, InfraFailure::kOther, fmt::format("device {} ended when it had been given this", device));
    return;
  }
}

// A runner, or a result.
bool FarmCore::HadWhenItGreeted(const std::string& device, int64_t trial) {
  const DeviceView& view = devices_[device];
  const auto spec = view.specs.find(trial);
  if (spec == view.specs.end()) return true;  // It was never told of it.
  return view.trials_at_greeting.contains({trial, spec->second.attempt()}) ||
         view.spooled_at_greeting.contains(std::string(ResultKey(spec->second, device).raw()));
}

// A trial at a device's hand is no more. False: it has no spec, or the device no row.
bool FarmCore::FailAtHand(const std::string& device, int64_t trial, InfraFailure failure, const std::string& words) {
  const auto held = desk_.HeldBy(device);
  const auto spec = devices_[device].specs.find(trial);
  const StatusOr<int64_t> device_id = leases_.IdOf(device);
  if (!held || spec == devices_[device].specs.end() || !device_id.ok()) return false;
  const AttemptFence fence{trial, spec->second.attempt(), *device_id, held->epoch};
  desk_.Finished(device, trial);
  desk_.Settled(device, trial);
  Perform("give up a trial", [this, fence, failure, words] {
    const auto failed = store_.FailAttempt(fence, failure, words);
    if (failed.ok()) {
      ++counters_.failed_attempts[failure];
      RefreshTrial(fence.trial_id);
    }
    return failed.status();
  });
  return true;
}

void FarmCore::OnDeviceDown(const std::string& device, const std::string&) {
  SetMeasuring(devices_[device], {});
  health_.Left(device);
  StepTracker(DeviceLeft{device});
}

// ---- The tracker's shell.

void FarmCore::StepTracker(const TrackerEvent& event) {
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

void FarmCore::Do(const PersistDevice& action) {
  Perform("register device " + action.record.name,
          [this, record = action.record] { return leases_.PersistDevice(record); });
}

void FarmCore::Do(const DeviceChange& action) {
  ports_.Log(fmt::format("device \"{}\" is {}: {}", action.device, DeviceStateName(action.to), action.reason));
  counts_devices_ = true;
  if (action.to == DeviceState::kOnline && health_.WantsCheck(action.device)) check_again_.Set(action.device, Now());
  if (action.to != DeviceState::kLost) return;
  health_.Lost(action.device);
  if (const LeaseRecord* lease = tracker_->LeaseOf(action.device); lease != nullptr && IsReservation(lease->request_id))
    return;  // It has no trials, and stays a person's.
  Perform("lose device " + action.device, [this, device = action.device] {
    const StatusOr<int64_t> id = leases_.IdOf(device);
    if (!id.ok()) return OkStatus();  // It has no row, so no trials.
    const StatusOr<std::vector<int64_t>> lost = store_.LoseDevice(*id);
    if (!lost.ok()) return lost.status();
    ++counters_.devices_lost;
    counters_.failed_attempts[InfraFailure::kDeviceLost] += static_cast<int64_t>(lost->size());
    for (const int64_t trial : *lost) RefreshTrial(trial);
    return OkStatus();
  });
}

void FarmCore::Do(const PersistGrant& action) {
  StatusOr<int64_t> id = Status(Unavailable("what happened before is not in the store yet"));
  if (effects_.empty()) id = leases_.IdOf(action.lease.device);
  if (!id.ok()) return OnGranted({action}, id.status());
  // A person's is answered in the call that asks for it; those of jobs wait for the disk together.
  if (IsReservation(action.lease.request_id))
    OnGranted({action, *id}, GrantTo(store_, {action, *id}));
  else
    ports_.Grant({action, *id});
}

void FarmCore::OnGranted(const LeaseGrant& grant, const StatusOr<int64_t>& epoch) {
  const LeaseRecord& lease = grant.grant.lease;
  Check(epoch.status(), "grant a lease");
  StepTracker(GrantCommitted{lease.device, lease.request_id, epoch.status(), epoch.ok() ? *epoch : 0});
  if (is_draining_ && epoch.ok()) StepTracker(LeaseReleased{lease.device, *epoch});
}

void FarmCore::Do(const PersistRenewal& action) {
  Check(leases_.PersistRenewal(action.device, action.epoch, action.ttl), "renew a lease");
}

void FarmCore::Do(const PersistEnd& action) {
  Perform("end a lease", [this, action] { return leases_.PersistEnd(action.device, action.epoch, action.why); });
  GoldenLeaseEnded(action.device, action.epoch);
}

void FarmCore::Do(const AnswerGranted& action) {
  ++counters_.leases_granted;
  if (IsHealthCheck(action.lease.request_id)) return BeginCheck(action.lease);
  if (IsReservation(action.lease.request_id)) return TellToRest(action.lease.device, action.lease.epoch);
  desk_.Granted(action.lease, Now());
  if (tracker_->devices().Find(action.lease.device)->service.service != DeviceService::kInService)
    desk_.Yield(action.lease.device);  // It was drained before this process began.
  // A lease from before a restart may have trials already; the device may even be at work on them, or have their
  // results.
  const StatusOr<int64_t> id = leases_.IdOf(action.lease.device);
  if (!Check(id.status(), "look up assigned trials")) return;
  std::vector<TrialRow> given;
  const Status listed =
      ForEachTrial(store_, {.device_id = *id, .states = {TrialState::kAssigned, TrialState::kRunning}},
                   [&](const TrialRow& trial) { given.push_back(trial); });
  if (!Check(listed, "look up assigned trials")) return;
  for (const TrialRow& trial : given)
    if (trial.epoch == action.lease.epoch) GiveTrial(action.lease.device, trial);
  GiveUpWhatItDiedOf(action.lease.device);
}

void FarmCore::Do(const AnswerEnded& action) {
  if (IsHealthCheck(action.request_id)) {
    check_again_.Set(action.device, Now() + kRetryAfter);
    return action.epoch > 0 ? TellToRest(action.device, action.epoch) : void();
  }
  ++counters_.leases_taken_back;
  ports_.Log(fmt::format("lease of \"{}\" ended: {}", action.device, action.reason));
  const auto held = desk_.HeldBy(action.device);
  desk_.Ended(action.device, action.epoch);
  if (!held || held->epoch != action.epoch) return;
  for (const int64_t trial : held->trials) RefreshTrial(trial);
  TellToRest(action.device, action.epoch);
}

void FarmCore::CountDevices() {
  counts_devices_ = false;
  for (auto& [id, job] : jobs_) desk_.SetDeviceCount(job.wish.ToString(), job.devices = CountDevices(job.wish));
}

int FarmCore::CountDevices(const DeviceWish& wish) const {
  return static_cast<int>(std::ranges::count_if(tracker_->devices().devices(), [&](const auto& entry) {
    return tracker_->devices().CanTakeLease(entry.first) && tracker_->devices().Suits(wish, entry.first);
  }));
}

// ---- Leases for jobs.

// Those it holds from before a restart: asking again with the same id gives the same lease, and what is assigned under
// it.
void FarmCore::TakeLeasesBack(Job& job) {
  UpdateDemand(job);
  CountDevices();
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
    StepTracker(RequestOf(job, lease.request_id));
  }
}

void FarmCore::PlanDevices() {
  for (int round = 0; round < kPlanRounds; ++round) {
    const std::vector<DeskAction> actions = desk_.Plan(Now());
    if (actions.empty()) break;
    for (const DeskAction& action : actions) std::visit([this](const auto& a) { Do(a); }, action);
    Claim(std::exchange(claims_, {}));
  }
  TellDevices();
}

LeaseRequested FarmCore::RequestOf(const Job& job, const std::string& request_id) const {
  return {.request_id = request_id,
          .wish = job.wish,
          .owner = {job.row.submitter, fmt::format("job-{}", job.row.id), job.spec.weight},
          .priority = job.spec.priority};
}

void FarmCore::Do(const AskForDevice& action) {
  if (const auto job = jobs_.find(action.job_id); job != jobs_.end())
    StepTracker(RequestOf(job->second, action.request_id));
}
void FarmCore::Do(const WithdrawAsking& action) { StepTracker(RequestWithdrawn{action.request_id}); }
void FarmCore::Do(const KeepLease& action) { StepTracker(LeaseRenewed{action.device, action.epoch}); }

void FarmCore::Do(const GiveBack& action) {
  TellToRest(action.device, action.epoch);
  StepTracker(LeaseReleased{action.device, action.epoch});
}

void FarmCore::Claim(const std::vector<ClaimTrial>& actions) {
  std::vector<MeasureClaim> claims;
  for (const ClaimTrial& action : actions) {
    const StatusOr<int64_t> id = leases_.IdOf(action.device);  // Unknown: the store says so.
    claims.push_back({id.ok() ? *id : 0, action.epoch, {.job_id = action.job_id}});
  }
  if (claims.empty()) return;
  const std::vector<StatusOr<std::optional<TrialRow>>> claimed = store_.ClaimMeasurements(claims);
  for (size_t i = 0; i < actions.size(); ++i) TakeClaimed(actions[i], claimed[i]);
}

void FarmCore::TakeClaimed(const ClaimTrial& action, const StatusOr<std::optional<TrialRow>>& claimed) {
  if (!Check(claimed.status(), "claim a trial") || !claimed->has_value() || !GiveTrial(action.device, **claimed))
    desk_.NothingToClaim(action.device, action.epoch, Now());
}

// Whoever had it has it no more. Else it would take up the old work when it comes back.
void FarmCore::TellToRest(const std::string& device, int64_t epoch) {
  v1::Desired nothing;
  nothing.set_epoch(epoch);
  (void)ports_.SetDesired(device, nothing);
  DeviceView& view = devices_[device];
  touched_.insert(device);
  view.specs.clear();
  view.told.clear();
  view.told_epoch = epoch;
}

// Makes the spec of an assigned trial and puts it at the device's hand. False if that cannot be.
bool FarmCore::GiveTrial(const std::string& device, const TrialRow& trial) {
  Job* job = JobOfTrial(trial.id);
  if (job == nullptr || !trial.module_digest) return false;
  OpenTrial& open = job->open.at(trial.id);
  const auto& prepared = job->prepared[open.task];
  const StatusOr<int64_t> size = ports_.BlobSize(*trial.module_digest);
  const bool is_prepared = open.is_final || prepared;
  if (!is_prepared || !size.ok()) {
    const InfraFailure failure = is_prepared ? InfraFailure::kArtifactLost : InfraFailure::kOther;
    const AttemptFence fence{trial.id, trial.attempt, trial.device_id.value_or(0), trial.epoch.value_or(0)};
    const char* words = is_prepared ? "its module is not in the blob store" : "its task is not prepared";
    GiveUp(fence, failure, words);
    return false;
  }
  const bool is_whole = open.is_final || open.trace_digest == prepared->untuned_trace;
  const TaskMeasurement& measurement = open.is_final ? job->finals[open.task].measurement : prepared->measurement;
  DeviceView& view = devices_[device];
  if (const auto held = desk_.HeldBy(device); held && held->trials.empty()) view.progressed = Now();
  view.specs[trial.id] =
      MakeMeasureSpec(measurement, trial, *size, is_whole ? 0 : job->plan.tasks()[open.task].best_ns);
  open.times.assigned = Now();
  open.attempt = trial.attempt;
  desk_.Claimed(device, *trial.epoch, trial.id);
  SetTrialState(*job, trial.id, trial.state);
  return true;
}

// The attempt fails, for reasons that say nothing about the candidate.
void FarmCore::GiveUp(const AttemptFence& fence, InfraFailure failure, const std::string& words) {
  ++counters_.failed_attempts[failure];
  Check(store_.FailAttempt(fence, failure, words).status(), "give up a trial");
  RefreshTrial(fence.trial_id);
}

void FarmCore::TellDevices() {
  touched_.merge(desk_.TakeChanged());
  for (const std::string& name : std::exchange(touched_, {})) {
    const auto view = devices_.find(name);
    if (view == devices_.end()) continue;  // It has not come yet.
    TellDevice(name, view->second);
    stalled_at_.Set(name, DueOf(name, view->second));
  }
}

void FarmCore::TellDevice(const std::string& name, DeviceView& view) {
  const auto held = desk_.HeldBy(name);
  if (!held) return;
  std::vector<const v1::MeasureSpec*> specs;
  for (const int64_t trial : held->trials) specs.push_back(&view.specs.at(trial));
  const std::optional<v1::MeasureSpec> canary = CanaryFor(name, *held);
  if (canary) specs.insert(specs.begin() + 1, &*canary);  // After what is being measured.
  if (specs.size() > kMaxDesiredSpecs) specs.pop_back();
  std::vector<TrialAttempt> wanted;
  for (const v1::MeasureSpec* spec : specs) wanted.push_back({spec->trial_id(), spec->attempt()});
  if (held->epoch == view.told_epoch && wanted == view.told) return;
  v1::Desired desired;
  desired.set_epoch(held->epoch);
  for (const v1::MeasureSpec* spec : specs) *desired.add_specs() = *spec;
  if (!ports_.SetDesired(name, std::move(desired)).ok()) return;  // It is away; the tracker knows.
  view.told = std::move(wanted);
  view.told_epoch = held->epoch;
  std::erase_if(view.specs, [&](const auto& entry) {
    return std::find(held->trials.begin(), held->trials.end(), entry.first) == held->trials.end();
  });
}

// ---- Clocks.

// The trial of these that runs; nullopt: none does.
std::optional<int64_t> FarmCore::RunningOf(const DeviceDesk::Held& held) const {
  for (const int64_t id : held.trials)
    if (const OpenTrial* open = FindOpen(id); open != nullptr && open->state == TrialState::kRunning) return id;
  return std::nullopt;
}

// When the device is given up if it does nothing until then; nullopt: nothing is expected of it.
std::optional<TimePoint> FarmCore::DueOf(const std::string& device, const DeviceView& view) const {
  const auto held = desk_.HeldBy(device);
  if (!held || held->trials.empty()) return std::nullopt;
  int64_t bytes = 0;
  if (const auto running = RunningOf(*held))
    return FindOpen(*running)->since + Duration(view.specs.at(*running).wall_limit_ns()) + kRunGrace;
  for (const int64_t id : held->trials)
    bytes += view.specs.at(id).module().size() + view.specs.at(id).reference().size();
  return view.progressed + kFetchAndStart + std::chrono::seconds(bytes / kSlowestBytesPerSecond);
}

void FarmCore::GiveUpTheStalled() {
  if (!uncommitted_.empty()) return;  // It may wait for us: results that are not committed fill its spool.
  for (const std::string& name : stalled_at_.TakeDue(Now())) {
    touched_.insert(name);
    if (const auto due = DueOf(name, devices_[name]); due && *due <= Now()) GiveUpStalled(name);
  }
}

// One attempt counts, since what it was given may be what it cannot do; the rest goes back uncounted.
void FarmCore::GiveUpStalled(const std::string& name) {
  DeviceView& view = devices_[name];
  const DeviceDesk::Held held = *desk_.HeldBy(name);
  const std::optional<int64_t> running = RunningOf(held);
  const v1::MeasureSpec& spec = view.specs.at(running.value_or(held.trials.front()));
  const std::string words =
      running ? fmt::format("it ran for {} s longer than its limit of {} s", kRunGrace / std::chrono::seconds(1),
                            spec.wall_limit_ns() / 1'000'000'000)
              : fmt::format("nothing came of it for {} s", (Now() - view.progressed) / std::chrono::seconds(1));
  if (const StatusOr<int64_t> id = leases_.IdOf(name); id.ok()) {
    const AttemptFence fence{spec.trial_id(), spec.attempt(), *id, held.epoch};
    desk_.Finished(name, fence.trial_id);
    desk_.Settled(name, fence.trial_id);
    GiveUp(fence, InfraFailure::kOther, fmt::format("at device {}: {}", name, words));
  }
  view.progressed = Now();
  touched_.insert(name);
  StepTracker(DeviceStalled{name, fmt::format("trial {}: {}", spec.trial_id(), words)});
}

// ---- Progress and results.

// What a call takes at least by the peak that the devices of the class measured; 0: unknown.
double FarmCore::FloorOf(const Job& job, size_t task) const {
  const auto& prepared = job.prepared[task];
  const auto facts = classes_.find(job.tasks[task].key.device_class);
  if (!prepared || facts == classes_.end()) return 0;
  const double peak = prepared->is_float32 ? facts->second.peak_gflops : facts->second.peak_gops;
  return peak > 0 ? prepared->flops / peak : 0;
}

// An artifact may come to any device of the class.
void FarmCore::CollectClassFacts(const std::string& key) {
  ClassFacts facts;
  for (const auto& [name, view] : devices_) {
    if (view.key != key) continue;
    facts.peak_gflops = std::max(facts.peak_gflops, view.peak_gflops);
    facts.peak_gops = std::max(facts.peak_gops, view.peak_gops);
    facts.kernel_abi = std::min(facts.kernel_abi, std::max(view.kernel_abi, 1u));
  }
  classes_[key] = facts;
}

// A time that no machine of the class can reach is none: a clock that jumped, a kernel that returned early.
void FarmCore::RefuseImpossible(v1::MeasureResult& result) {
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

void FarmCore::OnDeviceHeard(const std::string& device, const v1::Current& current) {
  StepTracker(DeviceHeard{device});
  DeviceView& view = devices_[device];
  touched_.insert(device);
  const StatusOr<int64_t> id = leases_.IdOf(device);
  if (id.ok() && Now() - view.heartbeat_stored >= kStoreHeartbeatEvery) {
    view.heartbeat_stored = Now();
    Check(store_.Heartbeat(*id), "store a heartbeat");
  }
  v1::Current declared = current;
  declared.clear_free_disk_bytes();
  const std::string former = std::exchange(view.declared, declared.SerializeAsString());
  if (former != view.declared) view.progressed = Now();
  std::set<int64_t> measuring;
  for (const v1::Current::Trial& trial : current.trials()) {
    if (trial.phase() != v1::TRIAL_PHASE_MEASURING || trial.trial_id() < 0) continue;
    measuring.insert(trial.trial_id());
    const OpenTrial* open = FindOpen(trial.trial_id());
    if (open == nullptr || open->state != TrialState::kAssigned) continue;
    begun_.push_back({trial.trial_id(), trial.attempt(), id.ok() ? *id : 0, trial.epoch()});
  }
  SetMeasuring(view, std::move(measuring));
}

void FarmCore::NoteBegun() {
  const std::vector<AttemptFence> begun = std::exchange(begun_, {});
  if (begun.empty()) return;
  const std::vector<StatusOr<bool>> moved = store_.AdvanceTrials(begun, TrialState::kRunning);
  for (size_t i = 0; i < begun.size(); ++i) {
    if (!Check(moved[i].status(), "note that a trial runs") || !*moved[i]) continue;
    Job* job = JobOfTrial(begun[i].trial_id);
    if (job == nullptr || job->open.at(begun[i].trial_id).state != TrialState::kAssigned) continue;
    job->open.at(begun[i].trial_id).times.running = Now();
    SetTrialState(*job, begun[i].trial_id, TrialState::kRunning);
  }
}

void FarmCore::SetMeasuring(DeviceView& view, std::set<int64_t> trials) {
  for (const int64_t trial : view.measuring) NoteMeasuredNow(trial, false);
  view.measuring = std::move(trials);
  for (const int64_t trial : view.measuring) NoteMeasuredNow(trial, true);
}

void FarmCore::OnResult(v1::MeasureResult result) {
  if (result.trial_id() < 0) return TakeGolden(result);
  RefuseImpossible(result);
  Job* job = JobOfTrial(result.trial_id());
  const bool is_latest = job != nullptr && job->open.at(result.trial_id()).attempt == result.attempt();
  const auto held = desk_.HeldBy(result.device());
  // The device's next trial is begun before this one is on disk.
  if (held && held->epoch == result.epoch() && is_latest) desk_.Finished(result.device(), result.trial_id());
  if (const auto view = devices_.find(result.device()); view != devices_.end()) {
    if (view->second.measuring.erase(result.trial_id()) > 0) NoteMeasuredNow(result.trial_id(), false);
    view->second.progressed = Now();
    touched_.insert(result.device());
  }
  if (is_latest) {
    OpenTrial& open = job->open.at(result.trial_id());
    open.times.result = Now();
    open.idle_ns = result.idle_ns();
    open.measure_ns = result.measure_ns();
  }
  const StatusOr<int64_t> id = leases_.IdOf(result.device());
  if (id.ok()) ports_.Commit({std::move(result), *id});
}

void FarmCore::SendAcknowledgements() {
  for (const auto& [device, key, verdict] : std::exchange(acknowledgements_, {}))
    ports_.Acknowledge(device, key, verdict);
}

void FarmCore::RetryCommits() {
  if (!retry_commits_at_ || Now() < *retry_commits_at_) return;
  retry_commits_at_.reset();
  for (ResultCommit& commit : std::exchange(uncommitted_, {})) ports_.Commit(std::move(commit));
}

// A device that gives up one trial after the other, because its disk is full, is trouble; a single trial may have
// itself to blame. Without this nobody would hear of it: such trials wait, are tried again, and nothing fails here.
void FarmCore::NoteHealth(const v1::MeasureResult& result) {
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

void FarmCore::NoteAnswer(const v1::MeasureResult& result, const StatusOr<CommitAnswer>& answer) {
  if (!answer.ok()) return;
  if (answer->ack == Ack::kStale) ++counters_.results_stale;
  if (answer->ack == Ack::kDuplicate) ++counters_.results_repeated;
  if (answer->ack != Ack::kAccepted) return;
  NoteStrike(result);
  ++counters_.results_accepted;
  if (const std::optional<RunResult> row = ToRunResult(result, 0))
    ++counters_.measurements[row->outcome];
  else
    ++counters_.failed_attempts[InfraFailure::kOther];
}

void FarmCore::ObserveTimes(const TrialTimes& times, int64_t idle_ns, int64_t measure_ns) {
  if (times.result == TimePoint{}) return;
  counters_.result_to_commit.Add(times.committed - times.result);
  if (times.built != TimePoint{}) counters_.built_to_commit.Add(times.committed - times.built - Duration(measure_ns));
  if (idle_ns >= 0) counters_.device_idle.Add(Duration(idle_ns));
}

void FarmCore::OnCommitted(const ResultCommit& commit, const StatusOr<CommitAnswer>& answer) {
  const v1::MeasureResult& result = commit.result;
  if (!answer.ok() && IsWorthRetrying(answer.status().code())) {
    Check(answer.status(), "commit a result");
    uncommitted_.push_back(commit);
    retry_commits_at_ = Now() + kRetryAfter;
    return;
  }
  // Only now may the device forget it.
  if (const StatusOr<Digest> key = Digest::FromBytes(result.key()); key.ok())
    acknowledgements_.push_back({result.device(), *key, answer.ok() ? VerdictOf(answer->ack) : v1::ACK_VERDICT_STALE});
  NoteHealth(result);
  NoteAnswer(result, answer);
  if (answer.ok() && distrusted_since_.contains(result.device())) distrust_again_.insert(result.device());
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
    if (job != nullptr) GiveUp(FenceOf(commit), InfraFailure::kOther, answer.status().message());
    return;
  }
  // Once it is in the store the trial may be given out again, even before this is heard of.
  if (job == nullptr || job->open.at(result.trial_id()).attempt > result.attempt()) return;
  if (answer->ack == Ack::kStale && !answer->record_id) return RefreshTrial(result.trial_id());
  OpenTrial& open = job->open.at(result.trial_id());
  open.times.committed = Now();
  ObserveTimes(open.times, open.idle_ns, open.measure_ns);
  if (!IsTerminal(answer->trial_state)) {
    SetTrialState(*job, result.trial_id(), answer->trial_state);
    return RefreshTrial(result.trial_id());  // It may have been given out and have failed since.
  }
  if (open.times.result != TimePoint{} && !open.is_final) job->latencies.Add(open.times, open.idle_ns, open.measure_ns);
  const std::optional<RunResult> row = ToRunResult(result, 0);
  EndTrial(*job, result.trial_id(), answer->trial_state, row ? row->timings : std::nullopt);
}

}  // namespace lathe
