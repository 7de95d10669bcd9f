// A coordinator with a worker that makes texts instead of modules and devices whose runners only pretend, joined by
// real threads, queues and socket pairs.
#pragma once

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "rpc/device/device_program.h"
#include "rpc/device/device_server.h"
#include "tests/support/fake_clock.h"
#include "tests/support/hang_guard.h"
#include "tests/support/temporary_folder.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/coordinator.h"
#include "tuner/worker/worker.h"

namespace lathe {

inline constexpr char kMatmulText[] = R"(
@T.prim_func
def matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

// One run of a pretended runner. Default: timed, by a number drawn from the trial's id.
struct PretendedRun {
  v1::MeasureStatus status = v1::MEASURE_STATUS_OK;
  double median_ns = 1000;
  double half_width_ns = 0;  // Of its interval.
  std::string message;
  Duration takes{};                 // While it takes this long, its event stays silent,
  std::function<bool()> may_end{};  // and until this is so, if it is given. Called on a thread of its own.
  std::function<void()> at_go = [] {};
};
using PretendedDevice = std::function<PretendedRun(const v1::MeasureSpec&)>;

inline PretendedRun ByTrialId(const v1::MeasureSpec& spec) {
  return {.median_ns = 1000 + static_cast<double>(Random::Mix(static_cast<uint64_t>(spec.trial_id())) % 1000)};
}

class PretendedRunner : public TrialRunner {
 public:
  explicit PretendedRunner(PretendedRun run) : run_(std::move(run)), event_(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~PretendedRunner() override {
    is_over_ = true;
    if (waiting_.joinable()) waiting_.join();
    close(event_);
  }
  int event_fd() const override { return event_; }
  std::vector<RunnerNotice> Poll() override {
    eventfd_t ignored = 0;
    eventfd_read(event_, &ignored);
    if (!has_gone_ && !is_killed_) return {{RunnerNotice::Kind::kReady}};
    v1::MeasureResult outcome;
    outcome.set_status(is_killed_ ? v1::MEASURE_STATUS_CRASH : run_.status);
    outcome.set_message(run_.message);
    const bool is_timed =
        !is_killed_ && (run_.status == v1::MEASURE_STATUS_OK || run_.status == v1::MEASURE_STATUS_NOISY);
    if (run_.status == v1::MEASURE_STATUS_CENSORED) outcome.set_lower_bound_ns(run_.median_ns);
    if (is_timed) {
      for (const int side : {-1, 0, 0, 0, 1}) outcome.add_samples_ns(run_.median_ns + side * run_.half_width_ns);
      outcome.set_total_calls(5);
      v1::TimeStats& stats = *outcome.mutable_stats();
      stats.set_median_ns(run_.median_ns);
      stats.set_min_ns(run_.median_ns);
      stats.set_p10_ns(run_.median_ns);
      stats.set_p90_ns(run_.median_ns);
      stats.set_half_width_ns(run_.half_width_ns);
    }
    return {
        {RunnerNotice::Kind::kTimingBegins}, {RunnerNotice::Kind::kTimingEnds}, {RunnerNotice::Kind::kEnded, outcome}};
  }
  void Go() override {
    has_gone_ = true;
    run_.at_go();
    if (run_.takes == Duration(0) && !run_.may_end) {
      eventfd_write(event_, 1);
      return;
    }
    waiting_ = std::thread([this] {
      std::this_thread::sleep_for(run_.takes);
      while (run_.may_end && !run_.may_end() && !is_over_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      eventfd_write(event_, 1);
    });
  }
  void Kill() override {
    is_killed_ = true;
    eventfd_write(event_, 1);
  }

 private:
  const PretendedRun run_;
  const int event_;
  bool has_gone_ = false, is_killed_ = false;
  std::atomic<bool> is_over_ = false;
  std::thread waiting_;
};

class PretendingRunners : public TrialRunnerFactory {
 public:
  explicit PretendingRunners(PretendedDevice device) : device_(std::move(device)) {}
  StatusOr<std::unique_ptr<TrialRunner>> Start(const v1::MeasureSpec& spec, const std::string&,
                                               const std::string&) override {
    return std::unique_ptr<TrialRunner>(std::make_unique<PretendedRunner>(device_(spec)));
  }

 private:
  PretendedDevice device_;
};

class TestDevice {
 public:
  TestDevice(Coordinator& coordinator, const std::string& folder, const std::string& name, PretendedDevice device,
             const std::string& key = "local", double peak_gflops = 0, const std::optional<Endpoint>& place = {},
             const std::string& identity_path = "")
      : runners_(std::move(device)) {
    v1::DeviceFacts facts = CollectDeviceFacts(name, key, {});
    facts.set_peak_gflops(peak_gflops);
    StatusOr<std::unique_ptr<DeviceServer>> server =
        DeviceServer::Create({.facts = std::move(facts),
                              .build_id = "test",
                              .data_directory = folder + "/device-" + name,
                              .server = place ? ServerPlace(*place) : ServerPlace(Pair(coordinator)),
                              .identity_path = identity_path},
                             runners_);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    thread_ = std::thread([this] { server_->Run(); });
  }
  ~TestDevice() {
    server_->Stop();
    thread_.join();
  }

 private:
  using ServerPlace = decltype(DeviceServerOptions::server);
  static SocketMaker Pair(Coordinator& coordinator) {
    return [&coordinator] { return coordinator.gateway().MakeSocketPair(); };
  }
  PretendingRunners runners_;
  std::unique_ptr<DeviceServer> server_;
  std::thread thread_;
};

using PretendedBuild = std::function<BuildOutcome(const BuildRequest&)>;
inline BuildOutcome TextModule(const BuildRequest& request) {
  return BuiltModule{.bytes = "module of " + request.trace_json};
}

class PretendedBuilder : public Builder {
 public:
  explicit PretendedBuilder(PretendedBuild build) : build_(std::move(build)) {}
  BuildOutcome Build(const BuildRequest& request) override { return build_(request); }
  void Cancel() override {}
  void SetPaused(bool) override {}

 private:
  PretendedBuild build_;
};

class FakeReference : public ReferenceSource {
 public:
  explicit FakeReference(std::function<Status(uint64_t seed)> status) : status_(std::move(status)) {}
  StatusOr<Reference> Make(const Digest&, const PrimFunc&, uint64_t seed) override {
    if (const Status status = status_(seed); !status.ok()) return status;
    return Reference{Sha256("reference"), 9, {1e-3}};
  }

 private:
  const std::function<Status(uint64_t seed)> status_;
};

inline StrategyFactory SearchAtRandom() {
  return [](const TuneTask& task, uint64_t seed, const ModelReportSink&) { return MakeRandomSearch(task, seed); };
}

struct FakeFarmOptions {
  std::string database;  // Empty: in memory.
  PretendedBuild build = TextModule;
  std::function<Status(uint64_t seed)> reference = [](uint64_t) { return OkStatus(); };  // Why there is none.
  int slots = 2;
  bool has_worker = true;
  SearchFactory searches = SearchAtRandom;
  std::function<std::unique_ptr<Store>(std::unique_ptr<Store>)> wrap;  // Around the store, if given.
  size_t most_jobs = 16;
  bool checks_devices = false;
  std::function<StatusOr<std::unique_ptr<MachineAuthenticator>>(Store&)> make_authenticator = {};
  Clock* clock = &SystemClock();  // The coordinator's; workers and devices live by the real one.
};

// The store is the coordinator's; look at it through store().
class FakeFarm {
 public:
  explicit FakeFarm(FakeFarmOptions options = {}) : options_(std::move(options)) { Start(); }
  ~FakeFarm() { Stop(); }

  void Start() {
    StatusOr<std::unique_ptr<SqliteStore>> store =
        options_.database.empty() ? SqliteStore::OpenInMemory(*options_.clock)
                                  : SqliteStore::Open(folder_ / options_.database, *options_.clock);
    ASSERT_TRUE(store.ok()) << store.status().message();
    CoordinatorOptions coordinator_options{
        .directory = folder_ / "files",
        .searches = options_.searches,
        .schedulers = [] { return MakeRoundRobinScheduler(); },
        .references = [status = options_.reference] { return std::make_unique<FakeReference>(status); },
        .checks_devices = options_.checks_devices,
        .most_jobs = options_.most_jobs,
        .clock = options_.clock,
        .make_authenticator = options_.make_authenticator};
    std::unique_ptr<Store> used = *std::move(store);
    if (options_.wrap) used = options_.wrap(std::move(used));
    StatusOr<std::unique_ptr<Coordinator>> made =
        Coordinator::Create(std::move(coordinator_options), std::move(used), gate_);
    ASSERT_TRUE(made.ok()) << made.status().message();
    coordinator_ = *std::move(made);
    ASSERT_TRUE(coordinator_->StoreArtifact(Sha256("reference"), "reference").ok());
    if (!options_.has_worker) return;
    worker_ = std::make_unique<Worker>(
        WorkerOptions{.name = "worker",
                      .slots = options_.slots,
                      .codegen_version = kCodegenVersion,
                      .builders = [build = options_.build]() -> StatusOr<std::unique_ptr<Builder>> {
                        return std::unique_ptr<Builder>(std::make_unique<PretendedBuilder>(build));
                      }},
        *coordinator_);
  }
  void Stop() {
    devices_.clear();
    worker_.reset();
    coordinator_.reset();
  }
  void AddDevice(const std::string& name, PretendedDevice device = ByTrialId, const std::string& key = "local",
                 double peak_gflops = 0) {
    devices_.push_back(
        std::make_unique<TestDevice>(*coordinator_, folder_.path(), name, std::move(device), key, peak_gflops));
  }
  // By an identity file, over TLS.
  void AddDeviceAt(const Endpoint& place, const std::string& identity_path, const std::string& name,
                   PretendedDevice device) {
    devices_.push_back(std::make_unique<TestDevice>(*coordinator_, folder_.path(), name, std::move(device), "local", 0,
                                                    place, identity_path));
  }
  void RemoveDevices() { devices_.clear(); }

  JobRequest RequestFor(int64_t trials, const std::string& id, const std::string& text = kMatmulText) const {
    const PrimFunc func = *ParsePrimFunc(text, "test.py");
    JobRequest request{.request_id = id, .name = "test"};
    request.tasks.push_back({.workload = {WorkloadDigest(func), func.name, text},
                             .name = func.name,
                             .target = "llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=1",
                             .trial_budget = trials});
    return request;
  }
  int64_t Submit(int64_t trials, const std::string& id = "request-1") { return Submit(RequestFor(trials, id)); }
  int64_t Submit(const JobRequest& request) {
    const StatusOr<CreatedJob> created = coordinator_->SubmitJob(request);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return created.ok() ? created->job.id : 0;
  }
  bool WaitFor(int64_t job) { return coordinator_->WaitForJob(job, kHangGuard); }
  // Looks until it is so; for what no call waits for.
  static void Until(const std::function<bool()>& is_so) {
    while (!is_so()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::map<std::string, int64_t> CountStates(int64_t job) {
    std::map<std::string, int64_t> counts;
    for (const TaskRow& task : *store().ListTasks(job)) {
      const TaskCounts by_state = *store().CountTrials(task.id);
      for (const TrialState state : AllTrialStates()) {
        if (const int64_t count = by_state.by_state[static_cast<size_t>(state)]; count > 0)
          counts[std::string(TrialStateName(state))] += count;
      }
    }
    return counts;
  }
  // `clock` is that of the options.
  void Advance(FakeClock& clock, Duration by) {
    clock.Advance(by);
    (void)coordinator_->CurrentTrouble();  // Makes it look.
  }
  // Looks until it is so, while time passes: for what needs retries whose times nobody knows beforehand.
  void UntilInTime(FakeClock& clock, const std::function<bool()>& is_so) {
    Until([&] {
      if (is_so()) return true;
      Advance(clock, std::chrono::milliseconds(100));
      return false;
    });
  }
  Coordinator& coordinator() { return *coordinator_; }
  Store& store() { return coordinator_->store(); }
  std::string folder() const { return folder_.path(); }

 private:
  const FakeFarmOptions options_;
  TemporaryFolder folder_;
  QuietGate gate_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Worker> worker_;
  std::vector<std::unique_ptr<TestDevice>> devices_;
};

}  // namespace lathe
