// What the database costs: best queries at 100,000 records, opening it, one trial's verbs alone and among 100,000
// others, and commits of many threads. The files lie in $TMPDIR (or /tmp): commits are as fast as fsync there.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

constexpr int kWorkloads = 1000, kRecordsPerWorkload = 100;

class Folder {
 public:
  Folder() {
    const char* base = getenv("TMPDIR");
    std::string name = std::string(base == nullptr ? "/tmp" : base) + "/lathe_bench_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string File() const { return (path_ / "tuning.db").string(); }

 private:
  std::filesystem::path path_;
};

TuningKey KeyOf(int workload) {
  return {Sha256(fmt::format("w{}", workload)),
          "llvm -mcpu=skylake-avx512 -num-cores=2",
          "laptop",
          "warm-weights",
          {19, 1},
          1};
}
Timings TimingsOf(double median) {
  return {median,        median * 0.9,  median * 1.1, median * 0.01,
          median * 0.99, median * 1.01, 20,           std::vector<double>(20, median)};
}

std::string TraceOf(int n) {
  return fmt::format("[{}, \"{}\"]", n, std::string(2000, 't'));
}  // A 20-instruction trace has about 2 KB.

void Fill(Store& store) {
  for (int w = 0; w < kWorkloads; ++w) {
    (void)store.PutWorkload({KeyOf(w).workload, "conv", std::string(1500, 'x')});
    std::vector<TuningRecord> records;
    for (int n = 0; n < kRecordsPerWorkload; ++n) {
      TuningRecord record;
      record.key = KeyOf(w);
      record.trace_json = TraceOf(w * kRecordsPerWorkload + n);
      record.trace_digest = Sha256(record.trace_json);
      record.result_key = Sha256("r" + record.trace_json);
      record.timings = TimingsOf(1000 + (n * 37) % 100);
      record.environment = "{}";
      records.push_back(std::move(record));
    }
    if (!store.ImportRecords(records).ok()) abort();
  }
}

// 100,000 records, written once per process.
const std::string& FullDatabase() {
  static const Folder folder;
  static const std::string path = [] {
    std::string file = folder.File();
    Fill(**SqliteStore::Open(file));
    return file;
  }();
  return path;
}

void BM_QueryBest(benchmark::State& state) {
  auto store = *SqliteStore::OpenReadOnly(FullDatabase());
  int workload = 0;
  for (auto _ : state) {
    auto answers = store->QueryBest(std::vector{KeyOf(workload = (workload + 7919) % kWorkloads)});
    if (!answers.ok() || (*answers)[0].lookup != Lookup::kHit) return state.SkipWithError("no hit");
  }
}
BENCHMARK(BM_QueryBest)->Unit(benchmark::kMicrosecond);

void BM_QueryBestOfAWholeNetwork(benchmark::State& state) {
  auto store = *SqliteStore::OpenReadOnly(FullDatabase());
  std::vector<TuningKey> keys;
  for (int i = 0; i < 100; ++i) keys.push_back(KeyOf(i * 10));
  for (auto _ : state) benchmark::DoNotOptimize(store->QueryBest(keys).ok());
}
BENCHMARK(BM_QueryBestOfAWholeNetwork)->Unit(benchmark::kMillisecond);

// What `lathe best` pays in the database: open, one query, close.
void BM_OpenReadOnlyAndQuery(benchmark::State& state) {
  (void)FullDatabase();
  for (auto _ : state) {
    auto store = *SqliteStore::OpenReadOnly(FullDatabase());
    benchmark::DoNotOptimize(store->QueryBest(std::vector{KeyOf(5)}).ok());
  }
}
BENCHMARK(BM_OpenReadOnlyAndQuery)->Unit(benchmark::kMillisecond);

// The whole command: of one workload, and of all 1,000.
void BM_LatheBest(benchmark::State& state) {
  std::string command = fmt::format(LATHE_BIN_DIR "/lathe best --db {} >/dev/null", FullDatabase());
  if (state.range(0) == 1) command += " --workload " + KeyOf(5).workload.ToHex();
  for (auto _ : state) {
    if (std::system(command.c_str()) != 0) return state.SkipWithError("lathe best failed; build the target lathe");
  }
}
BENCHMARK(BM_LatheBest)->ArgName("workloads")->Arg(1)->Arg(kWorkloads)->Unit(benchmark::kMillisecond)->UseRealTime();

struct Job {
  explicit Job(Store& store) : store(store) {
    (void)store.PutWorkload({KeyOf(0).workload, "conv", "text"});
    const int64_t job = store.CreateJob({"r", "net", "{}", {{KeyOf(0), "conv", 1, 1'000'000}}})->job.id;
    task = store.ListTasks(job)->front().id;
    device = store.RegisterDevice({"local", "laptop", "{}", 0})->id;
    epoch = store.GrantLease(device, "bench", std::chrono::hours(10'000), 0)->epoch;
  }
  int64_t Propose(int n) {
    const std::string trace = TraceOf(n);
    return (*store.ProposeTrials(task, std::vector{NewTrial{Sha256(trace), trace, 0.5, 1}},
                                 TrialState::kBuildQueued))[0]
        .value();
  }
  TrialRow Assign(int64_t id) {
    const int64_t attempt = (**store.ClaimForBuild("w", 0, {.trial_id = id})).attempt;
    (void)store.CommitBuild({id, attempt, BuiltArtifact{Sha256(fmt::format("m{}", id)), 1000}, "{}"},
                            TrialState::kMeasureQueued);
    return **store.ClaimForMeasure(device, epoch, {.trial_id = id});
  }
  bool Commit(const TrialRow& trial) {
    const auto answer = store.CommitResult(
        {trial.id, trial.attempt, device, epoch, *trial.module_digest, TrialState::kOk, TimingsOf(1000), "{}", ""});
    return answer.ok() && answer->ack == Ack::kAccepted;
  }
  Store& store;
  int64_t task = 0, device = 0, epoch = 0;
};

// A job of one task with 100,000 trials and as many records.
class Crowd {
 public:
  Crowd() : store_(*SqliteStore::Open(folder_.File())), job_(*store_) {
    for (int first = 0; first < kTrials; first += kAtOnce) Add(first);
    under_way_ = job_.Assign(job_.Propose(kTrials));
  }
  Store& store() { return *store_; }
  const Job& job() const { return job_; }
  const TrialRow& under_way() const { return under_way_; }

 private:
  static constexpr int kTrials = 100'000, kAtOnce = 1000;

  void Add(int first) {
    std::vector<NewTrial> trials;
    std::vector<TuningRecord> records;
    for (int n = first; n < first + kAtOnce; ++n) {
      TuningRecord record;
      record.key = KeyOf(0);
      record.trace_json = TraceOf(n);
      record.trace_digest = Sha256(record.trace_json);
      record.result_key = Sha256("r" + record.trace_json);
      record.timings = TimingsOf(1000 + n % 100);
      record.environment = "{}";
      trials.push_back({record.trace_digest, record.trace_json, 0.5, 1});
      records.push_back(std::move(record));
    }
    if (!store_->ProposeTrials(job_.task, trials, TrialState::kProposed).ok()) abort();
    if (!store_->ImportRecords(records).ok()) abort();
  }

  Folder folder_;
  std::unique_ptr<SqliteStore> store_;
  Job job_;
  TrialRow under_way_;
};
Crowd& TheCrowd() {
  static Crowd crowd;
  return crowd;
}

// What is counted at each trial's end.
void BM_CountAmongMany(benchmark::State& state) {
  Crowd& crowd = TheCrowd();
  for (auto _ : state) {
    benchmark::DoNotOptimize(crowd.store().CountTrials(crowd.job().task)->trials_done);
    benchmark::DoNotOptimize(*crowd.store().CountMeasured(KeyOf(0)));
  }
}
BENCHMARK(BM_CountAmongMany)->Unit(benchmark::kMicrosecond);

// What is asked at each grant, and at each worker's first word.
void BM_ListHeldAmongMany(benchmark::State& state) {
  Crowd& crowd = TheCrowd();
  const TrialFilter of_device{.device_id = crowd.job().device, .states = {TrialState::kAssigned, TrialState::kRunning}};
  const TrialFilter building{.states = {TrialState::kBuilding}};
  for (auto _ : state) {
    if (crowd.store().ListTrials(of_device, {})->size() != 1) return state.SkipWithError("not found");
    if (!crowd.store().ListTrials(building, {})->empty()) return state.SkipWithError("found");
  }
}
BENCHMARK(BM_ListHeldAmongMany)->Unit(benchmark::kMicrosecond);

// What GetJob asks of a task's records: those of the untuned schedule.
void BM_RecordsOfATraceAmongMany(benchmark::State& state) {
  Crowd& crowd = TheCrowd();
  const Digest trace = Sha256(TraceOf(77));
  for (auto _ : state) {
    if (crowd.store().RecordsOf(KeyOf(0), trace)->size() != 1) return state.SkipWithError("not found");
  }
}
BENCHMARK(BM_RecordsOfATraceAmongMany)->Unit(benchmark::kMicrosecond);

// One record, alone, durable: what a trial waits for at its end.
void BM_CommitResultAlone(benchmark::State& state) {
  const Folder folder;
  auto store = *SqliteStore::Open(folder.File());
  Job job(*store);
  int n = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const TrialRow trial = job.Assign(job.Propose(n++));
    state.ResumeTiming();
    if (!job.Commit(trial)) return state.SkipWithError("not accepted");
  }
}
BENCHMARK(BM_CommitResultAlone)->Unit(benchmark::kMicrosecond)->Iterations(500);

// All verbs of one trial in embedded mode: propose, claim, build, claim, result.
void BM_WholeTrialAlone(benchmark::State& state) {
  const Folder folder;
  auto store = *SqliteStore::Open(folder.File());
  Job job(*store);
  int n = 0;
  for (auto _ : state) {
    if (!job.Commit(job.Assign(job.Propose(n++)))) return state.SkipWithError("not accepted");
  }
}
BENCHMARK(BM_WholeTrialAlone)->Unit(benchmark::kMicrosecond)->Iterations(300);

// Records per second when many devices report at once.
void BM_CommitRate(benchmark::State& state) {
  static std::unique_ptr<Folder> folder;
  static std::unique_ptr<SqliteStore> store;
  static std::unique_ptr<Job> job;
  if (state.thread_index() == 0) {
    folder = std::make_unique<Folder>();
    store = *SqliteStore::Open(folder->File());
    job = std::make_unique<Job>(*store);
  }
  int n = state.thread_index() * 1'000'000;
  for (auto _ : state) {
    if (!job->Commit(job->Assign(job->Propose(n++)))) return state.SkipWithError("not accepted");
  }
  state.counters["records"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  if (state.thread_index() == 0) {
    const StoreStats stats = *store->Stats();
    state.counters["operations_per_commit"] =
        static_cast<double>(stats.operations) / static_cast<double>(stats.commits);
    job.reset();
    store.reset();
    folder.reset();
  }
}
BENCHMARK(BM_CommitRate)->Threads(32)->Iterations(60)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
