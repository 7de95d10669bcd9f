#include "tuner/job/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/codegen/llvm/compile_module.h"
#include "rpc/device_message.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/job/coordinator_impl.h"
#include "tuner/search/evolutionary_search.h"

namespace lathe {
namespace {

constexpr Duration kLookAgainAfter = std::chrono::seconds(1);  // At what waits while there is trouble.
constexpr int kCommitters = 2;  // While one waits for the disk, the next result joins the following group.

std::optional<TimePoint> Earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// One model for all tasks of a job: what is learned from one helps to rank another. It begins with what other workloads
// taught.
StrategyFactory MakeEvolutionUnderXgb(std::shared_ptr<const BaseModel> base) {
  const std::shared_ptr<CostModel> model = MakeXgbModel({}, std::move(base));
  return [model](const TuneTask& task, uint64_t seed, ModelReportSink on_update) {
    return MakeEvolutionarySearch(task, *model, seed, {.on_update = std::move(on_update)});
  };
}

CoordinatorOptions WithDefaults(CoordinatorOptions options, SharedBlobs& blobs) {
  if (!options.base_model) options.base_model = BuiltInBaseModel();
  if (!options.searches) options.searches = [base = options.base_model] { return MakeEvolutionUnderXgb(base); };
  if (!options.schedulers) options.schedulers = [] { return MakeGradientScheduler(); };
  options.reference_options.directory = options.directory + "/references";
  if (!options.references) {
    options.references = [maker = options.reference_options, &blobs] {
      return std::make_unique<ReferenceMaker>(maker, blobs);
    };
  }
  return options;
}

}  // namespace

Coordinator::Impl::Impl(CoordinatorOptions options, std::unique_ptr<Store> store, std::unique_ptr<SharedBlobs> blobs,
                        QuietGate& gate)
    : options_(WithDefaults(std::move(options), *blobs)),
      clock_(*options_.clock),
      store_(std::move(store)),
      blobs_(std::move(blobs)),
      gate_(gate),
      leases_(*store_, clock_),
      loop_([this] { return After(); }) {}

Status Coordinator::Impl::Start() {
  ASSIGN_OR_RETURN(const TrackerSnapshot snapshot, leases_.LoadTracker());
  tracker_ = std::make_unique<TrackerCore>(snapshot, Now());
  RETURN_IF_ERROR(ForEachTrial(*store_, {.states = {TrialState::kBuilding}}, [&](const TrialRow& trial) {
    workers_.Restore(trial.worker, Now());  // Builds of workers that may come back.
  }));
  if (options_.resumes_jobs) {
    for (int64_t after = 0;;) {
      ASSIGN_OR_RETURN(const std::vector<JobRow> rows, store_->ListJobs({after, 1000}));
      for (const JobRow& row : rows) {
        if (!IsTerminal(row.state)) RETURN_IF_ERROR(Resume(row.id));
      }
      if (rows.size() < 1000) break;
      after = rows.back().id;
    }
  }
  gateway_ =
      std::make_unique<DeviceGateway>(DeviceGatewayOptions{.build_id = options_.build_id, .log = options_.log}, *this);
  for (int i = 0; i < kCommitters; ++i) committers_.emplace_back([this] { RunCommits(); });
  loop_.Start();
  return OkStatus();
}

// A job that cannot be read fails by itself: the others have done nothing. What may be readable later is left as it is.
Status Coordinator::Impl::Resume(int64_t job_id) {
  const Status taken_up = TakeUp(job_id);
  if (taken_up.ok() || taken_up.code() == StatusCode::kUnavailable) return taken_up;
  options_.log(fmt::format("take up job {}: {}", job_id, taken_up.message()));
  Forget(job_id);
  return store_->SetJobState(job_id, JobState::kFailed, taken_up.message(), UnixNow());
}

Coordinator::Impl::~Impl() {
  is_stopping_ = true;
  commits_.Close();
  for (std::thread& thread : committers_) thread.join();
  loop_.Post([this] {
    is_draining_ = true;
    for (auto& [id, job] : jobs_) job.search.reset();
    TurnWorkersAway();
  });
  loop_.Stop();
  endings_.clear();
  gateway_.reset();
}

bool Coordinator::Impl::Check(const Status& status, std::string_view what) {
  if (status.ok())
    troubles_.Succeeded(what);
  else if (troubles_.Failed(what, status.message(), Now()))
    options_.log(fmt::format("{}: {}", what, status.message()));
  return status.ok();
}

// Whatever has come due, and whatever follows from what has just happened; then when to look again.
std::optional<TimePoint> Coordinator::Impl::After() {
  if (is_draining_ || is_stopping_) return std::nullopt;
  const TimePoint now = Now();
  if (const Duration pause = watch_.TakePause(); pause > Duration(0)) RenewAfterPause(pause);
  RetryEffects();
  if (const auto due = tracker_->NextDeadline(); due && *due <= now) StepTracker(TimePassed{});
  for (const std::string& worker : workers_.PassTime(now)) {
    adopted_workers_.erase(worker);
    Perform("lose worker " + worker, [this, worker] {
      const StatusOr<std::vector<int64_t>> lost = store_->LoseWorker(worker, UnixNow());
      if (!lost.ok()) return lost.status();
      options_.log(fmt::format("worker \"{}\" is gone; {} builds go back to the queue", worker, lost->size()));
      for (const int64_t trial : *lost) RefreshTrial(trial);
      return OkStatus();
    });
  }
  std::vector<int64_t> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (const int64_t id : ids) {
    if (const auto it = jobs_.find(id); it != jobs_.end()) Advance(it->second);
  }
  AssignBuilds();
  PlanDevices();
  AnswerPolls();

  std::optional<TimePoint> next = Earlier(tracker_->NextDeadline(), workers_.NextDeadline());
  next = Earlier(next, desk_.NextDeadline());
  next = Earlier(next, retry_effects_at_);
  for (const auto& [worker, polls] : polls_) {
    for (const Poll& poll : polls) next = Earlier(next, poll.deadline);
  }
  if (troubles_.Worst(now)) next = Earlier(next, now + kLookAgainAfter);
  for (const auto& [id, job] : jobs_) {
    next = Earlier(next, job.retry_at);
    if (job.spec.time_limit > Duration(0) && !job.has_timed_out)
      next = Earlier(next, job.taken_up + job.spec.time_limit);
    if (job.waits_since) next = Earlier(next, *job.waits_since + std::chrono::seconds(1));
  }
  // Deadlines that have passed meanwhile are looked at at once, but never in a tight circle.
  if (next) next = std::max(*next, Now() + std::chrono::microseconds(100));
  watch_.WaitsUntil(next);
  return next ? std::optional(watch_.ByClock(*next)) : std::nullopt;
}

// The stored ends of leases are wall-clock times, which went on.
void Coordinator::Impl::RenewAfterPause(Duration pause) {
  options_.log(fmt::format("was stopped for {} s; nobody's silence meanwhile counts",
                           std::chrono::duration_cast<std::chrono::seconds>(pause).count()));
  for (const auto& [name, entry] : tracker_->devices().devices()) {
    if (const LeaseRecord* lease = tracker_->LeaseOf(name)) Do(PersistRenewal{name, lease->epoch});
  }
}

void Coordinator::Impl::Perform(std::string what, std::function<Status()> effect) {
  effects_.push_back({std::move(what), std::move(effect)});
  if (effects_.size() == 1) RetryEffects();
}

void Coordinator::Impl::RetryEffects() {
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

// ---- Clients.

StatusOr<JobRow> Coordinator::Impl::Submit(const JobRequest& request) {
  RETURN_IF_ERROR(CheckDeviceName("device key", request.device_key));
  NewJob job{request.request_id, request.name, request.spec.ToJson(), {}};
  for (const TaskRequest& task : request.tasks) {
    ASSIGN_OR_RETURN(const Workload stored, store_->PutWorkload(task.workload, UnixNow()));
    job.tasks.push_back(
        {KeyFor(stored.digest, task.target, request.device_key), task.name, task.weight, task.trial_budget});
  }
  ASSIGN_OR_RETURN(const CreatedJob created, store_->CreateJob(job, UnixNow()));
  RETURN_IF_ERROR(Ask([this, id = created.job.id] { return TakeUp(id); }));
  return store_->GetJob(created.job.id);
}

bool Coordinator::Impl::WaitForJob(int64_t job_id, Duration limit) {
  std::unique_lock lock(ended_mutex_);
  return ended_changed_.wait_for(lock, limit, [&] { return !running_.contains(job_id); });
}

bool Coordinator::Impl::WaitForJob(int64_t job_id, const std::stop_token& stop) {
  std::unique_lock lock(ended_mutex_);
  return ended_changed_.wait(lock, stop, [&] { return !running_.contains(job_id); });
}

StatusOr<JobRow> Coordinator::Impl::Cancel(int64_t job_id, const std::string& reason) {
  ASSIGN_OR_RETURN(JobRow row, store_->CancelJob(job_id, reason, UnixNow()));
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return row;
  Job& job = it->second;
  job.row = row;
  std::vector<int64_t> trials;
  for (const auto& [trial, open] : job.open) trials.push_back(trial);
  (void)workers_.Withdraw(trials);
  for (const int64_t trial : trials) EndTrial(job, trial, TrialState::kCancelled, std::nullopt);
  Forget(job_id);
  return row;
}

Status Coordinator::Impl::Drain() {
  is_draining_ = true;
  TurnWorkersAway();
  for (const auto& [device, view] : devices_) {
    const auto held = desk_.HeldBy(device);
    if (!held) continue;
    v1::Desired nothing;
    nothing.set_epoch(held->epoch);
    (void)gateway_->SetDesired(device, nothing);
    StepTracker(LeaseReleased{device, held->epoch});
  }
  return OkStatus();
}

// ---- The public face.

StatusOr<std::unique_ptr<Coordinator>> Coordinator::Create(CoordinatorOptions options, std::unique_ptr<Store> store,
                                                           QuietGate& gate) {
  ASSIGN_OR_RETURN(BlobStore blobs, BlobStore::Open(options.directory + "/blobs", options.blob_limit_bytes));
  auto shared = std::make_unique<SharedBlobs>(std::move(blobs));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(store), std::move(shared), gate);
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Coordinator>(new Coordinator(std::move(impl)));
}

Coordinator::Coordinator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Coordinator::~Coordinator() = default;

StatusOr<JobRow> Coordinator::SubmitJob(const JobRequest& request) { return impl_->Submit(request); }
Status Coordinator::ResumeJob(int64_t job_id) {
  return impl_->Ask([this, job_id] { return impl_->TakeUp(job_id); });
}
StatusOr<JobRow> Coordinator::CancelJob(int64_t job_id, const std::string& reason) {
  return impl_->Ask([this, job_id, reason] { return impl_->Cancel(job_id, reason); });
}
StatusOr<JobProgress> Coordinator::Progress(int64_t job_id) {
  return impl_->Ask([this, job_id] { return impl_->Progress(job_id); });
}
std::string Coordinator::CurrentTrouble() {
  const StatusOr<std::string> words = impl_->Ask([this]() -> StatusOr<std::string> { return impl_->TroubleNow(); });
  return words.ok() ? *words : "";
}
bool Coordinator::WaitForJob(int64_t job_id, Duration limit) { return impl_->WaitForJob(job_id, limit); }
bool Coordinator::WaitForJob(int64_t job_id, const std::stop_token& stop) { return impl_->WaitForJob(job_id, stop); }
void Coordinator::Drain() {
  (void)impl_->Ask([this] { return impl_->Drain(); });
}

StatusOr<v1::SynchronizeResponse> Coordinator::Synchronize(const v1::SynchronizeRequest& request) {
  auto promise = std::make_shared<std::promise<StatusOr<v1::SynchronizeResponse>>>();
  auto future = promise->get_future();
  impl_->SynchronizeLater(
      request, [promise](StatusOr<v1::SynchronizeResponse> answer) { promise->set_value(std::move(answer)); });
  return future.get();
}
Status Coordinator::StoreArtifact(const Digest& digest, const std::string& content) {
  return impl_->StoreArtifact(digest, content);
}
void Coordinator::SynchronizeLater(const v1::SynchronizeRequest& request,
                                   std::function<void(StatusOr<v1::SynchronizeResponse>)> answer) {
  impl_->SynchronizeLater(request, std::move(answer));
}
DeviceGateway& Coordinator::gateway() { return impl_->gateway(); }
Store& Coordinator::store() { return impl_->store(); }

}  // namespace lathe
