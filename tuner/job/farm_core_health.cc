// The core's care for the health of devices: the golden kernel built, measured under a lease of the farm's own or among
// a job's trials, and what follows from it (device_health.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/codegen/llvm/compile_module.h"
#include "tuner/job/farm_core.h"
#include "tuner/measure/golden.h"

namespace lathe {
namespace {

constexpr Duration kCheckLasts = std::chrono::seconds(60);      // Its lease.
constexpr Duration kCheckPatience = std::chrono::seconds(45);   // Until a device that says nothing of it has failed.
constexpr Duration kClaimAgainAfter = std::chrono::seconds(5);  // A device that somebody has.

bool IsFailed(v1::MeasureStatus status) {
  return status == v1::MEASURE_STATUS_CRASH || status == v1::MEASURE_STATUS_INFRA_FAILED;
}
bool IsMeasured(v1::MeasureStatus status) {
  return status == v1::MEASURE_STATUS_OK || status == v1::MEASURE_STATUS_NOISY || status == v1::MEASURE_STATUS_CENSORED;
}

GoldenResult::Outcome OutcomeOf(v1::MeasureStatus status) {
  switch (status) {
    case v1::MEASURE_STATUS_OK:
      return GoldenResult::Outcome::kTimed;
    case v1::MEASURE_STATUS_NOISY:
      return GoldenResult::Outcome::kNoisy;
    case v1::MEASURE_STATUS_WRONG_RESULT:
      return GoldenResult::Outcome::kWrong;
    default:
      return GoldenResult::Outcome::kDied;
  }
}

// What devices with one baseline have in common, beside the key.
std::string ModelOf(const std::string& arch, const std::string& cpu) { return arch + " " + cpu; }

int64_t ToUnix(const std::optional<TimePoint>& at, TimePoint now, int64_t unix_now) {
  return at ? unix_now + (*at - now).count() : 0;
}
std::optional<TimePoint> FromUnix(int64_t unix_ns, TimePoint now, int64_t unix_now) {
  return unix_ns == 0 ? std::nullopt : std::optional(now + Duration(unix_ns - unix_now));
}

}  // namespace

// ---- What is kept.

void FarmCore::RestoreHealth(const std::vector<DeviceRow>& devices) {
  const TimePoint now = Now();
  const int64_t unix_now = clock_.UnixNanos();
  for (const DeviceRow& device : devices) {
    const HealthRow& row = device.health;
    // Released by a person, and the process before this one could not write more.
    const bool was_released = row.state == HealthState::kBad && device.service.service == DeviceService::kInService;
    const nlohmann::json facts = nlohmann::json::parse(device.facts, nullptr, /*allow_exceptions=*/false);
    const std::string model = facts.is_object() ? ModelOf(facts.value("arch", ""), facts.value("cpu_model", "")) : "";
    health_.Restore(device.name, device.device_class, model,
                    {.state = was_released ? HealthState::kProbation : row.state,
                     .words = row.words,
                     .golden_ns = row.golden_ns,
                     .golden_module = row.golden_module.value_or(Digest()),
                     .failed_checks = row.failed_checks,
                     .checked_at = FromUnix(row.checked_unix_ns, now, unix_now),
                     .probe_at = FromUnix(row.probe_unix_ns, now, unix_now)});
  }
  // Nobody knows any more what was measured under these.
  std::vector<LeaseRecord> left;
  for (const auto& [name, entry] : tracker_->devices().devices())
    if (const LeaseRecord* lease = tracker_->LeaseOf(name); lease != nullptr && IsHealthCheck(lease->request_id))
      left.push_back(*lease);
  for (const LeaseRecord& lease : left) StepTracker(LeaseReleased{lease.device, lease.epoch});
}

void FarmCore::Do(const SaveHealth& action) {
  const DeviceHealth health = health_.Of(action.device);
  const TimePoint now = Now();
  const int64_t unix_now = clock_.UnixNanos();
  HealthRow row{.state = health.state,
                .words = health.words,
                .golden_ns = health.golden_ns,
                .failed_checks = health.failed_checks,
                .checked_unix_ns = ToUnix(health.checked_at, now, unix_now),
                .probe_unix_ns = ToUnix(health.probe_at, now, unix_now)};
  if (health.golden_ns > 0) row.golden_module = health.golden_module;
  Perform("note the health of device " + action.device, [this, row, device = action.device] {
    const StatusOr<int64_t> id = leases_.IdOf(device);
    return id.ok() ? store_.SetDeviceHealth(*id, row) : id.status();
  });
}

void FarmCore::Apply(const DeviceHealthTable::Actions& actions) {
  for (const HealthAction& action : actions) std::visit([this](const auto& a) { Do(a); }, action);
}

// It said what it is; whether anybody else may have it is decided before it is lent.
DeviceHealthTable::Actions FarmCore::GreetHealth(const v1::DeviceFacts& facts, bool is_new_process) {
  if (!options_.checks_devices) return {};
  DeviceView& view = devices_[facts.name()];
  view.golden_target = GoldenTarget(facts.arch()).value_or("");
  const std::string model = ModelOf(facts.arch(), facts.cpu_model());
  DeviceHealthTable::Actions actions = health_.Connected(facts.name(), facts.key(), model, is_new_process, Now());
  if (health_.WantsCheck(facts.name()) && GoldenOf(view) != nullptr) HoldBack(facts.name(), true);
  TellToCheck(facts.name());  // What a process that ended was told to do is not told to the next one.
  return actions;
}

// ---- The golden kernel.

// Null: there is none yet, or never will be.
const GoldenModule* FarmCore::GoldenOf(const DeviceView& view) {
  if (view.golden_target.empty()) return nullptr;
  const GoldenFor what{view.golden_target,
                       std::clamp<uint32_t>(view.kernel_abi, 1, uint32_t{LATHE_KERNEL_ABI_VERSION})};
  const GoldenModule* module = goldens_.Get(what);
  if (module == nullptr) return nullptr;
  if (HasGoldenReference() && ports_.HasBlob(module->digest, module->size_bytes)) return module;
  goldens_.Lost(what);
  return nullptr;
}

bool FarmCore::HasGoldenReference() {
  const Reference& reference = Golden().measurement.reference;
  return ports_.HasBlob(reference.blob, reference.size_bytes);
}

// True: one was given to the worker.
bool FarmCore::AssignGolden(const std::string& worker) {
  if (workers_.CodegenVersion(worker) != kCodegenVersion) return false;
  const std::optional<GoldenFor> what = goldens_.Next(Now());
  if (!what) return false;
  v1::BuildTask build;
  build.set_trial_id(NewGoldenId());
  build.set_attempt(1);
  build.set_workload(std::string(Golden().workload.digest.raw()));
  build.set_trace_json(Golden().trace_json);
  build.set_target(what->target);
  build.set_time_limit_ns(options_.build_time_limit.count());
  build.set_kernel_abi(what->kernel_abi);
  build.set_may_spill(true);
  goldens_.Begun(*what, build.trial_id(), worker, Now() + BuildPatience());
  workers_.Assign(worker, std::move(build));
  return true;
}

// Names a run or a build of the golden kernel; no trial has one below 0, and none of an earlier process was the same.
int64_t FarmCore::NewGoldenId() {
  last_golden_id_ = std::min(last_golden_id_ - 1, -clock_.UnixNanos());
  return last_golden_id_;
}

void FarmCore::TakeGoldenBuild(const std::string& worker, const v1::BuildState& state) {
  workers_.Done(worker, state.trial_id(), state.attempt());
  const StatusOr<Digest> digest = Digest::FromBytes(state.artifact().digest());
  if (!state.has_artifact() || !digest.ok() || !ports_.HasBlob(*digest, state.artifact().size())) {
    ports_.Log("build the golden kernel: " + state.failure().message());
    return goldens_.Failed(state.trial_id(), Now());
  }
  const Status stored = ports_.PutBlob(Golden().reference).status();
  if (!Check(stored, "keep the golden kernel's reference")) return goldens_.Failed(state.trial_id(), Now());
  if (!goldens_.Built(state.trial_id(), {*digest, state.artifact().size()})) return;
  ports_.Pin(*digest);
  ports_.Pin(Golden().measurement.reference.blob);
  for (const std::string& device : std::exchange(unchecked_, {})) TryToCheck(device);
}

v1::MeasureSpec FarmCore::GoldenSpec(const GoldenRun& run, const GoldenModule& module) {
  const TrialRow trial{.id = run.id, .attempt = 1, .epoch = run.epoch, .module_digest = module.digest};
  return MakeMeasureSpec(Golden().measurement, trial, module.size_bytes, 0);
}

// ---- A check: the device is nobody else's.

void FarmCore::TryToCheck(const std::string& device) {
  const DeviceEntry* entry = tracker_->devices().Find(device);
  if (!options_.checks_devices || entry == nullptr || !health_.WantsCheck(device)) return;
  const auto run = golden_runs_.find(device);
  if (run != golden_runs_.end() && !run->second.is_canary) return;
  if (entry->service.service == DeviceService::kDrained) return;  // When it is back in service.
  if (GoldenOf(devices_[device]) == nullptr) {
    unchecked_.insert(device);
    return HoldBack(device, false);
  }
  HoldBack(device, true);
  if (tracker_->leases().CanBeClaimed(device))
    return StepTracker(LeaseClaimed{device, HealthCheckId(device), kCheckLasts});
  desk_.Yield(device);
  check_again_.Set(device, Now() + kClaimAgainAfter);
}

void FarmCore::HoldBack(const std::string& device, bool is_held_back) {
  if (tracker_->devices().IsHeldBack(device) != is_held_back) StepTracker(DeviceHeldBack{device, is_held_back});
}

void FarmCore::BeginCheck(const LeaseRecord& lease) {
  DeviceView& view = devices_[lease.device];
  const GoldenModule* module = GoldenOf(view);
  if (module == nullptr || !health_.WantsCheck(lease.device)) {
    StepTracker(LeaseReleased{lease.device, lease.epoch});
    return TryToCheck(lease.device);
  }
  golden_runs_[lease.device] = {NewGoldenId(), lease.epoch, false};
  golden_due_.Set(lease.device, Now() + kCheckPatience);
  TellToCheck(lease.device);
}

// Also a process that is another one than the one that was told.
void FarmCore::TellToCheck(const std::string& device) {
  const auto run = golden_runs_.find(device);
  if (run == golden_runs_.end() || run->second.is_canary) return;
  DeviceView& view = devices_[device];
  const GoldenModule* module = GoldenOf(view);
  if (module == nullptr) return;
  v1::Desired desired;
  desired.set_epoch(run->second.epoch);
  *desired.add_specs() = GoldenSpec(run->second, *module);
  (void)ports_.SetDesired(device, std::move(desired));
  view.told_epoch = -1;
}

// Its lease is over, and nobody has said how the golden kernel went.
void FarmCore::GoldenLeaseEnded(const std::string& device, int64_t epoch) {
  const auto run = golden_runs_.find(device);
  if (run != golden_runs_.end() && run->second.epoch == epoch) {
    golden_runs_.erase(run);
    golden_due_.Clear(device);
  }
  if (health_.WantsCheck(device)) check_again_.Set(device, Now());
}

// ---- A canary: among the trials of a job.

// Null: none is due.
std::optional<v1::MeasureSpec> FarmCore::CanaryFor(const std::string& device, const DeviceDesk::Held& held) {
  if (!options_.checks_devices || held.trials.empty()) return std::nullopt;
  const auto run = golden_runs_.find(device);
  const bool is_under_way = run != golden_runs_.end() && run->second.epoch == held.epoch;
  if (!is_under_way && !health_.WantsCanary(device, Now())) return std::nullopt;
  const GoldenModule* module = GoldenOf(devices_[device]);
  if (module == nullptr) return std::nullopt;
  if (!is_under_way) golden_runs_[device] = {NewGoldenId(), held.epoch, true};
  return GoldenSpec(golden_runs_.at(device), *module);
}

// ---- What came of it.

void FarmCore::TakeGolden(const v1::MeasureResult& result) {
  const std::string& device = result.device();
  if (const StatusOr<Digest> key = Digest::FromBytes(result.key()); key.ok())
    acknowledgements_.push_back({device, *key, v1::ACK_VERDICT_ACK});
  const auto it = golden_runs_.find(device);
  const StatusOr<Digest> module = Digest::FromBytes(result.module_digest());
  if (it == golden_runs_.end() || it->second.id != result.trial_id() || !module.ok()) return;
  if (result.status() == v1::MEASURE_STATUS_INFRA_FAILED && GoldenOf(devices_[device]) == nullptr)
    return GoldenLost(device);
  const std::optional<RunResult> run = ToRunResult(result, 0);
  const std::string_view how = run ? TrialStateName(run->outcome) : "INFRA_FAILED";
  GoldenResult golden{
      .outcome = OutcomeOf(result.status()), .module = *module, .words = fmt::format("{}: {}", how, result.message())};
  if (run && run->timings) golden.median_ns = run->timings->median_ns;
  if (golden.outcome == GoldenResult::Outcome::kTimed && golden.median_ns <= 0)
    golden.outcome = GoldenResult::Outcome::kDied;
  GoldenEnded(device, std::move(golden));
}

// We had not what it should fetch: that says nothing about it.
void FarmCore::GoldenLost(const std::string& device) {
  const GoldenRun run = golden_runs_.at(device);
  golden_runs_.erase(device);
  golden_due_.Clear(device);
  if (run.is_canary) return;
  TellToRest(device, run.epoch);
  StepTracker(LeaseReleased{device, run.epoch});
}

void FarmCore::GoldenEnded(const std::string& device, GoldenResult result) {
  const GoldenRun run = golden_runs_.at(device);
  golden_runs_.erase(device);
  golden_due_.Clear(device);
  result.is_canary = run.is_canary;
  const DeviceHealthTable::Actions actions = health_.GoldenEnded(device, result, Now());
  if (run.is_canary) {
    ++counters_.canaries;
    counters_.canary_drift[devices_[device].key] = health_.DriftOf(device);
  } else {
    ++counters_.checks;
    TellToRest(device, run.epoch);
    StepTracker(LeaseReleased{device, run.epoch});
  }
  Apply(actions);
  touched_.insert(device);
  looks_again_ = true;
}

void FarmCore::NoteStrike(const v1::MeasureResult& result) {
  const StatusOr<Digest> module = Digest::FromBytes(result.module_digest());
  if (!options_.checks_devices || !module.ok()) return;
  health_.TrialEnded(result.device(), *module,
                     IsMeasured(result.status()) ? TrialEnd::kWell
                     : IsFailed(result.status()) ? TrialEnd::kFailed
                                                 : TrialEnd::kNeither);
}

// ---- What follows.

void FarmCore::Do(const CheckDevice& action) { TryToCheck(action.device); }

void FarmCore::Do(const PassDevice& action) {
  distrusted_since_.erase(action.device);
  const DeviceEntry* entry = tracker_->devices().Find(action.device);
  if (entry != nullptr && entry->service.service == DeviceService::kQuarantined) SetServiceOfOurs(action.device, {});
  HoldBack(action.device, false);
  counts_devices_ = true;
}

void FarmCore::Do(const QuarantineDevice& action) {
  ++counters_.quarantines;
  SetServiceOfOurs(action.device, {DeviceService::kQuarantined, action.words});
  HoldBack(action.device, false);
  counts_devices_ = true;
}

// At once here, and in the store as soon as it can: what is distrusted gets nothing meanwhile.
void FarmCore::SetServiceOfOurs(const std::string& device, const ServiceState& service) {
  ports_.Log(fmt::format("device \"{}\" is {}{}{}", device, DeviceServiceName(service.service),
                         service.reason.empty() ? "" : ": ", service.reason));
  Perform("set the service of device " + device,
          [this, device, service] { return leases_.PersistService(device, service, "the farm"); });
  StepTracker(DeviceServiceSet{device, service});
}

void FarmCore::Do(const DistrustSince& action) {
  distrusted_since_[action.device] = action.since;
  const int64_t since = ToUnix(action.since, Now(), clock_.UnixNanos());
  Perform("distrust what device " + action.device + " measured", [this, since, device = action.device] {
    const StatusOr<int64_t> id = leases_.IdOf(device);
    const StatusOr<int64_t> records = id.ok() ? store_.DistrustRecords(*id, since) : id;
    if (!records.ok()) return records.status();
    ports_.Log(fmt::format("{} records of device \"{}\" are not believed any more", *records, device));
    if (*records > 0) CountAnew();
    return OkStatus();
  });
}

// Of all tasks at work: what was measured in time, and the best of it.
void FarmCore::CountAnew() {
  for (auto& [id, job] : jobs_) {
    for (size_t task = 0; task < job.tasks.size(); ++task) {
      TaskStanding& standing = job.plan.task(task);
      standing.counted = CountBudget(job, task);
      const auto best = store_.QueryBest(std::span(&job.tasks[task].key, 1));
      if (best.ok())
        standing.best_ns = best->front().lookup == Lookup::kHit ? best->front().record->timings->median_ns : 0;
    }
  }
  looks_again_ = true;
}

// ---- Time.

void FarmCore::AdvanceHealth() {
  if (!options_.checks_devices) return;
  const TimePoint now = Now();
  if (const std::vector<int64_t> stalled = goldens_.GiveUpDue(now); !stalled.empty()) (void)workers_.Withdraw(stalled);
  Apply(health_.PassTime(now));
  for (const std::string& device : golden_due_.TakeDue(now))
    GoldenEnded(device, {.words = fmt::format("nothing came of it in {} s", kCheckPatience / std::chrono::seconds(1))});
  for (const std::string& device : check_again_.TakeDue(now)) TryToCheck(device);
  for (const std::string& device : std::exchange(distrust_again_, {}))
    if (const auto since = distrusted_since_.find(device); since != distrusted_since_.end())
      Do(DistrustSince{device, since->second});
}

std::optional<TimePoint> FarmCore::NextHealthDeadline(TimePoint now) const {
  std::optional<TimePoint> next;
  if (!options_.checks_devices) return next;
  for (const auto& at : {health_.NextDeadline(), golden_due_.First(), check_again_.First(), goldens_.NextDeadline(now)})
    if (at && (!next || *at < *next)) next = at;
  return next;
}

// In words, for `lathe devices`.
std::string FarmCore::HealthWords(const std::string& device) {
  const DeviceHealth& health = health_.Of(device);
  if (!options_.checks_devices) return "";
  const auto view = devices_.find(device);
  if (health.state == HealthState::kProbation && view != devices_.end() && unchecked_.contains(device))
    return view->second.golden_target.empty()
               ? "unchecked: no code is generated for its architecture"
               : "unchecked: no worker of the server's release has built the golden kernel";
  if (health.state != HealthState::kGood)
    return fmt::format("{}{}{}", HealthStateName(health.state), health.words.empty() ? "" : ": ", health.words);
  const double drift = health_.DriftOf(device);
  return std::abs(drift) > kDriftNoted ? fmt::format("good, its golden kernel is {:+.0f} % off", drift * 100) : "good";
}

}  // namespace lathe
