#include "tests/sim/sim_worker.h"

#include "compiler/codegen/llvm/compile_module.h"
#include "tests/sim/workload.h"

namespace lathe::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Duration kWait = seconds(10), kCallPatience = seconds(20);  // Beyond the wait.

}  // namespace

SimWorker::SimWorker(World& world, Server& server, std::string name)
    : world_(world), server_(server), name_(std::move(name)) {}

void SimWorker::Start() {
  v1::WorkerFacts facts;
  facts.set_name(name_);
  facts.set_instance(world_.random.Next());
  facts.set_slots(kSlots);
  facts.set_codegen_version(static_cast<uint32_t>(kCodegenVersion));
  core_ = std::make_unique<WorkerCore>(std::move(facts));
  open_calls_.clear();
  superseded_at_.reset();
  answered_in_ = 0;
  for (uint64_t& build : building_) build = 0;
  world_.Say("{} starts", name_);
  Call(kWait, true);
}

void SimWorker::Crash(Duration down) {
  if (core_ == nullptr) return;
  End();
  world_.At(down, [this] { Start(); });
}

void SimWorker::End() {
  world_.Say("{} ends", name_);
  ++life_;
  core_.reset();
}

void SimWorker::LoseBuilds() {
  for (uint64_t& build : building_)
    if (build != 0) build = next_build_++;
}

void SimWorker::Later(Duration delay, std::function<void()> run) {
  world_.At(delay, [this, life = life_, run = std::move(run)] {
    if (life == life_) run();
  });
}

// One call; `again`: it is the one that is always under way.
void SimWorker::Call(Duration wait, bool again) {
  const uint64_t call = next_call_++;
  open_calls_.insert(call);
  const v1::SynchronizeRequest request = core_->Declare(wait);
  const TimePoint sent = world_.now;
  const int copies = world_.now < mute_until_ ? 0 : world_.Chance(3) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    world_.At(world_.Within(0, world_.Chance(2) ? 5000 : 20), [this, request, call, again, sent, life = life_] {
      server_.Synchronize(request, [this, call, again, sent, life](const StatusOr<v1::SynchronizeResponse>& response) {
        world_.At(world_.Within(0, 20), [this, call, again, sent, life, response] {
          if (life == life_ && world_.now >= mute_until_) Answered(call, again, sent, response);
        });
      });
    });
  }
  const uint64_t server_life = server_.life();
  Later(seconds(1), [this, call, again, sent, server_life] {  // A connection that was reset.
    if (server_.life() != server_life || !server_.is_up()) Answered(call, again, sent, Status(Unavailable("reset")));
  });
  Later(wait + kCallPatience,
        [this, call, again, sent] { Answered(call, again, sent, Status(Unavailable("no answer"))); });
}

void SimWorker::Answered(uint64_t call, bool again, TimePoint sent, const StatusOr<v1::SynchronizeResponse>& response) {
  if (open_calls_.erase(call) == 0) return;
  if (response.ok()) {
    if (superseded_at_ && sent > *superseded_at_ && server_.life() == superseded_in_)
      world_.Broken("{} is served, though another process has taken its name", name_);
    answered_in_ = server_.life();
    on_answer();
    for (const int slot : core_->Accept(*response, world_.now)) building_[slot] = 0;  // Given up.
    Work();
    backoff_ = milliseconds(500);
    if (again) Call(kWait, true);
    return;
  }
  if (response.code() == StatusCode::kAlreadyExists)
    for (const int slot : core_->Replaced()) building_[slot] = 0;
  if (!again) return;
  Later(backoff_, [this] { Call(kWait, true); });
  backoff_ = std::min<Duration>(backoff_ * 2, seconds(10));
}

void SimWorker::Work() {
  for (int slot = 0; slot < kSlots; ++slot) {
    if (building_[slot] != 0) continue;
    if (auto start = core_->TakeTask(slot, world_.now)) Build(slot, *std::move(start));
  }
}

void SimWorker::Build(int slot, WorkerCore::Start start) {
  const uint64_t build = building_[slot] = next_build_++;
  world_.Say("{} builds trial {} attempt {}", name_, start.task.trial_id(), start.task.attempt());
  Later(world_.Within(20, 600), [this, slot, build, trace = start.task.trace_json()] { HandIn(slot, build, trace); });
}

void SimWorker::HandIn(int slot, uint64_t build, const std::string& trace) {
  if (building_[slot] != build) return;
  v1::BuildState outcome;
  if (FateOf(trace) == Fate::kBuildError) {
    outcome.mutable_failure()->set_error_class(v1::BUILD_ERROR_CLASS_CANDIDATE);
    outcome.mutable_failure()->set_message("register tile spills");
  } else {
    const std::string module = ModuleOf(trace);
    if (world_.now < mute_until_ || !server_.StoreArtifact(module))  // Until there is somebody to have it.
      return Later(seconds(1), [this, slot, build, trace] { HandIn(slot, build, trace); });
    outcome.mutable_artifact()->set_digest(std::string(Sha256(module).raw()));
    outcome.mutable_artifact()->set_size(static_cast<int64_t>(module.size()));
  }
  building_[slot] = 0;
  const bool is_wanted = core_->Finish(slot, std::move(outcome), world_.now);
  if (is_wanted) Call(Duration(0), false);
  Work();
}

}  // namespace lathe::sim
