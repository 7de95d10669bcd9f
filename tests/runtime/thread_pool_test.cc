#include "runtime/thread_pool.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/context.h"
#include "runtime/cpu_features.h"

namespace lathe {
namespace {

struct Counts {
  std::vector<std::atomic<int>> seen;
  explicit Counts(int64_t n) : seen(n) {}
};

int32_t Count(const LatheContext*, void* closure, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) ++static_cast<Counts*>(closure)->seen[i];
  return 0;
}

// Until `count` of them are there.
void Meet(std::atomic<int>& there, int count) {
  for (++there; there < count;) std::this_thread::yield();
}

class ThreadPoolTest : public testing::TestWithParam<Sharing> {
 protected:
  static std::unique_ptr<ThreadPool> Create(int num_threads) {
    return *ThreadPool::Create(num_threads, {}, GetParam());
  }
};

TEST_P(ThreadPoolTest, VisitsEachIterationOnce) {
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<ThreadPool> pool = Create(threads);
    for (const int64_t extent : {0, 1, 3, 20, 1000}) {
      Counts counts(extent);
      for (int round = 0; round < 20; ++round) ASSERT_EQ(pool->Run(nullptr, Count, &counts, extent), 0);
      for (const auto& seen : counts.seen) ASSERT_EQ(seen, 20) << threads << " threads, extent " << extent;
    }
  }
}

