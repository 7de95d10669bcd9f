#include "tuner/worker/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tuner/worker/worker_core.h"

namespace lathe {
namespace {

constexpr Duration kRetryAfter =
    std::chrono::milliseconds(500);  // After the channel failed; doubles up to kRetryAtMost.
constexpr Duration kRetryAtMost = std::chrono::seconds(10);
constexpr Duration kUnreachableDrain =
    std::chrono::seconds(3);     // Nobody takes what is finished: it is not waited for any longer.
constexpr int kBrokenTries = 2;  // Builders started for one task before it is handed back.

v1::WorkerFacts FactsOf(const WorkerOptions& options) {
  v1::WorkerFacts facts;
  facts.set_name(options.name);
  std::random_device device;
  facts.set_instance((uint64_t{device()} << 32) | device());
  facts.set_slots(options.slots);
  facts.set_codegen_version(options.codegen_version);
  return facts;
}

BuildRequest SpecOf(const WorkerCore::Start& start) {
  return {.workload_text = start.workload_text,
          .trace_json = start.task.trace_json(),
          .target = start.task.target(),
          .time_limit = Duration(start.task.time_limit_ns()),
          .kernel_abi = std::max(start.task.kernel_abi(), 1u),
          .refuses_spills = !start.task.may_spill()};
}

// Before a character of UTF-8, so that it stays a text.
void CutOff(std::string& text, size_t limit) {
  if (text.size() <= limit) return;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  text.resize(limit);
}

v1::BuildState Failed(v1::BuildErrorClass error_class, std::string message) {
  CutOff(message, kMaxBuildErrorBytes);
  v1::BuildState state;
  state.mutable_failure()->set_error_class(error_class);
  state.mutable_failure()->set_message(std::move(message));
  return state;
}

v1::BuildState Failed(const BuildFailed& failed) {
  switch (failed.kind) {
    case BuildFailed::Kind::kCandidate:
      return Failed(v1::BUILD_ERROR_CLASS_CANDIDATE, failed.message);
    case BuildFailed::Kind::kTimeout:
      return Failed(v1::BUILD_ERROR_CLASS_TIMEOUT, failed.message);
    case BuildFailed::Kind::kBroken:
      break;
  }
  return Failed(v1::BUILD_ERROR_CLASS_WORKER, failed.message);
}

}  // namespace

class Worker::Impl {
 public:
  Impl(WorkerOptions options, WorkerChannel& channel)
      : options_(std::move(options)), channel_(channel), core_(FactsOf(options_)), builders_(options_.slots) {
    for (int slot = 0; slot < options_.slots; ++slot) threads_.emplace_back([this, slot] { RunSlot(slot); });
    threads_.emplace_back([this] { KeepInTouch(); });
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
      core_.Drain();
      for (const auto& builder : builders_) {
        if (builder != nullptr) builder->Cancel();
      }
    }
    changed_.notify_all();
    (void)SynchronizeOnce(Duration(0));  // Ends the wait of the call under way.
    for (std::thread& thread : threads_) thread.join();
  }

  bool Drain(Duration limit) {
    std::unique_lock lock(mutex_);
    core_.Drain();
    lock.unlock();
    if (!SynchronizeOnce(Duration(0)).ok()) limit = std::min(limit, kUnreachableDrain);
    lock.lock();
    return changed_.wait_for(lock, limit, [&] { return core_.is_idle(); });
  }

  void SetPaused(bool is_paused) {
    std::lock_guard lock(mutex_);
    is_paused_ = is_paused;
    for (const auto& builder : builders_) {
      if (builder != nullptr) builder->SetPaused(is_paused);
    }
  }

 private:
  // Declares what is so and takes in what should be. Any thread.
  Status SynchronizeOnce(Duration wait) {
    std::unique_lock lock(mutex_);
    const v1::SynchronizeRequest request = core_.Declare(wait);
    lock.unlock();
    const StatusOr<v1::SynchronizeResponse> response = channel_.Synchronize(request);
    const bool is_replaced = response.code() == StatusCode::kAlreadyExists;
    if (!response.ok() && !is_replaced) return response.status();
    lock.lock();
    for (const int slot : is_replaced ? core_.Replaced() : core_.Accept(*response, SystemClock().Now())) {
      if (builders_[slot] != nullptr) builders_[slot]->Cancel();
    }
    lock.unlock();
    changed_.notify_all();
    return response.status();
  }

