#include "tests/sim/server.h"

#include <algorithm>

#include "tests/sim/workload.h"
#include "tuner/database/finals.h"
#include "tuner/search/task_scheduler.h"

namespace lathe::sim {
namespace {

constexpr Duration kNever = std::chrono::hours(10'000);

}  // namespace

// Its monotonic part stands still, so that the wall clock alone says how late it is.
class Server::FrozenClock : public Clock {
 public:
  explicit FrozenClock(Clock& clock) : clock_(clock) {}
  TimePoint Now() override { return World::kStart; }
  int64_t UnixNanos() override { return clock_.UnixNanos(); }

 private:
  Clock& clock_;
};

// Proposes the traces of a task in order.
class Server::Search : public JobSearcher {
 public:
  Search(Server& server, int64_t job_id, std::vector<TaskRow> tasks)
      : server_(server), job_id_(job_id), tasks_(std::move(tasks)), next_(tasks_.size()) {}
  ~Search() override { *is_alive_ = false; }

  void Prepare(size_t task) override {
    Later(server_.world_.Within(5, 300), [this, task] {
      StatusOr<PreparedTask> prepared =
          PreparedTask{.measurement = Measurement(tasks_[task].name),
                       .untuned_trace = Sha256(TraceText(server_.plan_.seed, tasks_[task].id, 0)),
                       .flops = 1000};
      if (server_.is_full_) prepared = Status(ResourceExhausted("build the reference: No space left on device"));
      if (server_.life_ > 1 && server_.unpreparable.contains(tasks_[task].id))
        prepared = Status(FailedPrecondition("compute the reference: ended by SIGSEGV"));
      if (prepared.ok())
        prepared_.insert(task);
      else
        prepared_.erase(task);
      server_.core_->OnPrepared(job_id_, task, std::move(prepared));
    });
  }
  void Propose(size_t task, int count) override {
    Later(server_.world_.Within(5, 300),
          [this, task, count] { server_.core_->OnProposed(job_id_, task, ProposeNow(task, count)); });
  }
  void Observe(size_t, MeasuredCandidate) override {}
  void ChooseFinalists(size_t task) override {
    Later(server_.world_.Within(5, 100), [this, task] { server_.core_->OnFinalists(job_id_, task, Choose(task)); });
  }
  void Distrust(size_t) override {}

 private:
  static TaskMeasurement Measurement(const std::string& kernel) {
    return {.kernel = kernel, .reference = {.blob = Sha256("reference"), .size_bytes = 9, .tolerances = {1e-3}}};
  }
  void Later(Duration delay, std::function<void()> run) {
    // One thread serves them in order.
    free_at_ = std::max(free_at_, server_.world_.now) + delay;
    server_.world_.At(free_at_ - server_.world_.now, [this, alive = is_alive_, run = std::move(run)] {
      if (!*alive) return;
      server_.Do([alive, run] {
        if (*alive) run();
      });
    });
  }
  StatusOr<std::vector<ProposedTrial>> ProposeNow(size_t task, int count) {
    if (!prepared_.contains(task)) return InternalError("it is not prepared");
    std::vector<ProposedTrial> proposed;
    while (static_cast<int>(proposed.size()) < count && next_[task] < kSpaceSize) {
      const std::string trace = TraceText(server_.plan_.seed, tasks_[task].id, next_[task]);
      const std::vector<NewTrial> trials{{Sha256(trace), trace, std::nullopt, 1}};
      ASSIGN_OR_RETURN(const auto ids, server_.store_->ProposeTrials(tasks_[task].id, trials, TrialState::kProposed));
      ++next_[task];
      if (ids[0]) proposed.push_back({*ids[0], trials[0].trace_digest});
    }
    return proposed;
  }
  StatusOr<PreparedFinals> Choose(size_t task) {
    if (server_.is_full_) return ResourceExhausted("build the reference: No space left on device");
    PreparedFinals finals{.measurement = Measurement(tasks_[task].name), .finalists = {}, .rounds = {}, .known = {}};
    ASSIGN_OR_RETURN(const std::vector<TuningRecord> history, WholeHistory(*server_.store_, tasks_[task].key));
    ASSIGN_OR_RETURN(const std::vector<BestAnswer> best, server_.store_->QueryBest(std::span(&tasks_[task].key, 1)));
    std::set<Digest> seen;
    for (const TuningRecord& record : history) {
      if (record.final_round > 0 && !record.late) finals.rounds.push_back(record);
    }
    for (const TuningRecord& record : finals.rounds) {
      if (seen.insert(record.trace_digest).second)
        finals.finalists.push_back({record.trace_digest, record.trace_json, record.seed, record.module_digest});
    }
    if (!finals.finalists.empty()) return finals;
    const auto decided = best[0].lookup == Lookup::kHit ? best[0].record : std::nullopt;
    for (const TuningRecord& record : lathe::ChooseFinalists(history, decided))
      finals.finalists.push_back({record.trace_digest, record.trace_json, record.seed, record.module_digest});
    return finals;
  }

