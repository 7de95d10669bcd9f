// What this machine's processor can do, from CPUID or HWCAP (names lie in virtual machines), and from sysfs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct CacheInfo {
  int level = 0;
  char kind = 'u';  // 'd' data, 'i' instruction, 'u' unified
  int64_t size_bytes = 0;
  int64_t line_bytes = 64;
  int sharing_cpus = 1;  // CPUs that share one cache of this kind.
};

// The features that both the processor and the kernel support, by LLVM's names ("avx2", "avx512vnni", "dotprod"), in a
// fixed order. Detected once; safe from any thread.
const std::vector<std::string>& HostCpuFeatures();
bool HostHasCpuFeature(std::string_view name);

// Marketing name, for display and fingerprints only; never decide by it.
std::string CpuModelName();

// Caches that CPU `cpu` sees, inner first; empty when sysfs says nothing.
std::vector<CacheInfo> CpuCaches(int cpu);
// Size of the outermost cache; 32 MiB when unknown.
int64_t LastLevelCacheBytes(int cpu);

// The CPUs that this process may run on, ascending.
std::vector<int> AvailableCpus();
// How fast a CPU is, by a measure that only its neighbours share: the kernel's capacity (big and little cores), else
// the highest clock; 0 when sysfs says nothing.
int64_t CpuSpeed(int cpu);
// Whether threads on CPUs of these speeds get the same work done: the slowest has 80 % of the fastest.
bool AreAlike(std::span<const int64_t> speeds);
// The CPUs that share the core of `cpu`, itself included.
std::vector<int> CoreSiblings(int cpu);
// Parses the kernel's list form, e.g. "0-2,5"; stops at the first thing it does not understand.
std::vector<int> ParseCpuList(std::string_view text);

}  // namespace lathe
