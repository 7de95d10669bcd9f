#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/cpu_features.h"

namespace lathe {
namespace {

constexpr int kSpins = 4000;         // About 20-100 us, as `pause` takes 10-140 cycles.
constexpr int kPiecesPerThread = 4;  // Evens out pieces of unequal cost without much hand-off.
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

}  // namespace

struct ThreadPool::State {
  struct Worker {
    State* state;
    int index;
    int cpu;  // -1: any
    pthread_t thread;
  };

  std::vector<Worker> workers;
  int spins = kSpins;
  const uint32_t made_after = num_forks.load(std::memory_order_relaxed);
  std::mutex run_mutex;              // Held by the thread whose job is under way.
  std::atomic<uint32_t> epoch{0};    // Raised once per job, and to stop.
  std::atomic<uint32_t> pending{0};  // Workers that have not finished the present job.
  std::atomic<bool> stop{false};

  // The present job: written before `epoch` is raised.
  const LatheContext* ctx = nullptr;
  LatheParallelBody body = nullptr;
  void* closure = nullptr;
  int64_t extent = 0;
  int64_t piece = 1;
  std::atomic<int64_t> next{0};
  std::atomic<int32_t> error{0};

  bool HasThreads() const { return made_after == num_forks.load(std::memory_order_relaxed); }

  void RunPieces() {
    inside_body = true;
    while (error.load(std::memory_order_relaxed) == 0) {
      const int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= extent) break;
      const int32_t result = body(ctx, closure, begin, std::min(begin + piece, extent));
      int32_t none = 0;
      if (result != 0) error.compare_exchange_strong(none, result);
    }
    inside_body = false;
  }

  void WorkerLoop(int index, int cpu) {
    own_pool = this;
    own_index = index;
    if (cpu >= 0) (void)PinCurrentThread(std::span(&cpu, 1));
    uint32_t seen = 0;
    while (true) {
      AwaitChange(epoch, seen, spins);
      seen = epoch.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      RunPieces();
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
    }
  }

  static void* Main(void* argument) {
    const auto* worker = static_cast<Worker*>(argument);
    worker->state->WorkerLoop(worker->index, worker->cpu);
    return nullptr;
  }

  void JoinFirst(size_t count) {
    stop.store(true, std::memory_order_release);
    epoch.fetch_add(1, std::memory_order_release);
    epoch.notify_all();
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
int ThreadPool::IndexOfThisThread() const { return own_pool == state_.get() ? own_index : 0; }

RuntimeResult<std::unique_ptr<ThreadPool>> ThreadPool::Create(int num_threads, std::span<const int> cpus) {
  if (num_threads < 1 || num_threads > 1024) {
    return RuntimeError{RuntimeCode::kInvalidArgument, FormatText("start %d threads: 1 to 1024 required", num_threads)};
  }
  CountForks();
  auto state = std::make_unique<State>();
  // A thread that waits for one without a CPU must not hold the CPU that there is.
  if (static_cast<size_t>(num_threads) > AvailableCpus().size()) state->spins = 0;
  for (int i = 1; i < num_threads; ++i) {
    state->workers.push_back({state.get(), i, cpus.empty() ? -1 : cpus[i % cpus.size()], {}});
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  int failure = 0;
  size_t started = 0;
  for (; started < state->workers.size() && failure == 0; ++started) {
    State::Worker& worker = state->workers[started];
    failure = pthread_create(&worker.thread, &attributes, State::Main, &worker);
    if (failure != 0) break;
  }
  pthread_attr_destroy(&attributes);
  if (failure != 0) {
    state->JoinFirst(started);
    return RuntimeError{RuntimeCode::kResourceExhausted, FormatText("start %d threads: %s; ask for fewer threads",
                                                                    num_threads, ErrnoText(failure).c_str())};
  }
  return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(state)));
}

int32_t ThreadPool::Run(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent) {
  if (extent <= 0) return 0;
  State& s = *state_;
  std::unique_lock lock(s.run_mutex, std::defer_lock);
  if (inside_body || extent == 1 || s.workers.empty() || !s.HasThreads() || !lock.try_lock())
    return body(ctx, closure, 0, extent);
  const int64_t pieces = std::min<int64_t>(extent, num_threads() * kPiecesPerThread);
  s.ctx = ctx;
  s.body = body;
  s.closure = closure;
  s.extent = extent;
  s.piece = (extent + pieces - 1) / pieces;
  s.next.store(0, std::memory_order_relaxed);
  s.error.store(0, std::memory_order_relaxed);
  s.pending.store(static_cast<uint32_t>(s.workers.size()), std::memory_order_relaxed);
  s.epoch.fetch_add(1, std::memory_order_release);
  s.epoch.notify_all();
  s.RunPieces();
  for (uint32_t left = s.pending.load(std::memory_order_acquire); left != 0;
       left = s.pending.load(std::memory_order_acquire)) {
    AwaitChange(s.pending, left, s.spins);
  }
  return s.error.load(std::memory_order_relaxed);
}

RuntimeError PinCurrentThread(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string list;
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    list += (list.empty() ? "" : ",") + std::to_string(cpu);
  }
  const int failure = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  if (failure == 0) return {};
  return {RuntimeCode::kInvalidArgument,
          "pin to CPUs " + list + ": " + ErrnoText(failure) + "; name CPUs that this process may use"};
}

}  // namespace lathe