  void KeepInTouch() {
    Duration pause = kRetryAfter;
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (is_stopping_) return;
      }
      const Status status = SynchronizeOnce(options_.wait);
      if (status.ok()) {
        pause = kRetryAfter;
        continue;
      }
      if (pause == kRetryAfter) options_.log(status.message());
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, pause, [&] { return is_stopping_; });
      pause = std::min(pause * 2, kRetryAtMost);
    }
  }

  void RunSlot(int slot) {
    for (;;) {
      std::optional<WorkerCore::Start> start;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock,
                      [&] { return is_stopping_ || (start = core_.TakeTask(slot, SystemClock().Now())).has_value(); });
        if (is_stopping_) break;
      }
      v1::BuildState outcome = BuildAndStore(slot, *start);
      bool is_wanted = false;
      {
        std::lock_guard lock(mutex_);
        if (is_stopping_) break;
        is_wanted = core_.Finish(slot, std::move(outcome), SystemClock().Now());
      }
      // A failure to say so now is made up for by the next call, which declares the same.
      if (is_wanted) (void)SynchronizeOnce(Duration(0));
    }
    std::unique_ptr<Builder> mine;
    std::lock_guard lock(mutex_);
    mine = std::move(builders_[slot]);  // Ends on the thread that made it.
  }

  v1::BuildState BuildAndStore(int slot, const WorkerCore::Start& start) {
    const BuildOutcome outcome = Build(slot, SpecOf(start));
    if (const auto* failed = std::get_if<BuildFailed>(&outcome)) return Failed(*failed);
    const auto& module = std::get<BuiltModule>(outcome);
    const Digest digest = Sha256(module.bytes);
    const Status stored = Store(slot, digest, module.bytes);
    if (!stored.ok()) return Failed(v1::BUILD_ERROR_CLASS_WORKER, "store artifact: " + stored.message());
    v1::BuildState state;
    state.mutable_artifact()->set_digest(std::string(digest.raw()));
    state.mutable_artifact()->set_size(static_cast<int64_t>(module.bytes.size()));
    for (const std::string& warning : module.warnings) state.mutable_artifact()->add_warnings(warning);
    state.mutable_times()->set_replay_ns(module.replay.count());
    state.mutable_times()->set_lower_ns(module.lower.count());
    state.mutable_times()->set_compile_ns(module.compile.count());
    state.mutable_times()->set_link_ns(module.link.count());
    return state;
  }

  // A server that is away, or whose disk is full, says nothing about the build: it is handed in when it comes back.
  Status Store(int slot, const Digest& digest, const std::string& module) {
    for (Duration pause = kRetryAfter;; pause = std::min(pause * 2, kRetryAtMost)) {
      const Status stored = channel_.StoreArtifact(digest, module);
      const bool may_go_well =
          stored.code() == StatusCode::kUnavailable || stored.code() == StatusCode::kResourceExhausted;
      if (stored.ok() || !may_go_well) return stored;
      if (pause == kRetryAfter) options_.log("store artifact: " + stored.message());
      std::unique_lock lock(mutex_);
      const auto is_given_up = [&] { return is_stopping_ || !core_.IsWanted(slot); };
      if (changed_.wait_for(lock, pause, is_given_up)) return stored;
    }
  }

  BuildOutcome Build(int slot, const BuildRequest& spec) {
    BuildOutcome outcome = BuildFailed{BuildFailed::Kind::kBroken, "the build was given up"};
    for (int tries = 0; tries < kBrokenTries && IsWanted(slot); ++tries) {
      const StatusOr<Builder*> builder = BuilderOf(slot);
      if (!builder.ok()) return BuildFailed{BuildFailed::Kind::kBroken, builder.status().message()};
      outcome = (*builder)->Build(spec);
      const auto* failed = std::get_if<BuildFailed>(&outcome);
      if (failed == nullptr || failed->kind != BuildFailed::Kind::kBroken) break;
      if (IsWanted(slot)) options_.log(failed->message);
      std::unique_ptr<Builder> broken;
      std::lock_guard lock(mutex_);
      broken = std::move(builders_[slot]);
    }
    return outcome;
  }

  bool IsWanted(int slot) {
    std::lock_guard lock(mutex_);
    return !is_stopping_ && core_.IsWanted(slot);
  }

  StatusOr<Builder*> BuilderOf(int slot) {
    {
      std::lock_guard lock(mutex_);
      if (builders_[slot] != nullptr) return builders_[slot].get();
    }
    StatusOr<std::unique_ptr<Builder>> builder = options_.builders();
    if (!builder.ok()) return builder.status();
    std::lock_guard lock(mutex_);
    builders_[slot] = *std::move(builder);
    if (is_paused_) builders_[slot]->SetPaused(true);
    if (is_stopping_ || !core_.IsWanted(slot)) builders_[slot]->Cancel();  // Given up while it was started.
    return builders_[slot].get();
  }

  const WorkerOptions options_;
  WorkerChannel& channel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  WorkerCore core_;                                 // Guarded by mutex_.
  std::vector<std::unique_ptr<Builder>> builders_;  // Guarded by mutex_; Build runs without it.
  bool is_stopping_ = false, is_paused_ = false;    // Guarded by mutex_.
  std::vector<std::thread> threads_;
};

Worker::Worker(WorkerOptions options, WorkerChannel& channel)
    : impl_(std::make_unique<Impl>(std::move(options), channel)) {}
Worker::~Worker() = default;
bool Worker::Drain(Duration limit) { return impl_->Drain(limit); }
void Worker::SetPaused(bool is_paused) { impl_->SetPaused(is_paused); }

}  // namespace lathe
