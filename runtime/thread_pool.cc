#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "runtime/cpu_features.h"

namespace lathe {
namespace {

constexpr int kSpins = 4000;            // About 20-100 us, as `pause` takes 10-140 cycles.
constexpr uint32_t kDynamicPieces = 4;  // Of a share: what the slowest thread does last is a quarter of its share.
constexpr int kJobs = 4;                // Callers that workers help at a time.
constexpr size_t kStackBytes = 2u << 20;

thread_local const void* own_pool = nullptr;  // The state of the pool that the thread is of.
thread_local int own_index = 0;
thread_local bool inside_body = false;

void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How many forks this process has come out of: a child has none of its parent's threads.
std::atomic<uint32_t> num_forks{0};

void CountForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { num_forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
}

// Returns once `word` no longer holds `old`, which it is asked `spins` times before the thread sleeps.
void AwaitChange(const std::atomic<uint32_t>& word, uint32_t old, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    SpinPause();
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

cpu_set_t SetOf(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  return set;
}

struct Iterations {
  int64_t begin, end;
};

// Part `i` of `count`, which differ by one iteration at most.
Iterations PartOf(Iterations all, int64_t i, int64_t count) {
  const int64_t extent = all.end - all.begin, size = extent / count, longer = extent % count;
  const int64_t begin = all.begin + i * size + std::min(i, longer);
  return {begin, begin + size + (i < longer ? 1 : 0)};
}

// The CPUs that threads of a pool run on, each once. The thread that makes the pool may be on one of them already.
std::vector<int> CpusOfPool(std::span<const int> cpus) {
  if (cpus.empty()) return AvailableCpus();
  std::vector<int> distinct(cpus.begin(), cpus.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct;
}

// Whether threads on these CPUs are not to be given the same amount of work.
bool AreUneven(int num_threads, const std::vector<int>& cpus) {
  std::vector<int64_t> speeds;
  for (const int cpu : cpus) speeds.push_back(CpuSpeed(cpu));
  return static_cast<size_t>(num_threads) > cpus.size() || !AreAlike(speeds);
}

}  // namespace

// One call of Run: its shares, one for each thread that takes part, cut into pieces.
//
// A share is named by its job's ticket and begun by whoever raises its count of begun pieces. So a thread that comes
// late, with the ticket of a job that is over, finds nothing to begin and touches nothing else of the job; and nobody
// waits for it.
class ThreadPool::Job {
 public:
  struct Work {
    const LatheContext* ctx;
    LatheParallelBody body;
    void* closure;
    int64_t extent;
  };

  Job(int num_threads, uint32_t pieces) : pieces_(pieces), shares_(static_cast<size_t>(num_threads)) {}

  // For the caller that is to open it; false: another one has it.
  bool TryTake() { return !is_taken_.exchange(true, std::memory_order_acquire); }

  void Open(const Work& work) {
    const auto num_shares = static_cast<uint32_t>(std::min<int64_t>(work.extent, static_cast<int64_t>(shares_.size())));
    work_ = work;
    error_.store(0, std::memory_order_relaxed);
    pending_.store(num_shares * pieces_, std::memory_order_relaxed);
    const uint64_t number = (ticket_.load(std::memory_order_relaxed) >> kCountBits) + 1;
    ticket_.store(number << kCountBits | num_shares, std::memory_order_release);
  }

  // Runs the share of thread `index`, then, with `steals`, what nobody has begun of the others.
  void Help(int index, bool steals) {
    const uint64_t ticket = ticket_.load(std::memory_order_acquire);
    const auto num_shares = static_cast<int>(ticket & kCountMask);
    if (index < num_shares) RunShare(ticket, index);
    for (int i = 1; i <= num_shares && steals; ++i) RunShare(ticket, (index + i) % num_shares);
  }

  // For the caller: returns when all is done, with the first error; another caller may take the job then.
  int32_t Close(int spins) {
    for (uint32_t left = pending_.load(std::memory_order_acquire); left != 0;
         left = pending_.load(std::memory_order_acquire)) {
      AwaitChange(pending_, left, spins);
    }
    const int32_t error = error_.load(std::memory_order_relaxed);
    is_taken_.store(false, std::memory_order_release);
    return error;
  }

 private:
  // Of a ticket: the number of the job, then of its shares. Of a share: the number of the job, then of begun pieces.
  static constexpr int kCountBits = 16;
  static constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;

  struct alignas(64) Share {
    std::atomic<uint64_t> begun{0};
  };

  // The next piece of a share of the ticket's job, now the calling thread's; nullopt: all are begun.
  std::optional<uint32_t> BeginPiece(uint64_t ticket, std::atomic<uint64_t>& begun) const {
    const uint64_t job = ticket & ~kCountMask;
    uint64_t seen = begun.load(std::memory_order_relaxed);
    while (true) {
      const uint64_t next = std::max(seen, job);  // Of an older job: none is begun. Of a newer one: this one is over.
      if (next - job >= pieces_) return std::nullopt;
      if (begun.compare_exchange_weak(seen, next + 1, std::memory_order_relaxed))
        return static_cast<uint32_t>(next - job);
    }
  }

  void RunShare(uint64_t ticket, int share) {
    uint32_t done = 0;
    while (const std::optional<uint32_t> piece = BeginPiece(ticket, shares_[static_cast<size_t>(share)].begun)) {
      RunPiece(static_cast<int64_t>(ticket & kCountMask), share, *piece);
      ++done;
    }
    if (done > 0 && pending_.fetch_sub(done, std::memory_order_acq_rel) == done) pending_.notify_one();
  }

  void RunPiece(int64_t num_shares, int share, uint32_t number) {
    const Iterations piece = PartOf(PartOf({0, work_.extent}, share, num_shares), number, pieces_);
    if (piece.begin == piece.end || error_.load(std::memory_order_relaxed) != 0) return;
    inside_body = true;
    const int32_t result = work_.body(work_.ctx, work_.closure, piece.begin, piece.end);
    inside_body = false;
    int32_t none = 0;
    if (result != 0) error_.compare_exchange_strong(none, result);
  }

  const uint32_t pieces_;  // Of a share.
  std::vector<Share> shares_;
  std::atomic<bool> is_taken_{false};
  Work work_ = {};  // Written before `ticket_`; read by those who have begun a piece.
  std::atomic<int32_t> error_{0};
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> pending_{0};  // Pieces that are not done.
};

struct ThreadPool::State {
  struct Worker {
    State* state;
    int index;
    int cpu;  // -1: any
    pthread_t thread;

    // On its CPU from the beginning: the thread that makes it may keep its own busy. An errno, or 0.
    int Start() {
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setstacksize(&attributes, kStackBytes);
      const cpu_set_t set = SetOf(std::span(&cpu, 1));
      if (cpu >= 0) pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
      const int failure = pthread_create(&thread, &attributes, Main, this);
      pthread_attr_destroy(&attributes);
      return failure;
    }
  };

  std::vector<Worker> workers;
  std::deque<Job> jobs;
  bool steals = false;  // Workers do; callers always.
  int spins = kSpins;
  const uint32_t made_after = num_forks.load(std::memory_order_relaxed);
  std::atomic<uint32_t> epoch{0};  // Raised when a job is opened, and to stop.
  std::atomic<bool> stop{false};

  bool HasThreads() const { return made_after == num_forks.load(std::memory_order_relaxed); }

  // For one caller; null when as many others have theirs under way.
  Job* TakeJob() {
    const auto found = std::find_if(jobs.begin(), jobs.end(), [](Job& job) { return job.TryTake(); });
    return found == jobs.end() ? nullptr : &*found;
  }

  void WakeWorkers() {
    epoch.fetch_add(1, std::memory_order_release);
    epoch.notify_all();
  }

  void WorkerLoop(int index) {
    own_pool = this;
    own_index = index;
    uint32_t seen = 0;
    while (true) {
      AwaitChange(epoch, seen, spins);
      seen = epoch.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      for (Job& job : jobs) job.Help(index, steals);
    }
  }

  static void* Main(void* argument) {
    const auto* worker = static_cast<Worker*>(argument);
    worker->state->WorkerLoop(worker->index);
    return nullptr;
  }

  void JoinFirst(size_t count) {
    stop.store(true, std::memory_order_release);
    WakeWorkers();
    for (size_t i = 0; i < count; ++i) pthread_join(workers[i].thread, nullptr);
  }
};

ThreadPool::ThreadPool(std::unique_ptr<State> state) : state_(std::move(state)) {}
ThreadPool::~ThreadPool() {
  if (state_->HasThreads())
    state_->JoinFirst(state_->workers.size());
  else
    (void)state_.release();  // Left as the fork found it, perhaps locked.
}
int ThreadPool::num_threads() const { return static_cast<int>(state_->workers.size()) + 1; }
Sharing ThreadPool::sharing() const { return state_->steals ? Sharing::kDynamic : Sharing::kStatic; }
int ThreadPool::IndexOfThisThread() const { return own_pool == state_.get() ? own_index : 0; }

RuntimeResult<std::unique_ptr<ThreadPool>> ThreadPool::Create(int num_threads, std::span<const int> cpus,
                                                              std::optional<Sharing> sharing) {
  if (num_threads < 1 || num_threads > 1024) {
    return RuntimeError{RuntimeCode::kInvalidArgument, FormatText("start %d threads: 1 to 1024 required", num_threads)};
  }
  CountForks();
  auto state = std::make_unique<State>();
  const std::vector<int> distinct = CpusOfPool(cpus);
  state->steals = sharing ? *sharing == Sharing::kDynamic : AreUneven(num_threads, distinct);
  for (int i = 0; i < kJobs; ++i) state->jobs.emplace_back(num_threads, state->steals ? kDynamicPieces : 1);
  // A thread that waits for one without a CPU must not hold the CPU that there is.
  if (static_cast<size_t>(num_threads) > distinct.size()) state->spins = 0;
  for (int i = 1; i < num_threads; ++i) {
    state->workers.push_back({state.get(), i, cpus.empty() ? -1 : cpus[i % cpus.size()], {}});
  }
  for (size_t i = 0; i < state->workers.size(); ++i) {
    const int failure = state->workers[i].Start();
    if (failure == 0) continue;
    state->JoinFirst(i);
    return RuntimeError{RuntimeCode::kResourceExhausted,
                        FormatText("start %d threads: %s; ask for fewer threads, on CPUs that this process may use",
                                   num_threads, ErrnoText(failure).c_str())};
  }
  return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(state)));
}

int32_t ThreadPool::Run(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent) {
  if (extent <= 0) return 0;
  State& s = *state_;
  const bool has_help = !inside_body && extent > 1 && !s.workers.empty() && s.HasThreads();
  Job* job = has_help ? s.TakeJob() : nullptr;
  if (job == nullptr) return body(ctx, closure, 0, extent);
  job->Open({ctx, body, closure, extent});
  s.WakeWorkers();
  job->Help(0, /*steals=*/true);
  return job->Close(s.spins);
}

RuntimeError PinCurrentThread(std::span<const int> cpus) {
  const cpu_set_t set = SetOf(cpus);
  std::string list;
  for (const int cpu : cpus) list += (list.empty() ? "" : ",") + std::to_string(cpu);
  const int failure = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  if (failure == 0) return {};
  return {RuntimeCode::kInvalidArgument,
          "pin to CPUs " + list + ": " + ErrnoText(failure) + "; name CPUs that this process may use"};
}

}  // namespace lathe
