// One server with up to a thousand devices: the real coordinator, store and gateway, over TCP of this machine; devices
// whose trials only take time, a worker whose builds are done at once, searches that propose from a list. Everything is
// in one process, so its CPU time and memory are those of both sides.
//
//   busy       of each device, the share of the time in which it measured: mean, median, the tenth of them from below
//   gap        of a device, from the end of one trial to the start of the next
//   grant      a person asks for a device that is free, until it is theirs
//   asked      a question to the coordinator's loop, until it is answered
//   get_job    a client's GetJob over the server's socket
//   committed  from a result's arrival to its commit, and from an artifact to that, without the measurement
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "rpc/machine_identity.h"
#include "support/check.h"
#include "support/status_macros.h"
#include "tests/bench/tuner/job/stand_in_devices.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/coordinator.h"
#include "tuner/service/client.h"
#include "tuner/service/farm_server.h"
#include "tuner/service/machine_registrar.h"
#include "tuner/worker/worker_core.h"

namespace lathe {
namespace {

constexpr int kModules = 16;  // Of all trials: each device fetches each once.
constexpr size_t kTraceBytes = 1500;
constexpr Duration kProbeEvery = std::chrono::milliseconds(100);

struct Options {
  int devices = 50, jobs = 2, slots = 256;
  int64_t trial_ms = 2000, warm_s = 20, measured_s = 60, proposed_per_s = 0;
  bool is_encrypted = false;
  std::string folder;
};

TimePoint Now() { return SystemClock().Now(); }
double Ms(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

template <typename Value>
Value Quantile(std::vector<Value> values, double part) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(part * static_cast<double>(values.size())))];
}

// ---- Stand-ins beside the devices.

class ListedCandidates : public SearchStrategy {
 public:
  ListedCandidates(PrimFunc func, int64_t per_second) : func_(std::move(func)), per_second_(per_second) {}
  std::vector<MeasureCandidate> Propose(int count) override {
    std::vector<MeasureCandidate> candidates;
    if (per_second_ > 0) {
      count = 1;
      std::this_thread::sleep_for(Duration(std::chrono::seconds(1)) / per_second_);
    }
    for (int i = 0; i < count; ++i) {
      MeasureCandidate candidate{.func = func_};
      candidate.trace_json = fmt::format("[\"{}\", {}, \"{}\"]", func_.name, next_++, std::string(kTraceBytes, 't'));
      candidate.trace_digest = Sha256(candidate.trace_json);
      candidates.push_back(std::move(candidate));
    }
    return candidates;
  }
  std::vector<MeasureCandidate> Adopt(std::span<const ScheduleTrace>, int) override { return {}; }
  void Observe(const MeasuredCandidate&) override {}
  void Recall(std::span<const MeasuredCandidate>) override {}
  void Exclude(std::vector<Digest>) override {}

 private:
  const PrimFunc func_;
  const int64_t per_second_;  // 0: as many as are asked for.
  int64_t next_ = 0;
};

class GivenReference : public ReferenceSource {
 public:
  StatusOr<Reference> Make(const Digest&, const PrimFunc&, uint64_t) override {
    return Reference{Sha256("reference"), 9, {1e-3}};
  }
};

// Has every artifact before it is asked for.
class ReadyWorker {
 public:
  ReadyWorker(Coordinator& coordinator, int slots) : coordinator_(coordinator), slots_(slots) {
    for (int i = 0; i < kModules; ++i) {
      const std::string module = fmt::format("{}{}", i, std::string(16 << 10, 'm'));
      CHECK(coordinator.StoreArtifact(Sha256(module), module).ok()) << "store an artifact";
      modules_.push_back({Sha256(module), static_cast<int64_t>(module.size())});
    }
    thread_ = std::thread([this] { Run(); });
  }
  ~ReadyWorker() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void Run() {
    v1::WorkerFacts facts;
    facts.set_name("ready");
    facts.set_instance(1);
    facts.set_slots(static_cast<uint32_t>(slots_));
    facts.set_codegen_version(static_cast<uint32_t>(kCodegenVersion));
    WorkerCore core(std::move(facts));
    while (!is_over_) {
      const auto answer = coordinator_.Synchronize(core.Declare(std::chrono::seconds(1)));
      if (!answer.ok()) continue;
      (void)core.Accept(*answer, Now());
      while (const auto start = core.TakeTask(0, Now())) Finish(core, start->task.trial_id());
    }
  }
  void Finish(WorkerCore& core, int64_t trial) {
    const BuiltArtifact& module = modules_[static_cast<size_t>(trial) % kModules];
    v1::BuildState outcome;
    outcome.mutable_artifact()->set_digest(std::string(module.module_digest.raw()));
    outcome.mutable_artifact()->set_size(module.size_bytes);
    (void)core.Finish(0, std::move(outcome), Now());
  }