// More callers than can be helped at a time: those that are not do all by themselves.
TEST_P(ThreadPoolTest, ServesManyCallers) {
  constexpr int kCallers = 6;
  const std::unique_ptr<ThreadPool> pool = Create(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, extent = 2 + 7 * caller] {
      for (int round = 0; round < 200; ++round) {
        Counts counts(extent);
        const int32_t result = pool->Run(nullptr, Count, &counts, extent);
        for (const auto& seen : counts.seen) wrong += seen != 1 || result != 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ThreadPoolTest, ReturnsTheFirstErrorAndWorksOnAfterIt) {
  const std::unique_ptr<ThreadPool> pool = Create(3);
  const auto fail = [](const LatheContext*, void*, int64_t begin, int64_t end) {
    return begin <= 50 && 50 < end ? 7 : 0;
  };
  EXPECT_EQ(pool->Run(nullptr, fail, nullptr, 100), 7);
  Counts counts(10);
  EXPECT_EQ(pool->Run(nullptr, Count, &counts, 10), 0);
}

INSTANTIATE_TEST_SUITE_P(Sharings, ThreadPoolTest, testing::Values(Sharing::kStatic, Sharing::kDynamic),
                         [](const auto& info) { return info.param == Sharing::kStatic ? "Static" : "Dynamic"; });

// Each thread waits in the body for all others, so none does the work of another one.
TEST(ThreadPool, GivesEachThreadTheSameShareEachTime) {
  constexpr int kThreads = 3;
  struct Job {
    const ThreadPool& pool;
    std::atomic<int> there{0};
    std::array<std::pair<int64_t, int64_t>, kThreads> shares = {};
  };
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(kThreads, {}, Sharing::kStatic);
  const auto note_share = [](const LatheContext*, void* closure, int64_t begin, int64_t end) -> int32_t {
    Job& job = *static_cast<Job*>(closure);
    job.shares[static_cast<size_t>(job.pool.IndexOfThisThread())] = {begin, end};
    Meet(job.there, kThreads);
    return 0;
  };
  for (int round = 0; round < 50; ++round) {
    Job job{.pool = *pool};
    ASSERT_EQ(pool->Run(nullptr, note_share, &job, 11), 0);
    EXPECT_THAT(job.shares, testing::ElementsAre(std::pair(0, 4), std::pair(4, 8), std::pair(8, 11)));
  }
}

// One of two threads begins and then does not come on: the other one takes over all that it has not begun.
class SlowThreadTest : public testing::TestWithParam<int> {};
TEST_P(SlowThreadTest, LosesWhatItHasNotBegunWhenDynamic) {
  constexpr int64_t kExtent = 80;
  struct Job {
    const ThreadPool& pool;
    const int slow;
    std::atomic<bool> has_slow_begun{false};
    std::atomic<int64_t> by_slow{0}, by_other{0};
  };
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(2, {}, Sharing::kDynamic);
  const auto body = [](const LatheContext*, void* closure, int64_t begin, int64_t end) -> int32_t {
    Job& job = *static_cast<Job*>(closure);
    if (job.pool.IndexOfThisThread() != job.slow) {
      while (!job.has_slow_begun) std::this_thread::yield();
      job.by_other += end - begin;
      return 0;
    }
    job.by_slow += end - begin;
    for (job.has_slow_begun = true; job.by_other + job.by_slow < kExtent;) std::this_thread::yield();
    return 0;
  };
  Job job{.pool = *pool, .slow = GetParam()};
  EXPECT_EQ(pool->Run(nullptr, body, &job, kExtent), 0);
  EXPECT_EQ(job.by_slow, kExtent / 8);
  EXPECT_EQ(job.by_other, kExtent - kExtent / 8);
}
INSTANTIATE_TEST_SUITE_P(Threads, SlowThreadTest, testing::Values(0, 1),
                         [](const auto& info) { return info.param == 0 ? "Caller" : "Worker"; });

// Holds worker 1 of a pool, and the thread that calls, until `Release`.
class HeldCall {
 public:
  explicit HeldCall(ThreadPool& pool) : caller_([this, &pool] { EXPECT_EQ(pool.Run(nullptr, Hold, this, 2), 0); }) {
    while (held_ < 2) std::this_thread::yield();
  }
  ~HeldCall() { Release(); }
  void Release() {
    is_released_ = true;
    if (caller_.joinable()) caller_.join();
  }

 private:
  static int32_t Hold(const LatheContext*, void* closure, int64_t, int64_t) {
    auto& self = *static_cast<HeldCall*>(closure);
    Meet(self.held_, 2);
    while (!self.is_released_) std::this_thread::yield();
    return 0;
  }
  std::atomic<int> held_{0};
  std::atomic<bool> is_released_{false};
  std::thread caller_;
};

TEST(ThreadPool, GivesASecondCallerTheWorkersThatAreIdle) {
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(4, {}, Sharing::kStatic);
  HeldCall first(*pool);
  struct Job {
    const ThreadPool& pool;
    std::atomic<int> there{0};
    std::array<int, 4> thread_of = {-1, -1, -1, -1};
  };
  const auto body = [](const LatheContext*, void* closure, int64_t begin, int64_t end) -> int32_t {
    Job& job = *static_cast<Job*>(closure);
    if (end - begin != 1) return 1;  // Nobody helps.
    job.thread_of[static_cast<size_t>(begin)] = job.pool.IndexOfThisThread();
    if (begin != 1) Meet(job.there, 3);  // Whose share 1 is, is held.
    return 0;
  };
  Job job{.pool = *pool};
  EXPECT_EQ(pool->Run(nullptr, body, &job, 4), 0);
  EXPECT_EQ(job.thread_of[2], 2);
  EXPECT_EQ(job.thread_of[3], 3);
  EXPECT_EQ(job.thread_of[0], 0);
  EXPECT_EQ(job.thread_of[1], 0);
}

TEST(ThreadPool, WaitsForNoWorkerThatHasNotBegun) {
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(2, {}, Sharing::kStatic);
  HeldCall first(*pool);
  Counts counts(100);
  EXPECT_EQ(pool->Run(nullptr, Count, &counts, 100), 0);
  for (const auto& seen : counts.seen) EXPECT_EQ(seen, 1);
}

TEST(ThreadPool, SharesAsItsCpusAre) {
  const std::vector<int> cpus = AvailableCpus();
  const auto crowded = *ThreadPool::Create(static_cast<int>(cpus.size()) + 1);
  EXPECT_EQ(crowded->sharing(), Sharing::kDynamic);
  if (cpus.size() < 2 || CpuSpeed(cpus[0]) != CpuSpeed(cpus[1])) GTEST_SKIP() << "needs two CPUs of one speed";
  ASSERT_TRUE(PinCurrentThread(std::span(cpus).first(1)).ok());  // As the caller of a pinned pool does.
  const auto pinned = *ThreadPool::Create(2, std::span(cpus).first(2));
  ASSERT_TRUE(PinCurrentThread(cpus).ok());
  EXPECT_EQ(pinned->sharing(), Sharing::kStatic);
}

TEST(ThreadPool, SaysWhichCpusItNeeds) {
  const int none = 1023;
  const auto pool = ThreadPool::Create(2, std::vector<int>{0, none});
  ASSERT_FALSE(pool.ok());
  EXPECT_THAT(pool.error().message, testing::HasSubstr("start 2 threads: Invalid argument"));
  EXPECT_THAT(pool.error().message, testing::HasSubstr("on CPUs that this process may use"));
}

TEST(ThreadPool, RunsSeriallyInAForkedChild) {
  std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(3);
  Counts counts(100);
  ASSERT_EQ(pool->Run(nullptr, Count, &counts, 100), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int32_t result = pool->Run(nullptr, Count, &counts, 100);
    pool.reset();
    _exit(result == 0 && counts.seen[99] == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, RunsANestedLoopSerially) {
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(3);
  KernelContext context(*pool, 1 << 20);
  const auto outer = [](const LatheContext* ctx, void* closure, int64_t begin, int64_t end) -> int32_t {
    for (int64_t i = begin; i < end; ++i) {
      std::thread::id expected = std::this_thread::get_id();
      const auto inner = [](const LatheContext*, void* thread, int64_t first, int64_t last) -> int32_t {
        return *static_cast<std::thread::id*>(thread) == std::this_thread::get_id() && first == 0 && last == 100 ? 0
                                                                                                                 : 1;
      };
      if (const int32_t error = ctx->parallel_for(ctx, inner, &expected, 100); error != 0) return error;
      ++*static_cast<std::atomic<int>*>(closure);
    }
    return 0;
  };
  std::atomic<int> done{0};
  EXPECT_EQ(context.get()->parallel_for(context.get(), outer, &done, 40), 0);
  EXPECT_EQ(done, 40);
}

// Threads of one pool each call a kernel that runs on a smaller pool: there they are the caller, whatever they are
// here.
TEST(KernelContext, GivesScratchMemoryToThreadsOfAnotherPool) {
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(4);
  std::atomic<int> begun{0};
  const auto outer = [](const LatheContext*, void* closure, int64_t, int64_t) -> int32_t {
    auto& begun = *static_cast<std::atomic<int>*>(closure);
    Meet(begun, 4);  // A share for each thread.
    const std::unique_ptr<ThreadPool> own = *ThreadPool::Create(1);
    KernelContext context(*own, 1 << 20);
    void* memory = context.get()->alloc_workspace(context.get(), 100);
    if (memory == nullptr) return 1;
    std::memset(memory, 1, 100);
    context.get()->free_workspace(context.get(), memory);
    return own->IndexOfThisThread() == 0 ? 0 : 2;
  };
  EXPECT_EQ(pool->Run(nullptr, outer, &begun, 4), 0);
  EXPECT_EQ(begun, 4);
}

TEST(KernelContext, StacksScratchMemoryWithinItsLimit) {
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(1);
  KernelContext context(*pool, 5 << 20);
  const LatheContext* ctx = context.get();
  for (int round = 0; round < 100; ++round) {
    void* a = ctx->alloc_workspace(ctx, 100);
    void* b = ctx->alloc_workspace(ctx, 3 << 20);
    ASSERT_NE(a, nullptr);
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % LATHE_BUFFER_ALIGNMENT, 0u);
    std::memset(b, 1, 3 << 20);
    EXPECT_EQ(ctx->alloc_workspace(ctx, 3 << 20), nullptr);
    ctx->free_workspace(ctx, b);
    ctx->free_workspace(ctx, a);
  }
  EXPECT_EQ(context.refused_workspace_bytes(), 3u << 20);
  EXPECT_LE(context.workspace_bytes(), 5u << 20);
  EXPECT_EQ(ctx->alloc_workspace(ctx, UINT64_MAX), nullptr);
}

TEST(KernelContext, KeepsTheFirstReasonOfAFailure) {
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(1);
  KernelContext context(*pool, 0);
  LatheLaunch launch = {};
  launch.kernel = "k";
  EXPECT_EQ(context.get()->launch(context.get(), &launch), LATHE_KERNEL_LAUNCH);
  context.get()->fail(context.get(), "later");
  EXPECT_THAT(context.failure(), testing::HasSubstr("launch \"k\": this context has no device"));
  context.Clear();
  EXPECT_EQ(context.failure(), "");
}

}  // namespace
}  // namespace lathe
