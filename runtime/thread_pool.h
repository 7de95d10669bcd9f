// The threads behind LatheContext.parallel_for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/error.h"
#include "runtime/kernel_abi.h"

namespace lathe {

// num_threads - 1 threads that live as long as the pool, plus the caller of Run. Between jobs they spin for some
// microseconds (kernels of a network follow each other closely) and then sleep; more threads than there were CPUs when
// the pool was made sleep at once.
class ThreadPool {
 public:
  // `cpus[i]` is where thread i runs; the caller, thread 0, pins itself. Empty: not pinned. num_threads >= 1.
  static RuntimeResult<std::unique_ptr<ThreadPool>> Create(int num_threads, std::span<const int> cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  // Runs body over [0, extent) in pieces and returns when all are done: 0, or the first error (pieces not yet begun are
  // then skipped). A call from inside a body, while another thread's call is under way, or in a forked child of the
  // process that made the pool, runs serially on the calling thread.
  int32_t Run(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent);

  // i in this pool's thread i, 0 in any other: that may be a thread of another pool, which calls a kernel on this one.
  int IndexOfThisThread() const;

 private:
  struct State;
  explicit ThreadPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Lets the calling thread run on these CPUs only.
RuntimeError PinCurrentThread(std::span<const int> cpus);

}  // namespace lathe