  Coordinator& coordinator_;
  const int slots_;
  std::vector<BuiltArtifact> modules_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

JobRequest MakeRequest(int number) {
  const std::string text = fmt::format(R"(
@T.prim_func
def add{0}(A: T.Buffer(({0},), "float32"), B: T.Buffer(({0},), "float32")):
    for i in range({0}):
        with T.block("B"):
            vi = T.axis.spatial({0}, i)
            B[vi] = A[vi] + T.float32(1)
)",
                                       64 + number);
  const PrimFunc func = *ParsePrimFunc(text, "bench.py");
  constexpr int64_t kEnough = 100'000'000;
  JobRequest request{.request_id = fmt::format("job-{}", number), .name = func.name, .submitter = "bench"};
  request.tasks.push_back({.workload = {WorkloadDigest(func), func.name, text},
                           .name = func.name,
                           .target = "llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=1",
                           .trial_budget = kEnough});
  return request;
}

// ---- What is asked meanwhile.

// Asks again and again, from a thread of its own, and notes how long each answer took.
class Probe {
 public:
  // `after` is not timed.
  explicit Probe(
      std::function<bool()> ask, std::function<void()> after = [] {})
      : ask_(std::move(ask)), after_(std::move(after)), thread_([this] { Run(); }) {}
  ~Probe() {
    is_over_ = true;
    thread_.join();
  }
  std::vector<double> TakeMs() {
    std::lock_guard lock(mutex_);
    return std::exchange(ms_, {});
  }

 private:
  void Run() {
    while (!is_over_) {
      std::this_thread::sleep_for(kProbeEvery);
      const TimePoint begin = Now();
      const bool is_answered = ask_();
      const double ms = Ms(Now() - begin);
      after_();
      std::lock_guard lock(mutex_);
      if (is_answered) ms_.push_back(ms);
    }
  }

  const std::function<bool()> ask_;
  const std::function<void()> after_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::vector<double> ms_;  // Guarded by mutex_.
  std::thread thread_;      // Last: it uses all of the above.
};

// Of a device of a key of its own, which is free then.
bool AskForGrant(Coordinator& coordinator) {
  static int number = 0;
  const ReservationRequest request{.user = "ann",
                                   .request_id = std::to_string(number++),
                                   .wish = DeviceWish::OfKey("probe"),
                                   .lasts = std::chrono::minutes(1)};
  const StatusOr<ReservationStanding> standing = coordinator.Reserve(request);
  return standing.ok() && !standing->device.empty();
}

double MibOf(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == field + ":" && status >> kib) return kib / 1024;
  }
  return 0;
}

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// ---- The run.

class Run {
 public:
  explicit Run(const Options& options) : options_(options), folder_(options.folder) {}

