// The database at scale; --benchmark_filter says which part. Files of up to 11 GB lie in $TMPDIR while it runs or, if
// $LATHE_SCALE_FOLDER names a folder, there for the next run.
//
//   BM_RestartToServing/N     kill -9 to the line of `lathe up` that says where it listens; N trials
//   BM_TakeUp/N               a search that begins with N records of its key; peak_mib: of memory, beyond the program
//   BM_CommitResults/N/T      results on T threads beside one that renews a lease again and again, as the coordinator's
//                             loop writes; among N records
//   loop does BM_QueryBest/N            one best schedule among N records BM_Prune/N                forgets what N
//   trials left behind; longest_ms: of a transaction
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "support/bounded_queue.h"
#include "tests/bench/database/big_database.h"
#include "tuner/database/prune.h"
#include "tuner/job/job_search.h"
#include "tuner/search/evolutionary_search.h"

namespace lathe {
namespace {

using Seconds = std::chrono::duration<double>;

// The files of this run, or of all.
class Folder {
 public:
  Folder() {
    const char *kept = std::getenv("LATHE_SCALE_FOLDER"), *base = std::getenv("TMPDIR");
    std::string name = std::string(base == nullptr ? "/tmp" : base) + "/lathe_scale_XXXXXX";
    is_kept_ = kept != nullptr;
    path_ = is_kept_ ? kept : mkdtemp(name.data());
  }
  ~Folder() {
    if (!is_kept_) std::filesystem::remove_all(path_);
  }
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  bool is_kept_ = false;
};

BigDatabase Big(const std::string& kind, BigDatabase wanted) {
  static const Folder folder;
  wanted.has_leftovers = wanted.trials <= 1'000'000;
  wanted.path = folder.File(fmt::format("{}_{}.db", kind, wanted.trials));
  if (!std::filesystem::exists(wanted.path)) wanted.Make();
  return wanted;
}
BigDatabase OfManyKeys(int64_t trials) { return Big("many", {.trials = trials, .keys = 1000}); }

// ---- Restart

class Server {
 public:
  explicit Server(const std::string& database) {
    int ends[2];
    CHECK(pipe(ends) == 0) << "pipe";
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // The tasks' texts are none.
      execl(LATHE_BIN_DIR "/lathe", "lathe", "up", "--json", "--db", database.c_str(), "--listen", "127.0.0.1:0",
            "--device-listen", "127.0.0.1:0", nullptr);
      _exit(127);
    }
    close(ends[1]);
    char byte = 0;
    is_up_ = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
  }
  ~Server() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool is_up() const { return is_up_; }

 private:
  pid_t pid_;
  bool is_up_ = false;
};

void BM_RestartToServing(benchmark::State& state) {
  const BigDatabase big = OfManyKeys(state.range(0));
  big.AddRunning(100);
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const Server server(big.path);
    if (!server.is_up()) return state.SkipWithError("lathe up failed; build the target lathe");
    state.SetIterationTime(Seconds(std::chrono::steady_clock::now() - begin).count());
  }
}
BENCHMARK(BM_RestartToServing)
    ->Arg(1000)
    ->Arg(1'000'000)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

// ---- A job is taken up

constexpr char kMatmul[] = R"(
@T.prim_func
def matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

class NoReference : public ReferenceSource {
 public:
  StatusOr<Reference> Make(const Digest&, const PrimFunc&, uint64_t) override { return Reference{}; }
};

BigDatabase OfMatmul(int64_t records) {
  const PrimFunc func = *ParsePrimFunc(kMatmul, "bench.py");
  BigDatabase big{.trials = records, .workload_text = kMatmul, .workload = WorkloadDigest(func)};
  auto store = *SqliteStore::OpenInMemory();
  CHECK(store->PutWorkload({big.workload, func.name, kMatmul}).ok()) << "put";
  const TuneTask task = *LoadTuneTask(*store, big.KeyOf(0));
  const auto search = MakeRandomSearch(task, 1);
  for (const MeasureCandidate& candidate : search->Propose(256)) big.traces.push_back(candidate.trace_json);
  return big;
}

int64_t PeakKib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// In a process of its own, whose peak is the search's.
struct TakenUp {
  double seconds = 0, cpu_seconds = 0;
  int64_t kib = 0;
};
TakenUp TakeUp(const BigDatabase& big) {
  const int64_t before = PeakKib();
  const double cpu_before = CpuSeconds();
  const auto begin = std::chrono::steady_clock::now();
  auto store = *SqliteStore::Open(big.path);
  QuietGate gate;
  std::promise<Status> prepared;
  const auto model = MakeXgbModel({});
  const StrategyFactory strategies = [&](const TuneTask& task, uint64_t seed, ModelReportSink) {
    return MakeEvolutionarySearch(task, *model, seed, {});
  };
  JobSearch search({strategies, [] { return std::make_unique<NoReference>(); }},
                   *JobSpec::FromJson(store->GetJob(1)->spec), *store->ListTasks(1), *store,
                   std::make_unique<StoreSearchWrites>(*store, *store->ListTasks(1)), gate,
                   {.on_prepared = [&](size_t, StatusOr<PreparedTask> task) { prepared.set_value(task.status()); },
                    .on_proposed = [](size_t, auto) {},
                    .on_finalists = [](size_t, auto) {},
                    .on_busy = [](bool) {},
                    .on_broken = [](const Status&) {}});
  search.Prepare(0);
  const Status status = prepared.get_future().get();
  CHECK(status.ok()) << status.ToString();
  return {Seconds(std::chrono::steady_clock::now() - begin).count(), CpuSeconds() - cpu_before, PeakKib() - before};
}