  Server& server_;
  const int64_t job_id_;
  const std::vector<TaskRow> tasks_;
  std::vector<int> next_;
  std::set<size_t> prepared_;
  TimePoint free_at_{};
  const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

Server::Server(World& world, const Plan& plan)
    : world_(world),
      plan_(plan),
      frozen_(std::make_unique<FrozenClock>(clock_)),
      disk_(plan.plant == Plant::kWaitsByWallClock ? static_cast<Clock&>(*frozen_) : clock_) {
  blobs_[Sha256("reference")] = "reference";
}
Server::~Server() = default;

// ---- The process.

void Server::Start() {
  ++life_;
  world_.Say("the server starts, life {}", life_);
  const bool loses_power =
      std::ranges::any_of(plan_.faults, [](const Fault& fault) { return fault.kind == FaultKind::kPowerCut; });
  store_ = std::make_unique<SimStore>(world_, clock_, disk_, plan_.plant, loses_power);
  store_->is_full = is_full_;
  if (plan_.plant == Plant::kExpiresAtStart) {
    for (const LeaseRow& lease : *rows().ListGrantedLeases())
      if (lease.expires_unix_ns <= clock_.UnixNanos())
        (void)rows().EndLease(lease.device_id, lease.epoch, LeaseState::kExpired);
  }
  FarmCoreOptions options{.schedulers = [] { return MakeRoundRobinScheduler(); }, .checks_devices = true};
  if (plan_.plant == Plant::kTrustsBuilds) options.build_time_limit = kNever;
  core_ = std::make_unique<FarmCore>(options, *store_, *this, clock_);
  if (const Status status = core_->Start(); !status.ok()) {  // Like systemd.
    world_.Say("the server does not start: {}", status.message());
    core_.reset();
    return world_.At(std::chrono::seconds(1), [this] { Start(); });
  }
  StepCore();
}

void Server::Kill(Duration down) {
  if (!is_up()) return;
  world_.Say("the server is killed");
  store_->Die();
  ++life_;
  ++wake_;
  is_paused_ = false;
  inbox_.clear();
  desired_.clear();
  group_.clear();
  for (const std::shared_ptr<Link>& link : std::exchange(links_, {})) {
    link->has_server = false;
    if (!link->is_silent) world_.At(world_.Within(0, 200), [link] { link->on_device_end("server is gone"); });
  }
  core_.reset();
  world_.At(down, [this] { Start(); });
}

void Server::KillAtVerb(int64_t n, bool after, Duration down) {
  if (!is_up()) return;
  store_->DieAtVerb(n, after, [this, down] { world_.At(Duration(0), [this, down] { Kill(down); }); });
}

void Server::CutPower(Duration down) {
  if (!is_up()) return;
  world_.Say("power is cut");
  Kill(down);
  store_.reset();
  disk_.LosePower();
}

void Server::Pause(Duration time) {
  if (!is_up() || is_paused_) return;
  world_.Say("the server is stopped");
  is_paused_ = true;
  world_.At(time, [this, life = life_] {
    if (life != life_) return;
    world_.Say("the server goes on");
    is_paused_ = false;
    if (std::exchange(wakes_after_pause_, false)) StepCore();
    std::deque<std::function<void()>> events;
    events.swap(inbox_);
    for (auto& event : events) {
      if (life == life_) Do(std::move(event));
    }
  });
}

void Server::FillDisk(bool is_full) {
  is_full_ = is_full;
  if (store_ != nullptr) store_->is_full = is_full;
}

void Server::Do(std::function<void()> event) {
  if (!is_up() || is_dying()) return;
  if (is_paused_) return inbox_.push_back(std::move(event));
  event();
  StepCore();
}

void Server::StepCore() {
  if (!is_up() || is_dying()) return;
  const std::optional<TimePoint> next = core_->Step();
  ++wake_;
  if (!next) return;
  world_.At(*next - world_.now, [this, wake = wake_] {
    if (wake != wake_) return;
    ++steps_by_time;
    // Undone: its clock went on while it did not listen.
    if (is_paused_ && plan_.plant != Plant::kPauseIsSilence) {
      wakes_after_pause_ = true;
      return;
    }
    StepCore();
  });
}

// ---- Clients.

bool Server::Submit(const NewJob& job, const Workload& workload, int64_t& id) {
  if (!is_up() || is_dying() || is_paused_) return false;
  if (!store_->PutWorkload(workload).ok()) return false;
  const StatusOr<CreatedJob> created = store_->CreateJob(job);
  if (!created.ok()) return false;
  id = created->job.id;
  const bool is_taken = core_->TakeUp(id).ok();
  StepCore();
  return is_taken;
}

bool Server::Cancel(int64_t job_id) {
  if (!is_up() || is_dying() || is_paused_) return false;
  const bool is_cancelled = core_->Cancel(job_id, "enough").ok();
  StepCore();
  return is_cancelled;
}

// ---- Workers.

void Server::Synchronize(v1::SynchronizeRequest request, FarmCore::Answer answer) {
  if (plan_.plant == Plant::kTwinsTakeTurns) request.mutable_worker()->set_instance(world_.random.Next());
  Do([this, request = std::move(request), answer = std::move(answer)] { core_->Synchronize(request, answer); });
}

bool Server::StoreArtifact(const std::string& content) {
  if (!is_up() || is_dying() || is_paused_ || is_full_) return false;
  blobs_[Sha256(content)] = content;
  return true;
}

void Server::LoseArtifact(size_t which) {
  if (blobs_.size() < 2) return;
  auto it = std::next(blobs_.begin(), static_cast<int64_t>(which % blobs_.size()));
  if (it->second != "reference") blobs_.erase(it);
}

// ---- The gateway.

std::shared_ptr<Link> Server::Connect(int board) {
  if (!is_up() || is_dying()) return nullptr;
  auto link = std::make_shared<Link>();
  link->board = board;
  link->server_life = life_;
  link->session = std::make_unique<DeviceGatewaySession>(GatewaySessionOptions{}, world_.now);
  links_.push_back(link);
  WatchSilence(link);
  return link;
}

void Server::WatchSilence(const std::shared_ptr<Link>& link) {
  world_.At(std::chrono::seconds(1), [this, link] {
    if (!link->has_server || link->server_life != life_) return;
    const auto due = link->session->NextDeadline();
    if (!is_paused_ && due && *due <= world_.now) Do([this, link] { StepGateway(link, GatewayTime{}); });
    WatchSilence(link);
  });
}

void Server::FromBoard(const std::shared_ptr<Link>& link, DeviceMessage message) {
  if (link->is_silent) return;
  link->arrives_at_server = std::max(link->arrives_at_server, world_.now + world_.Within(0, 20));
  world_.At(link->arrives_at_server - world_.now, [this, link, message = std::move(message)] {
    if (link->is_silent || link->server_life != life_) return;
    Do([this, link, message] {
      if (link->has_server) StepGateway(link, GatewayReceived{message});
    });
  });
}

void Server::Deliver(const std::shared_ptr<Link>& link, DeviceMessage message) {
  if (link->is_silent) return;
  link->arrives_at_board = std::max(link->arrives_at_board, world_.now + world_.Within(0, 20));
  world_.At(link->arrives_at_board - world_.now, [link, message = std::move(message)] {
    if (!link->is_silent && link->has_board) link->to_board(message);
  });
}

void Server::Cut(const std::shared_ptr<Link>& link) {
  world_.At(world_.Within(0, 500), [link] { link->on_device_end("cut"); });
  world_.At(world_.Within(0, 3000), [this, link] { Do([this, link] { End(link); }); });
}

// The board sends, nobody confirms, and its kernel gives up (TCP_USER_TIMEOUT); the server, which waits, hears nothing.
void Server::Silence(const std::shared_ptr<Link>& link) {
  link->is_silent = true;
  world_.At(world_.Within(20'000, 30'000), [link] { link->on_device_end("connection timed out"); });
}

void Server::End(const std::shared_ptr<Link>& link) {
  if (!std::exchange(link->has_server, false)) return;
  std::erase(links_, link);
  if (link->is_up) core_->OnDeviceDown(link->session->device(), "cut");
}

std::shared_ptr<Link> Server::LinkOf(const std::string& device) {
  for (const std::shared_ptr<Link>& link : links_)
    if (link->is_up && link->session->device() == device) return link;
  return nullptr;
}

void Server::StepGateway(const std::shared_ptr<Link>& link, const GatewayEvent& event) {
  std::deque<GatewayEvent> events = {event};
  for (; !events.empty(); events.pop_front()) {
    for (GatewayAction& action : link->session->Step(events.front(), world_.now)) {
      if (auto answer = Act(link, action)) events.push_back(*std::move(answer));
    }
  }
}

std::optional<GatewayEvent> Server::Act(const std::shared_ptr<Link>& link, GatewayAction& action) {
  if (auto* send = std::get_if<GatewaySend>(&action)) Deliver(link, std::move(send->message));
  if (auto* arrived = std::get_if<DeviceArrived>(&action)) return Admit(link, arrived->hello);
  if (auto* spoke = std::get_if<DeviceSpoke>(&action)) {
    // Undone: whatever it says of its progress is believed.
    if (plan_.plant == Plant::kTrustsProgress)
      spoke->current.set_progress(static_cast<int64_t>(world_.random.Next() >> 2));
    core_->OnDeviceHeard(link->session->device(), spoke->current);
  }
  if (auto* result = std::get_if<ResultArrived>(&action)) {
    const bool is_believed = plan_.plant == Plant::kBelievesSlowBoards && result->result.trial_id() < 0;
    for (double& sample : *result->result.mutable_samples_ns())
      if (is_believed) sample = 1000;
    core_->OnResult(result->result);
  }
  if (auto* read = std::get_if<ReadBlob>(&action)) {
    const auto it = blobs_.find(read->digest);
    if (it == blobs_.end()) return BlobRead{read->digest, read->offset, NotFound("no such blob"), "", 0};
    return BlobRead{read->digest, read->offset, OkStatus(),
                    it->second.substr(static_cast<size_t>(read->offset), static_cast<size_t>(read->limit)),
                    static_cast<int64_t>(it->second.size())};
  }
  if (std::holds_alternative<GatewayClose>(action)) {
    world_.At(world_.Within(0, 100), [link] {
      if (!link->is_silent) link->on_device_end("closed by the server");
    });
    End(link);
  }
  return std::nullopt;
}

GatewayEvent Server::Admit(const std::shared_ptr<Link>& link, const v1::Hello& hello) {
  const std::string& name = hello.facts().name();
  if (const std::shared_ptr<Link> other = LinkOf(name); other != nullptr && other != link) {
    if (other->instance != hello.instance()) return DeviceRejected{"another process is connected under this name"};
    End(other);
  }
  link->is_up = true;
  link->instance = hello.instance();
  core_->OnDeviceUp(hello);
  auto& [desired, instance] = desired_[name];
  if (instance != hello.instance()) desired.clear_specs();
  return DeviceAdmitted{desired};
}

// ---- FarmPorts.

Status Server::SetDesired(const std::string& device, v1::Desired desired) {
  if (is_dying()) return OkStatus();
  RETURN_IF_ERROR(CheckDesired(desired));
  world_.At(Duration(0), [this, device, desired = std::move(desired), life = life_] {
    if (life != life_ || is_dying()) return;
    auto& [stored, instance] = desired_[device];
    if (desired.epoch() < stored.epoch()) return;
    stored = desired;
    const std::shared_ptr<Link> link = LinkOf(device);
    if (link == nullptr) return;
    instance = link->instance;
    Do([this, link, desired] { StepGateway(link, DesiredChanged{desired}); });
  });
  return OkStatus();
}

void Server::Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict) {
  if (is_dying()) return;
  acknowledged[key] = verdict;
  world_.At(Duration(0), [this, device, key, verdict, life = life_] {
    if (life != life_) return;
    if (const std::shared_ptr<Link> link = LinkOf(device))
      Do([this, link, key, verdict] { StepGateway(link, ResultCommitted{key, verdict}); });
  });
}

void Server::Commit(ResultCommit commit) {
  if (is_dying()) return;
  if (plan_.plant == Plant::kAcknowledgesBeforeCommit)
    Acknowledge(commit.result.device(), *Digest::FromBytes(commit.result.key()), v1::ACK_VERDICT_ACK);
  group_.push_back(std::move(commit));
  if (group_.size() > 1) return;  // It comes along.
  world_.At(world_.Within(1, 30), [this, life = life_] {
    if (life == life_) CommitGroup();
  });
}

// All that has come together; what follows from it is heard of when all of it is committed.
void Server::CommitGroup() {
  std::vector<std::pair<ResultCommit, StatusOr<CommitAnswer>>> committed;
  for (const ResultCommit& commit : std::exchange(group_, {})) {
    if (is_dying()) return;
    committed.emplace_back(commit, CommitTo(*store_, commit));
    const auto& [what, answer] = committed.back();
    world_.Say("commit of trial {} attempt {} from {}: {}", what.result.trial_id(), what.result.attempt(),
               what.result.device(),
               answer.ok()
                   ? fmt::format("ack {}, {}", static_cast<int>(answer->ack), TrialStateName(answer->trial_state))
                   : answer.status().message());
  }
  world_.At(world_.Within(0, 2), [this, committed = std::move(committed), life = life_] {
    if (life != life_) return;
    Do([this, committed] {
      for (const auto& [commit, answer] : committed) core_->OnCommitted(commit, answer);
    });
  });
}

void Server::Grant(LeaseGrant grant) {
  if (is_dying()) return;
  world_.At(world_.Within(1, 30), [this, grant = std::move(grant), life = life_] {
    if (life != life_ || is_dying()) return;
    const StatusOr<int64_t> epoch = GrantTo(*store_, grant);
    world_.At(world_.Within(0, 2), [this, grant, epoch, life] {
      if (life == life_) Do([this, grant, epoch] { core_->OnGranted(grant, epoch); });
    });
  });
}

bool Server::HasBlob(const Digest& digest, int64_t size_bytes) {
  const auto it = blobs_.find(digest);
  return it != blobs_.end() && static_cast<int64_t>(it->second.size()) == size_bytes;
}

StatusOr<int64_t> Server::BlobSize(const Digest& digest) {
  const auto it = blobs_.find(digest);
  if (it == blobs_.end()) return NotFound("no such blob");
  return static_cast<int64_t>(it->second.size());
}

StatusOr<Digest> Server::PutBlob(const std::string& content) {
  if (is_full_) return ResourceExhausted("No space left on device");
  blobs_[Sha256(content)] = content;
  return Sha256(content);
}

std::unique_ptr<JobSearcher> Server::BeginSearch(const JobRow& job, const JobSpec&, const std::vector<TaskRow>& tasks) {
  return std::make_unique<Search>(*this, job.id, tasks);
}
void Server::EndSearch(std::unique_ptr<JobSearcher> search) { search.reset(); }

}  // namespace lathe::sim