  Status Start() {
    const std::string database = folder_ / "farm.db";
    ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store, SqliteStore::Open(database));
    if (options_.is_encrypted) RETURN_IF_ERROR(MakeAuthorityBeside(database, {}, SystemClock().UnixNanos()).status());
    ASSIGN_OR_RETURN(coordinator_, Coordinator::Create(MakeOptions(database), std::move(store), gate_));
    RETURN_IF_ERROR(coordinator_->StoreArtifact(Sha256("reference"), "reference"));
    const Endpoint socket{.unix_path = folder_ / "farm.sock"};
    ASSIGN_OR_RETURN(server_, FarmServer::Start(*coordinator_, {socket}));
    client_ = ConnectToServer(socket, {});
    ASSIGN_OR_RETURN(place_, coordinator_->gateway().Listen({.host = "127.0.0.1"}));
    return StartStandIns();
  }

  void Measure() {
    std::this_thread::sleep_for(std::chrono::seconds(options_.warm_s));
    Probe grants([&] { return AskForGrant(*coordinator_); }, [&] { (void)coordinator_->Release("probe", {"ann"}); });
    Probe questions([&] { return coordinator_->CurrentTrouble().empty(); });
    Probe jobs([&] { return client_->tuning().GetJob(get_job_).ok(); });
    (void)devices_->TakeReport();
    (void)coordinator_->Statistics(std::chrono::seconds(10));
    const StoreStats before = *coordinator_->store().Stats();
    const double cpu_before = CpuSeconds();
    const TimePoint begin = Now();
    std::this_thread::sleep_for(std::chrono::seconds(options_.measured_s));
    const double seconds = Ms(Now() - begin) / 1000;
    const StandInReport report = devices_->TakeReport();
    const StoreStats stats = *coordinator_->store().Stats();
    const double cpu = CpuSeconds() - cpu_before;
    PrintDevices(report, seconds);
    fmt::print("records/s {:.1f}, operations/s {:.0f}, transactions/s {:.0f}\n",
               static_cast<double>(stats.records - before.records) / seconds,
               static_cast<double>(stats.operations - before.operations) / seconds,
               static_cast<double>(stats.commits - before.commits) / seconds);
    Print("grant", grants.TakeMs());
    Print("asked", questions.TakeMs());
    Print("get_job", jobs.TakeMs());
    PrintFarm();
    fmt::print("cpu: {:.3f} of a core, of that stand-in devices {:.3f}; resident {:.0f} MiB, at most {:.0f} MiB\n",
               cpu / seconds, Ms(report.cpu) / 1000 / seconds, MibOf("VmRSS"), MibOf("VmHWM"));
  }

 private:
  CoordinatorOptions MakeOptions(const std::string& database) {
    CoordinatorOptions options{.directory = folder_ / "files",
                               .searches =
                                   [this] {
                                     return [this](const TuneTask& task, uint64_t, const ModelReportSink&) {
                                       return std::make_unique<ListedCandidates>(task.func, options_.proposed_per_s);
                                     };
                                   },
                               .schedulers = [] { return MakeRoundRobinScheduler(); },
                               .references = [] { return std::make_unique<GivenReference>(); },
                               .log = [](const std::string& words) { fmt::print(stderr, "{}\n", words); }};
    if (options_.is_encrypted) {
      options.make_authenticator = [database](Store& store) -> StatusOr<std::unique_ptr<MachineAuthenticator>> {
        return std::unique_ptr<MachineAuthenticator>(*MachineRegistrar::Make(store, database));
      };
    }
    return options;
  }

  Status StartStandIns() {
    StandInOptions stand_ins{
        .place = place_, .devices = {{"probe", "probe"}}, .trial = std::chrono::milliseconds(options_.trial_ms)};
    for (int i = 0; i < options_.devices; ++i) stand_ins.devices.push_back({fmt::format("device-{:04}", i), "local"});
    if (options_.is_encrypted) {
      for (StandIn& device : stand_ins.devices) RETURN_IF_ERROR(Join(device));
    }
    devices_ = std::make_unique<StandInDevices>(std::move(stand_ins));
    worker_ = std::make_unique<ReadyWorker>(*coordinator_, options_.slots);
    for (int i = 0; i < options_.jobs; ++i) {
      ASSIGN_OR_RETURN(const CreatedJob created, coordinator_->SubmitJob(MakeRequest(i)));
      get_job_.set_job_id(created.job.id);
    }
    return OkStatus();
  }

  Status Join(StandIn& device) {
    ASSIGN_OR_RETURN(const Authority authority, ReadAuthorityBeside(folder_ / "farm.db"));
    const InvitationCode code{DrawSecret<16>(), *CertificateDigest(authority.authority.certificate_pem)};
    RETURN_IF_ERROR(coordinator_->store()
                        .Invite({code.SecretDigest(), Role::kDevice, device.name, std::chrono::hours(1)}, "a benchmark")
                        .status());
    ASSIGN_OR_RETURN(const MachineIdentity joined,
                     JoinFarm(place_, code, {Role::kDevice, device.name}, std::chrono::seconds(20)));
    device.identity_path = folder_ / (device.name + ".pem");
    return joined.Write(device.identity_path);
  }

  void PrintDevices(const StandInReport& report, double seconds) {
    const std::vector<double> busy(report.busy.begin() + 1, report.busy.end());  // Without the probe's.
    fmt::print("{} devices{}, trials of {} ms, {} jobs, measured for {:.0f} s\n", options_.devices,
               options_.is_encrypted ? " over TLS" : "", options_.trial_ms, options_.jobs, seconds);
    fmt::print(
        "busy: mean {:.1f} %, median {:.1f} %, tenth {:.1f} %, least {:.1f} %; connected {}; acknowledged/s {:.1f}\n",
        100 * std::accumulate(busy.begin(), busy.end(), 0.0) / static_cast<double>(busy.size()),
        100 * Quantile(busy, 0.5), 100 * Quantile(busy, 0.1), 100 * Quantile(busy, 0), report.welcome - 1,
        static_cast<double>(report.acknowledged) / seconds);
    std::vector<double> gaps;
    for (const int64_t gap : report.gaps_ns) gaps.push_back(static_cast<double>(gap) / 1e6);
    Print("gap", gaps);
  }

  static void Print(const char* what, const std::vector<double>& ms) {
    fmt::print("{}: p50 {:.2f} ms, p99 {:.2f} ms, at most {:.2f} ms ({})\n", what, Quantile(ms, 0.5),
               Quantile(ms, 0.99), Quantile(ms, 1), ms.size());
  }

  void PrintFarm() {
    const std::optional<FarmStatistics> farm = coordinator_->Statistics(std::chrono::seconds(10));
    const StatusOr<JobProgress> job = coordinator_->Progress(get_job_.job_id());
    if (!farm || !job.ok()) return;
    fmt::print(
        "committed: a result in {:.2f} ms, an artifact's in {:.2f} ms (medians); the loop was busy for at most "
        "{:.1f} ms\n",
        MedianNs(job->latencies.result_to_commit_ns) / 1e6, MedianNs(job->latencies.built_to_commit_ns) / 1e6,
        Ms(farm->loop_busy_longest));
    fmt::print("open trials:");
    for (const auto& [state, count] : farm->open_trials) fmt::print(" {} {}", TrialStateName(state), count);
    fmt::print("; {}{}{}\n", farm->trouble, job->waits_for, job->row.detail);
  }

  const Options options_;
  struct Folder {
    explicit Folder(const std::string& base) {
      std::string name = (base.empty() ? std::filesystem::temp_directory_path().string() : base) + "/lathe_farm_XXXXXX";
      path = mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
    std::filesystem::path path;
  } folder_;
  QuietGate gate_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<FarmServer> server_;
  std::unique_ptr<ServerConnection> client_;
  Endpoint place_;
  std::unique_ptr<ReadyWorker> worker_;
  std::unique_ptr<StandInDevices> devices_;
  v1::GetJobRequest get_job_;
};

