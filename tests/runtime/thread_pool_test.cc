#include "runtime/thread_pool.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/context.h"

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

TEST(ThreadPool, VisitsEachIterationOnce) {
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(threads);
    for (const int64_t extent : {0, 1, 3, 20, 1000}) {
      Counts counts(extent);
      for (int round = 0; round < 20; ++round) ASSERT_EQ(pool->Run(nullptr, Count, &counts, extent), 0);
      for (const auto& seen : counts.seen) ASSERT_EQ(seen, 20) << threads << " threads, extent " << extent;
    }
  }
}

TEST(ThreadPool, ReturnsTheFirstErrorAndWorksOnAfterIt) {
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(3);
  const auto fail = [](const LatheContext*, void*, int64_t begin, int64_t end) {
    return begin <= 50 && 50 < end ? 7 : 0;
  };
  EXPECT_EQ(pool->Run(nullptr, fail, nullptr, 100), 7);
  Counts counts(10);
  EXPECT_EQ(pool->Run(nullptr, Count, &counts, 10), 0);
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
    for (++begun; begun < 4;) std::this_thread::yield();  // A piece for each thread.
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