TakenUp TakeUpInAChild(const BigDatabase& big) {
  int ends[2];
  CHECK(pipe(ends) == 0) << "pipe";
  const pid_t child = fork();
  if (child == 0) {
    const TakenUp taken = TakeUp(big);
    _exit(write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1);
  }
  close(ends[1]);
  TakenUp taken;
  CHECK(read(ends[0], &taken, sizeof taken) == sizeof taken) << "the child ended";
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return taken;
}

void BM_TakeUp(benchmark::State& state) {
  const BigDatabase big = Big("matmul", OfMatmul(state.range(0)));
  for (auto _ : state) {
    const TakenUp taken = TakeUpInAChild(big);
    state.SetIterationTime(taken.seconds);
    state.counters["peak_mib"] = static_cast<double>(taken.kib) / 1024;
    state.counters["cpu_s"] = taken.cpu_seconds;
  }
}
BENCHMARK(BM_TakeUp)->Arg(1000)->Arg(100'000)->Arg(1'000'000)->UseManualTime()->Iterations(3)->Unit(benchmark::kSecond);

// ---- Commits

void BM_CommitResults(benchmark::State& state) {
  constexpr int64_t kResults = 6000;
  const int threads = static_cast<int>(state.range(1));
  const BigDatabase big = OfManyKeys(state.range(0));
  const int64_t first = big.AddRunning(kResults);
  const auto store = *SqliteStore::Open(big.path);
  for (auto _ : state) {
    BoundedQueue<int64_t> results(1 << 20);
    for (int64_t n = 0; n < kResults; ++n) results.Push(first + n);
    results.Close();
    std::atomic<int64_t> accepted = 0, soft = 0;
    std::atomic<bool> is_over = false;
    std::thread loop([&] {
      for (; !is_over; ++soft) (void)store->RenewLease(big.device_id, big.epoch, std::chrono::hours(100));
    });
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> committers;
    for (int t = 0; t < threads; ++t) {
      committers.emplace_back([&] {
        while (const auto trial = results.Pop()) {
          const auto answer = store->CommitResult(
              {*trial, 2, big.device_id, big.epoch, big.ModuleOf(*trial), TrialState::kOk, BigTimings(5000), "{}", ""});
          accepted += answer.ok() && answer->ack == Ack::kAccepted ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : committers) thread.join();
    const double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
    is_over = true;
    loop.join();
    if (accepted != kResults) return state.SkipWithError("not accepted");
    state.SetIterationTime(seconds);
    state.counters["results_per_s"] = static_cast<double>(kResults) / seconds;
    state.counters["soft_per_s"] = static_cast<double>(soft) / seconds;
    const StoreStats stats = *store->Stats();
    state.counters["per_commit"] = static_cast<double>(stats.operations) / static_cast<double>(stats.commits);
  }
}
BENCHMARK(BM_CommitResults)
    ->ArgsProduct({{1000, 1'000'000, 10'000'000}, {2, 32}})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

// ---- Queries and pruning

void BM_QueryBest(benchmark::State& state) {
  const BigDatabase big = OfManyKeys(state.range(0));
  const auto store = *SqliteStore::OpenReadOnly(big.path);
  int64_t n = 0;
  for (auto _ : state) {
    const auto answers = store->QueryBest(std::vector{big.KeyOf(n = (n + 389) % big.keys)});
    if (!answers.ok() || (*answers)[0].lookup != Lookup::kHit) return state.SkipWithError("no hit");
  }
}
BENCHMARK(BM_QueryBest)->Arg(1000)->Arg(1'000'000)->Arg(10'000'000)->Unit(benchmark::kMicrosecond);

class NoFiles : public BlobFiles {
 public:
  std::vector<BlobFile> ListFiles() override { return {}; }
  bool DeleteUnused(const BlobFile&) override { return false; }
};

// Counts how long the writer was held.
void BM_Prune(benchmark::State& state) {
  const BigDatabase big = Big("prune", {.trials = state.range(0), .keys = 20});
  const auto store = *SqliteStore::Open(big.path);
  CHECK(store->SetJobState(big.job_id, JobState::kDone, "").ok()) << "end the job";
  for (auto _ : state) {
    const RetentionPolicy all_of_it{Duration(0), 1'000'000, Duration(0), Duration(0), Duration(0), Duration(0)};
    double longest = 0, sum = 0;
    int64_t rows = 0, steps = 0, slow = 0;
    for (const RetentionKind kind : kRetentionKinds) {
      double longest_of_kind = 0;
      for (;;) {
        const RetentionFacts facts = *store->ListRetentionFacts(kind, std::nullopt, PruneOptions{}.rows_at_once);
        const RetentionVerdict verdict = JudgeRetention(kind, facts, all_of_it);
        if (verdict.goes.empty()) break;
        const auto begin = std::chrono::steady_clock::now();
        rows += *store->Forget(kind, verdict.goes, facts.rows[verdict.judged - 1].id);
        const double ms = 1000 * Seconds(std::chrono::steady_clock::now() - begin).count();
        longest_of_kind = std::max(longest_of_kind, ms);
        sum += ms;
        ++steps;
        slow += ms > 10 ? 1 : 0;
      }
      longest = std::max(longest, longest_of_kind);
      state.counters["longest_" + std::string(RetentionKindName(kind))] = longest_of_kind;
    }
    state.counters["longest_ms"] = longest;
    state.counters["mean_ms"] = sum / static_cast<double>(steps);
    state.counters["slow_per_mille"] = 1000 * static_cast<double>(slow) / static_cast<double>(steps);
    state.counters["rows"] = static_cast<double>(rows);
  }
  std::filesystem::remove(big.path);  // There is nothing left to prune.
}
BENCHMARK(BM_Prune)->Arg(100'000)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
