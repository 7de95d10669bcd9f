// The threads behind LatheContext.parallel_for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "runtime/error.h"
#include "runtime/kernel_abi.h"

namespace lathe {

// How a pool shares the iterations of a loop out: by contiguous shares as equal as can be, one for each thread, the
// same one for the same extent, so that a loop finds in a core's cache what the loop before it has left there. An
// iteration is what the schedule made it, and is never cut.
enum class Sharing : uint8_t {
  kStatic,   // A share is one call of the body.
  kDynamic,  // It is a few, and a thread that is done with its own takes over what another has not begun.
};

// num_threads - 1 threads that live as long as the pool, plus the caller of Run. Between jobs they spin for some
// microseconds (kernels of a network follow each other closely) and then sleep; more threads than there were CPUs when
// the pool was made sleep at once.
class ThreadPool {
 public:
  // `cpus[i]` is where thread i runs; the caller, thread 0, pins itself. Empty: not pinned. num_threads >= 1.
  // Without `sharing`: dynamic where there are more threads than CPUs, or CPUs of different speed (AreAlike).
  static RuntimeResult<std::unique_ptr<ThreadPool>> Create(int num_threads, std::span<const int> cpus = {},
                                                           std::optional<Sharing> sharing = std::nullopt);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;
  Sharing sharing() const;

  // Runs body over [0, extent) in shares, of which the calling thread has the first, and returns when all are done: 0,
  // or the first error (what is not yet begun is then skipped). The caller also does what no thread has begun when it
  // is done with its own share; it waits for nobody else. Several threads may call at once: each has the workers that
  // are not busy with another call, as soon as they are not. A call from inside a body, in a forked child of the
  // process that made the pool, or while four others are under way runs serially on the calling thread.
  int32_t Run(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent);

  // i in this pool's thread i, 0 in any other: that may be a thread of another pool, which calls a kernel on this one.
  int IndexOfThisThread() const;

 private:
  class Job;
  struct State;
  explicit ThreadPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Lets the calling thread run on these CPUs only.
RuntimeError PinCurrentThread(std::span<const int> cpus);

}  // namespace lathe
