// The LatheContext that host programs give to kernels: threads, scratch memory with a limit, the reason of a failure.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/kernel_abi.h"
#include "runtime/thread_pool.h"

namespace lathe {

// Serves one kernel call at a time. Scratch memory is kept between calls, so that only the first call pays for it.
class KernelContext {
 public:
  // `pool` outlives the context. All scratch memory together stays within `workspace_limit_bytes`.
  KernelContext(ThreadPool& pool, uint64_t workspace_limit_bytes);
  ~KernelContext();
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;

  const LatheContext* get() const { return &context_; }

  // What the kernel said through `fail` since the last Clear, its first words; empty if nothing.
  std::string failure() const;
  // The size of the first refused scratch request since the last Clear; 0 if none was refused.
  uint64_t refused_workspace_bytes() const { return refused_bytes_.load(std::memory_order_relaxed); }
  uint64_t workspace_bytes() const { return taken_bytes_.load(std::memory_order_relaxed); }
  void Clear();

 private:
  struct Arena;  // One thread's stack of scratch memory.
  static int32_t ParallelFor(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent);
  static void* AllocWorkspace(const LatheContext* ctx, uint64_t bytes);
  static void FreeWorkspace(const LatheContext* ctx, void* memory);
  static int32_t Launch(const LatheContext* ctx, const LatheLaunch* launch);
  static void Fail(const LatheContext* ctx, const char* message);
  // Memory for an arena, within the limit; null when there is none.
  void* TakeChunk(uint64_t bytes);

  LatheContext context_;
  ThreadPool& pool_;
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> taken_bytes_{0};
  std::atomic<uint64_t> refused_bytes_{0};
  std::vector<std::unique_ptr<Arena>> arenas_;  // One per pool thread, used by that thread alone.
  mutable std::mutex failure_mutex_;
  std::string failure_;  // Guarded by failure_mutex_.
};

}  // namespace lathe
