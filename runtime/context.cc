#include "runtime/context.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace lathe {
namespace {

static_assert(offsetof(LatheContext, parallel_for) == LATHE_CONTEXT_PARALLEL_FOR);
static_assert(offsetof(LatheContext, alloc_workspace) == LATHE_CONTEXT_ALLOC_WORKSPACE);
static_assert(offsetof(LatheContext, free_workspace) == LATHE_CONTEXT_FREE_WORKSPACE);
static_assert(offsetof(LatheContext, launch) == LATHE_CONTEXT_LAUNCH);
static_assert(offsetof(LatheContext, fail) == LATHE_CONTEXT_FAIL);
static_assert(offsetof(LatheContext, stream) == LATHE_CONTEXT_STREAM && sizeof(LatheContext) == LATHE_CONTEXT_BYTES);

constexpr uint64_t kAlign = LATHE_BUFFER_ALIGNMENT;
constexpr uint64_t kChunkBytes = 1u << 20;
constexpr size_t kMaxFailureBytes = 2000;

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

// Blocks lie one behind the other in chunks; each is preceded by a header that says where the arena stood before it.
struct KernelContext::Arena {
  struct Chunk {
    char* base;
    uint64_t size;
  };
  struct alignas(kAlign) Header {
    uint64_t chunk;
    uint64_t used;
  };

  std::vector<Chunk> chunks;
  uint64_t chunk = 0;  // Where the next block goes: chunks[chunk].base + used.
  uint64_t used = 0;

  ~Arena() {
    for (const Chunk& c : chunks) munmap(c.base, c.size);
  }

  void* Take(KernelContext& owner, uint64_t bytes) {
    if (bytes > owner.limit_bytes_) return nullptr;  // Keeps the sums below from overflowing.
    const uint64_t need = sizeof(Header) + RoundUp(std::max<uint64_t>(bytes, 1), kAlign);
    Header before{chunk, used};
    while (chunk < chunks.size() && chunks[chunk].size - used < need) {
      ++chunk;
      used = 0;
    }
    if (chunk == chunks.size() && !AddChunk(owner, std::max(need, kChunkBytes)) && !AddChunk(owner, need)) {
      chunk = before.chunk;
      used = before.used;
      return nullptr;
    }
    char* block = chunks[chunk].base + used;
    std::memcpy(block, &before, sizeof(before));
    used += need;
    return block + sizeof(Header);
  }

  bool AddChunk(KernelContext& owner, uint64_t bytes) {
    const uint64_t size = RoundUp(bytes, 4096);
    void* base = owner.TakeChunk(size);
    if (base != nullptr) chunks.push_back({static_cast<char*>(base), size});
    return base != nullptr;
  }

  void Return(void* memory) {
    Header before;
    std::memcpy(&before, static_cast<char*>(memory) - sizeof(Header), sizeof(before));
    chunk = before.chunk;
    used = before.used;
  }
};

KernelContext::KernelContext(ThreadPool& pool, uint64_t workspace_limit_bytes)
    : context_{.abi_version = LATHE_KERNEL_ABI_VERSION,
               .num_threads = static_cast<uint32_t>(pool.num_threads()),
               .device_type = 1,  // kDLCPU
               .device_id = 0,
               .runtime = this,
               .parallel_for = ParallelFor,
               .alloc_workspace = AllocWorkspace,
               .free_workspace = FreeWorkspace,
               .launch = Launch,
               .fail = Fail},
      pool_(pool),
      limit_bytes_(workspace_limit_bytes) {
  for (int i = 0; i < pool.num_threads(); ++i) arenas_.push_back(std::make_unique<Arena>());
}

KernelContext::~KernelContext() = default;

std::string KernelContext::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void KernelContext::Clear() {
  const std::lock_guard lock(failure_mutex_);
  failure_.clear();
  refused_bytes_.store(0, std::memory_order_relaxed);
}

void* KernelContext::TakeChunk(uint64_t bytes) {
  uint64_t taken = taken_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ - taken) return nullptr;
  } while (!taken_bytes_.compare_exchange_weak(taken, taken + bytes));
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base != MAP_FAILED) return base;
  taken_bytes_.fetch_sub(bytes);
  return nullptr;
}

int32_t KernelContext::ParallelFor(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent) {
  return static_cast<KernelContext*>(ctx->runtime)->pool_.Run(ctx, body, closure, extent);
}

void* KernelContext::AllocWorkspace(const LatheContext* ctx, uint64_t bytes) {
  auto* self = static_cast<KernelContext*>(ctx->runtime);
  void* memory = self->arenas_[self->pool_.IndexOfThisThread()]->Take(*self, bytes);
  uint64_t none = 0;
  if (memory == nullptr) self->refused_bytes_.compare_exchange_strong(none, std::max<uint64_t>(bytes, 1));
  return memory;
}

void KernelContext::FreeWorkspace(const LatheContext* ctx, void* memory) {
  if (memory == nullptr) return;
  auto* self = static_cast<KernelContext*>(ctx->runtime);
  self->arenas_[self->pool_.IndexOfThisThread()]->Return(memory);
}

int32_t KernelContext::Launch(const LatheContext* ctx, const LatheLaunch* launch) {
  Fail(ctx, FormatText("launch \"%.200s\": this context has no device, only CPU threads", launch->kernel).c_str());
  return LATHE_KERNEL_LAUNCH;
}

void KernelContext::Fail(const LatheContext* ctx, const char* message) {
  auto* self = static_cast<KernelContext*>(ctx->runtime);
  const std::lock_guard lock(self->failure_mutex_);
  if (self->failure_.empty() && message != nullptr) self->failure_.assign(message, strnlen(message, kMaxFailureBytes));
}

}  // namespace lathe