int Main(int argc, char** argv) {
  CLI::App app{"How busy one server keeps many devices, and what that costs it."};
  Options options;
  app.add_option("--devices", options.devices, "Stand-ins, at most 1023")->capture_default_str();
  app.add_option("--trial-ms", options.trial_ms, "What a trial takes")->capture_default_str();
  app.add_option("--jobs", options.jobs, "Each of one task")->capture_default_str();
  app.add_option("--slots", options.slots, "Of the worker")->capture_default_str();
  app.add_option("--warm", options.warm_s, "Seconds before it measures")->capture_default_str();
  app.add_option("--seconds", options.measured_s, "That it measures")->capture_default_str();
  app.add_option("--proposed-per-second", options.proposed_per_s, "Of each job, one by one; 0: as many as it takes");
  app.add_flag("--tls", options.is_encrypted, "Devices join first, and everything is encrypted");
  app.add_option("--folder", options.folder, "Where the database lies while it runs; commits are as fast as its disk");
  CLI11_PARSE(app, argc, argv);
  Run run(options);
  if (const Status status = run.Start(); !status.ok()) {
    fmt::print(stderr, "farm_scale_benchmark: {}\n", status.message());
    return 1;
  }
  run.Measure();
  return 0;
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) { return lathe::Main(argc, argv); }
