#include "runner/cache_flush.h"

#include <cstdint>

#include "runtime/cpu_features.h"

namespace lathe {
namespace {

#if defined(__x86_64__)
constexpr bool kFlushesLines = true;
void FlushLines(std::span<std::byte> memory) {
  static const bool optimized = HostHasCpuFeature("clflushopt");  // Many lines in flight; clflush goes one by one.
  for (size_t i = 0; i < memory.size(); i += 64) {
    char* line = reinterpret_cast<char*>(memory.data() + i);
    if (optimized) {
      asm volatile("clflushopt %0" : "+m"(*line));
    } else {
      asm volatile("clflush %0" : "+m"(*line));
    }
  }
}
void Fence() { asm volatile("mfence" ::: "memory"); }
#elif defined(__aarch64__)
constexpr bool kFlushesLines = true;
void FlushLines(std::span<std::byte> memory) {
  uint64_t type = 0;
  asm("mrs %0, ctr_el0" : "=r"(type));
  const size_t line = size_t{4} << ((type >> 16) & 15);
  for (size_t i = 0; i < memory.size(); i += line) asm volatile("dc civac, %0" ::"r"(memory.data() + i) : "memory");
}
void Fence() { asm volatile("dsb sy" ::: "memory"); }
#else
constexpr bool kFlushesLines = false;
void FlushLines(std::span<std::byte>) {}
void Fence() { __sync_synchronize(); }
#endif

void Touch(std::span<std::byte> memory, bool write) {
  for (size_t i = 0; i < memory.size(); i += 64) {
    volatile std::byte& byte = memory[i];
    const std::byte value = byte;
    if (write) byte = value;
  }
}

}  // namespace

CacheFlusher::CacheFlusher(std::vector<std::span<std::byte>> flushed, std::vector<std::span<std::byte>> kept, int cpu)
    : flushed_(std::move(flushed)), kept_(std::move(kept)) {
  if (!kFlushesLines) walked_.resize(2 * static_cast<size_t>(LastLevelCacheBytes(cpu)));
}

void CacheFlusher::Flush() {
  for (const std::span<std::byte> memory : flushed_) FlushLines(memory);
  if (!kFlushesLines) {
    Touch(walked_, /*write=*/true);
    for (const std::span<std::byte> memory : kept_) Touch(memory, /*write=*/false);
  }
  Fence();
}

}  // namespace lathe
