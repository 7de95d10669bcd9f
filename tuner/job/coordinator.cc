#include "tuner/job/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "compiler/codegen/llvm/compile_module.h"
#include "rpc/device_message.h"
#include "support/bounded_queue.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/job/default_search.h"
#include "tuner/job/event_loop.h"
#include "tuner/job/farm_core.h"
#include "tuner/job/search_process.h"
#include "tuner/job/shared_blobs.h"

namespace lathe {
namespace {

constexpr Duration kSlowStep = std::chrono::milliseconds(250);
constexpr int kCommitters = 32;  // As many results and grants share one wait for the disk; idle ones only sleep.

CoordinatorOptions WithDefaults(CoordinatorOptions options, SharedBlobs& blobs) {
  if (options.searches) options.search_program.clear();
  if (!options.searches) {
    options.searches = [base = options.base_model] { return EvolutionUnderXgb(base ? base : BuiltInBaseModel()); };
  }
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

// The shell of the core: a loop that it runs on, threads that commit results and grants, threads that search, and the
// gateway.
class Coordinator::Impl : public DeviceGatewayOwner, public FarmPorts {
 public:
  Impl(CoordinatorOptions options, std::unique_ptr<Store> store, std::unique_ptr<SharedBlobs> blobs, QuietGate& gate);
  ~Impl() override;
  Status Start();

  // Any thread, all of these.
  template <typename Work>
  auto Ask(Work work) -> decltype(work(std::declval<FarmCore&>())) {
    return loop_.Ask([this, work = std::move(work)] { return work(core_); },
                     Status(Unavailable("ask the coordinator: it is stopping; try again")));
  }
  std::optional<FarmStatistics> Statistics(Duration limit) {
    std::optional<FarmStatistics> farm = loop_.AskWithin(limit, [this] { return core_.Statistics(); });
    if (farm) farm->loop_busy_longest = loop_.TakeLongest();
    return farm;
  }
  StatusOr<CreatedJob> Submit(const JobRequest& request);
  bool WaitForJob(int64_t job_id, Duration limit);
  bool WaitForJob(int64_t job_id, const std::stop_token& stop);
  void SynchronizeLater(const v1::SynchronizeRequest& request, FarmCore::Answer answer);
  Status StoreArtifact(const Digest& digest, const std::string& content);
  DeviceGateway& gateway() { return *gateway_; }
  Store& store() { return *store_; }

  // DeviceGatewayOwner, on the gateway's thread.
  void OnDeviceUp(const v1::Hello& hello) override;
  void OnDeviceHeard(const std::string& device, const v1::Current& current) override;
  void OnDeviceDown(const std::string& device, const std::string& reason) override;
  void OnResult(const v1::MeasureResult& result) override;
  StatusOr<BlobPiece> ReadBlob(const Digest& digest, int64_t offset, int64_t limit) override;

  // FarmPorts, on the loop.
  Status SetDesired(const std::string& device, v1::Desired desired) override;
  void Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict) override;
  void Commit(ResultCommit commit) override { commits_.Push(std::move(commit)); }
  void Grant(LeaseGrant grant) override { commits_.Push(std::move(grant)); }
  bool HasBlob(const Digest& digest, int64_t size_bytes) override { return blobs_->HasBlob(digest, size_bytes); }
  StatusOr<int64_t> BlobSize(const Digest& digest) override { return blobs_->Size(digest); }
  StatusOr<Digest> PutBlob(const std::string& content) override { return blobs_->PutBlob(content); }
  void Pin(const Digest& digest) override { blobs_->Pin(digest); }
  void Unpin(const Digest& digest) override { blobs_->Unpin(digest); }
  std::unique_ptr<JobSearcher> BeginSearch(const JobRow& job, const JobSpec& spec,
                                           const std::vector<TaskRow>& tasks) override;
  void EndSearch(std::unique_ptr<JobSearcher> search) override;
  void OnJobTakenUp(int64_t job_id) override;
  void OnJobLeft(int64_t job_id) override;
  void Log(const std::string& words) override { options_.log(words); }

 private:
  void RunCommits();  // On a committing thread.
  std::unique_ptr<JobSearcher> BeginSearchProcess(const JobRow& job, const std::vector<TaskRow>& tasks,
                                                  JobSearchHandlers handlers);
  void PauseSearches(bool is_quiet);

  const CoordinatorOptions options_;
  std::unique_ptr<Store> store_;        // Any thread.
  std::unique_ptr<SharedBlobs> blobs_;  // Any thread.
  QuietGate& gate_;
  FarmCore core_;                           // On the loop.
  std::vector<std::future<void>> endings_;  // On the loop: searches that are ending.

  std::mutex searching_mutex_;
  std::set<SearchProcess*> searching_;  // Guarded by searching_mutex_.

  std::mutex taken_up_mutex_;
  std::condition_variable_any left_;
  std::set<int64_t> taken_up_;  // Guarded by taken_up_mutex_.

  BoundedQueue<std::variant<ResultCommit, LeaseGrant>> commits_{1 << 20};
  std::vector<std::thread> committers_;
  EventLoop loop_;
  std::unique_ptr<MachineAuthenticator> authenticator_;
  std::unique_ptr<DeviceGateway> gateway_;  // Its thread calls this object.
  std::unique_ptr<PruningThread> pruning_;
};

Coordinator::Impl::Impl(CoordinatorOptions options, std::unique_ptr<Store> store, std::unique_ptr<SharedBlobs> blobs,
                        QuietGate& gate)
    : options_(WithDefaults(std::move(options), *blobs)),
      store_(std::move(store)),
      blobs_(std::move(blobs)),
      gate_(gate),
      core_({.schedulers = options_.schedulers,
             .resumes_jobs = options_.resumes_jobs,
             .build_time_limit = options_.build_time_limit,
             .checks_devices = options_.checks_devices,
             .most_jobs = options_.most_jobs},
            *store_, *this, *options_.clock),
      loop_([this] { return core_.Step(); }) {}

Status Coordinator::Impl::Start() {
  gate_.OnChange([this](bool is_quiet) { PauseSearches(is_quiet); });
  RETURN_IF_ERROR(core_.Start());
  if (options_.make_authenticator) {
    ASSIGN_OR_RETURN(authenticator_, options_.make_authenticator(*store_));
  }
  gateway_ = std::make_unique<DeviceGateway>(
      DeviceGatewayOptions{.build_id = options_.build_id, .authenticator = authenticator_.get(), .log = options_.log},
      *this);
  for (int i = 0; i < kCommitters; ++i) committers_.emplace_back([this] { RunCommits(); });
  loop_.OnSlow(kSlowStep, [this](Duration time) {
    options_.log(fmt::format("the coordinator was busy for {} ms at a stretch; everybody waited",
                             time / std::chrono::milliseconds(1)));
  });
  loop_.Start();
  pruning_ = std::make_unique<PruningThread>(options_.pruning, *store_, *blobs_, gate_, options_.log);
  return OkStatus();
}

Coordinator::Impl::~Impl() {
  pruning_.reset();
  commits_.Close();
  for (std::thread& thread : committers_) thread.join();
  loop_.Post([this] { core_.Stop(); });
  loop_.Stop();
  endings_.clear();
  gateway_.reset();
}

// ---- Clients.

StatusOr<CreatedJob> Coordinator::Impl::Submit(const JobRequest& request) {
  RETURN_IF_ERROR(CheckDeviceName("device key", request.device_key));
  NewJob job{request.request_id, request.name, request.spec.ToJson(), {}, request.submitter};
  for (const TaskRequest& task : request.tasks) {
    ASSIGN_OR_RETURN(const Workload stored, store_->PutWorkload(task.workload));
    job.tasks.push_back(
        {KeyFor(stored.digest, task.target, request.device_key), task.name, task.weight, task.trial_budget});
  }
  ASSIGN_OR_RETURN(CreatedJob created, store_->CreateJob(job));
  RETURN_IF_ERROR(Ask([id = created.job.id](FarmCore& core) { return core.TakeUp(id); }));
  ASSIGN_OR_RETURN(created.job, store_->GetJob(created.job.id));
  return created;
}

bool Coordinator::Impl::WaitForJob(int64_t job_id, Duration limit) {
  std::unique_lock lock(taken_up_mutex_);
  return left_.wait_for(lock, limit, [&] { return !taken_up_.contains(job_id); });
}

bool Coordinator::Impl::WaitForJob(int64_t job_id, const std::stop_token& stop) {
  std::unique_lock lock(taken_up_mutex_);
  return left_.wait(lock, stop, [&] { return !taken_up_.contains(job_id); });
}

void Coordinator::Impl::OnJobTakenUp(int64_t job_id) {
  std::lock_guard lock(taken_up_mutex_);
  taken_up_.insert(job_id);
}

void Coordinator::Impl::OnJobLeft(int64_t job_id) {
  {
    std::lock_guard lock(taken_up_mutex_);
    taken_up_.erase(job_id);
  }
  left_.notify_all();
}

// ---- Searches.

std::unique_ptr<JobSearcher> Coordinator::Impl::BeginSearch(const JobRow& job, const JobSpec& spec,
                                                            const std::vector<TaskRow>& tasks) {
  // Each answer goes to the loop.
  const auto post = [this, id = job.id](auto event) {
    return [this, id, event](size_t task, auto answer) {
      loop_.Post([this, id, event, task, answer = std::move(answer)]() mutable {
        (core_.*event)(id, task, std::move(answer));
      });
    };
  };
  JobSearchHandlers handlers{
      .on_prepared = post(&FarmCore::OnPrepared),
      .on_proposed = post(&FarmCore::OnProposed),
      .on_finalists = post(&FarmCore::OnFinalists),
      .on_busy = [this,
                  id = job.id](bool is_busy) { loop_.Post([this, id, is_busy] { core_.OnSearching(id, is_busy); }); },
      .on_broken =
          [this, id = job.id](const Status& why) { loop_.Post([this, id, why] { core_.OnSearchBroken(id, why); }); }};
  if (!options_.search_program.empty()) return BeginSearchProcess(job, tasks, std::move(handlers));
  return std::make_unique<JobSearch>(JobSearchOptions{options_.searches(), options_.references}, spec, tasks, *store_,
                                     std::make_unique<StoreSearchWrites>(*store_, tasks), gate_, std::move(handlers));
}

std::unique_ptr<JobSearcher> Coordinator::Impl::BeginSearchProcess(const JobRow& job, const std::vector<TaskRow>& tasks,
                                                                   JobSearchHandlers handlers) {
  SearchProcessOptions options{.program = options_.search_program};
  options.begin.set_job_id(job.id);
  options.begin.set_database(options_.database_path);
  options.begin.set_directory(options_.directory);
  options.begin.set_builder_program(options_.builder_program);
  options.begin.set_evaluate_program(options_.reference_options.program);
  if (options_.base_model) options.begin.set_base_model(options_.base_model->ToText());
  auto search = std::make_unique<SearchProcess>(std::move(options), tasks, *store_, *blobs_, std::move(handlers));
  std::lock_guard lock(searching_mutex_);
  searching_.insert(search.get());
  if (gate_.is_quiet()) search->SetPaused(true);
  return search;
}

// A device of this machine times something, or no longer does.
void Coordinator::Impl::PauseSearches(bool is_quiet) {
  std::lock_guard lock(searching_mutex_);
  for (SearchProcess* search : searching_) search->SetPaused(is_quiet);
}

// Its thread may be in the middle of something; nobody waits for that here.
void Coordinator::Impl::EndSearch(std::unique_ptr<JobSearcher> search) {
  if (auto* process = dynamic_cast<SearchProcess*>(search.get())) {
    std::lock_guard lock(searching_mutex_);
    searching_.erase(process);
  }
  endings_.push_back(std::async(std::launch::async, [search = std::move(search)]() mutable { search.reset(); }));
  std::erase_if(endings_, [](const std::future<void>& ending) {
    return ending.wait_for(Duration(0)) == std::future_status::ready;
  });
}

// ---- Workers.

void Coordinator::Impl::SynchronizeLater(const v1::SynchronizeRequest& request, FarmCore::Answer answer) {
  const auto shared = std::make_shared<FarmCore::Answer>(std::move(answer));
  if (!loop_.Post([this, request, shared] { core_.Synchronize(request, std::move(*shared)); }))
    (*shared)(Status(Unavailable("synchronize: the coordinator is stopping; ask again")));
}

Status Coordinator::Impl::StoreArtifact(const Digest& digest, const std::string& content) {
  if (Sha256(content) != digest)
    return DataLoss(
        fmt::format("store artifact {}: the content has another digest; send it again", digest.ToHex().substr(0, 12)));
  const Status stored = blobs_->PutBlob(content).status();
  if (!stored.ok()) loop_.Post([this, stored] { core_.Check(stored, "store an artifact"); });
  return stored;
}

// ---- Devices. What the gateway's thread says goes to the loop.

void Coordinator::Impl::OnDeviceUp(const v1::Hello& hello) {
  loop_.Post([this, hello] { core_.OnDeviceUp(hello); });
}
void Coordinator::Impl::OnDeviceHeard(const std::string& device, const v1::Current& current) {
  loop_.Post([this, device, current] { core_.OnDeviceHeard(device, current); });
}
void Coordinator::Impl::OnDeviceDown(const std::string& device, const std::string& reason) {
  loop_.Post([this, device, reason] { core_.OnDeviceDown(device, reason); });
}
void Coordinator::Impl::OnResult(const v1::MeasureResult& result) {
  loop_.Post([this, result] { core_.OnResult(result); });
}
StatusOr<BlobPiece> Coordinator::Impl::ReadBlob(const Digest& digest, int64_t offset, int64_t limit) {
  return blobs_->Read(digest, offset, limit);
}

Status Coordinator::Impl::SetDesired(const std::string& device, v1::Desired desired) {
  return gateway_->SetDesired(device, std::move(desired));
}

void Coordinator::Impl::Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict) {
  gateway_->Acknowledge(device, key, verdict);
}

void Coordinator::Impl::RunCommits() {
  while (const auto next = commits_.Pop()) {
    if (const auto* commit = std::get_if<ResultCommit>(&*next)) {
      const StatusOr<CommitAnswer> answer = CommitTo(*store_, *commit);
      loop_.Post([this, commit = *commit, answer] { core_.OnCommitted(commit, answer); });
    } else {
      const auto& grant = std::get<LeaseGrant>(*next);
      const StatusOr<int64_t> epoch = GrantTo(*store_, grant);
      loop_.Post([this, grant, epoch] { core_.OnGranted(grant, epoch); });
    }
  }
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

StatusOr<CreatedJob> Coordinator::SubmitJob(const JobRequest& request) { return impl_->Submit(request); }
Status Coordinator::ResumeJob(int64_t job_id) {
  return impl_->Ask([job_id](FarmCore& core) { return core.TakeUp(job_id); });
}
StatusOr<JobRow> Coordinator::CancelJob(int64_t job_id, const std::string& reason) {
  return impl_->Ask([job_id, reason](FarmCore& core) { return core.Cancel(job_id, reason); });
}
StatusOr<JobProgress> Coordinator::Progress(int64_t job_id) {
  return impl_->Ask([job_id](FarmCore& core) { return core.Progress(job_id); });
}
std::string Coordinator::CurrentTrouble() {
  const StatusOr<std::string> words =
      impl_->Ask([](FarmCore& core) -> StatusOr<std::string> { return core.TroubleNow(); });
  return words.ok() ? *words : "";
}
FarmView Coordinator::View() {
  StatusOr<FarmView> view = impl_->Ask([](FarmCore& core) -> StatusOr<FarmView> { return core.View(); });
  return view.ok() ? *std::move(view) : FarmView{};
}
std::optional<FarmStatistics> Coordinator::Statistics(Duration limit) { return impl_->Statistics(limit); }
StatusOr<JobStory> Coordinator::Why(int64_t job_id) {
  return impl_->Ask([job_id](FarmCore& core) { return core.Why(job_id); });
}
Status Coordinator::SetDeviceService(const std::string& device, const ServiceState& service, const std::string& by) {
  return impl_->Ask([=](FarmCore& core) { return core.SetDeviceService(device, service, by); });
}
StatusOr<ReservationStanding> Coordinator::Reserve(const ReservationRequest& request) {
  return impl_->Ask([request](FarmCore& core) { return core.Reserve(request); });
}
Status Coordinator::Release(const std::string& device, const Petitioner& who) {
  return impl_->Ask([=](FarmCore& core) { return core.Release(device, who); });
}
bool Coordinator::WaitForJob(int64_t job_id, Duration limit) { return impl_->WaitForJob(job_id, limit); }
bool Coordinator::WaitForJob(int64_t job_id, const std::stop_token& stop) { return impl_->WaitForJob(job_id, stop); }
void Coordinator::Drain() {
  (void)impl_->Ask([](FarmCore& core) {
    core.Drain();
    return OkStatus();
  });
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
