#include "runtime/cpu_features.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "runtime/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) || defined(__arm__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lathe {
namespace {

#if defined(__x86_64__)

enum Register { kEax, kEbx, kEcx, kEdx };
// Register state that the operating system must save before a feature may be used: XCR0 bits.
constexpr uint64_t kNone = 0, kAvxState = 0x6, kAvx512State = 0xe6, kAmxState = 0x60000;

struct FeatureBit {
  const char* name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  uint64_t state;
};

constexpr FeatureBit kFeatureBits[] = {
    {"sse2", 1, 0, kEdx, 26, kNone},
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone},
    {"sse4.2", 1, 0, kEcx, 20, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"avx", 1, 0, kEcx, 28, kAvxState},
    {"fma", 1, 0, kEcx, 12, kAvxState},
    {"f16c", 1, 0, kEcx, 29, kAvxState},
    {"bmi", 7, 0, kEbx, 3, kNone},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNone},
    {"avx2", 7, 0, kEbx, 5, kAvxState},
    {"clflushopt", 7, 0, kEbx, 23, kNone},
    {"avx512f", 7, 0, kEbx, 16, kAvx512State},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512State},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512State},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512State},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512State},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512State},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512State},
    {"avx512vbmi2", 7, 0, kEcx, 6, kAvx512State},
    {"avx512vnni", 7, 0, kEcx, 11, kAvx512State},
    {"avx512bitalg", 7, 0, kEcx, 12, kAvx512State},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kAvx512State},
    {"avx512fp16", 7, 0, kEdx, 23, kAvx512State},
    {"avx512bf16", 7, 1, kEax, 5, kAvx512State},
    {"avxvnni", 7, 1, kEax, 4, kAvxState},
    {"avxvnniint8", 7, 1, kEdx, 4, kAvxState},
    {"amx-bf16", 7, 0, kEdx, 22, kAmxState},
    {"amx-tile", 7, 0, kEdx, 24, kAmxState},
    {"amx-int8", 7, 0, kEdx, 25, kAmxState},
};

uint64_t SavedState() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  if ((c & (1u << 27)) == 0) return 0;  // No OSXSAVE: xgetbv would fault.
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

std::vector<std::string> Detect() {
  const uint64_t saved = SavedState();
  std::vector<std::string> features;
  for (const FeatureBit& feature : kFeatureBits) {
    uint32_t regs[4] = {};
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &regs[0], &regs[1], &regs[2], &regs[3])) continue;
    if (((regs[feature.reg] >> feature.bit) & 1) != 0 && (saved & feature.state) == feature.state)
      features.push_back(feature.name);
  }
  return features;
}

#elif defined(__aarch64__)

std::vector<std::string> Detect() {
  struct FeatureBit {
    const char* name;
    unsigned long type, bit;
  };
  static constexpr FeatureBit kFeatureBits[] = {
      {"fp-armv8", AT_HWCAP, HWCAP_FP},      {"neon", AT_HWCAP, HWCAP_ASIMD},
      {"fullfp16", AT_HWCAP, HWCAP_ASIMDHP}, {"crc", AT_HWCAP, HWCAP_CRC32},
      {"lse", AT_HWCAP, HWCAP_ATOMICS},      {"rdm", AT_HWCAP, HWCAP_ASIMDRDM},
      {"dotprod", AT_HWCAP, HWCAP_ASIMDDP},  {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM},
      {"sve", AT_HWCAP, HWCAP_SVE},          {"sve2", AT_HWCAP2, HWCAP2_SVE2},
      {"i8mm", AT_HWCAP2, HWCAP2_I8MM},      {"bf16", AT_HWCAP2, HWCAP2_BF16},
  };
  std::vector<std::string> features;
  for (const FeatureBit& feature : kFeatureBits) {
    if ((getauxval(feature.type) & feature.bit) != 0) features.push_back(feature.name);
  }
  return features;
}

#elif defined(__arm__)

// The kernel has no bit for the floating point of ARMv8; every such core has CRC32, or its kernel calls it "v8l".
std::vector<std::string> Detect() {
  const unsigned long bits = getauxval(AT_HWCAP);
  const bool has_crc = (getauxval(AT_HWCAP2) & HWCAP2_CRC32) != 0;
  const auto* platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  std::vector<std::string> features;
  if ((bits & HWCAP_NEON) != 0) features.emplace_back("neon");
  if ((bits & HWCAP_VFPv4) != 0) features.emplace_back("vfp4");
  if ((bits & HWCAP_IDIVA) != 0) features.emplace_back("hwdiv-arm");
  if (has_crc || (platform != nullptr && platform[0] == 'v' && platform[1] == '8')) features.emplace_back("fp-armv8");
  if (has_crc) features.emplace_back("crc");
  return features;
}

#else

std::vector<std::string> Detect() { return {}; }

#endif

std::string ReadSmallFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (file == nullptr) return {};
  char text[4096];
  const size_t size = std::fread(text, 1, sizeof(text), file.get());
  std::string result(text, size);
  while (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

int64_t ParseSize(std::string_view text) {
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  const char unit = rest < text.data() + text.size() ? *rest : 'B';
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

}  // namespace

const std::vector<std::string>& HostCpuFeatures() {
  static const std::vector<std::string> features = Detect();
  return features;
}

bool HostHasCpuFeature(std::string_view name) {
  const std::vector<std::string>& features = HostCpuFeatures();
  return std::find(features.begin(), features.end(), name) != features.end();
}

std::string CpuModelName() {
  const std::string text = ReadSmallFile("/proc/cpuinfo");
  for (const char* key : {"model name", "Model", "Hardware"}) {
    const size_t at = text.find(key);
    const size_t colon = at == std::string::npos ? at : text.find(": ", at);
    if (colon != std::string::npos) return text.substr(colon + 2, text.find('\n', colon) - colon - 2);
  }
  return "unknown";
}

std::vector<CacheInfo> CpuCaches(int cpu) {
  std::vector<CacheInfo> caches;
  for (int index = 0; index < 16; ++index) {
    const std::string folder = FormatText("/sys/devices/system/cpu/cpu%d/cache/index%d/", cpu, index);
    CacheInfo cache;
    cache.size_bytes = ParseSize(ReadSmallFile(folder + "size"));
    if (cache.size_bytes == 0) break;
    cache.level = static_cast<int>(ParseSize(ReadSmallFile(folder + "level")));
    const std::string type = ReadSmallFile(folder + "type");
    cache.kind = type == "Data" ? 'd' : type == "Instruction" ? 'i' : 'u';
    if (const int64_t line = ParseSize(ReadSmallFile(folder + "coherency_line_size")); line > 0)
      cache.line_bytes = line;
    cache.sharing_cpus =
        std::max<int>(1, static_cast<int>(ParseCpuList(ReadSmallFile(folder + "shared_cpu_list")).size()));
    caches.push_back(cache);
  }
  return caches;
}

int64_t LastLevelCacheBytes(int cpu) {
  int64_t size = 0;
  for (const CacheInfo& cache : CpuCaches(cpu)) size = cache.kind == 'i' ? size : cache.size_bytes;
  return size > 0 ? size : int64_t{32} << 20;
}

std::vector<int> AvailableCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

int64_t CpuSpeed(int cpu) {
  const std::string folder = FormatText("/sys/devices/system/cpu/cpu%d/", cpu);
  const int64_t capacity = ParseSize(ReadSmallFile(folder + "cpu_capacity"));
  return capacity > 0 ? capacity : ParseSize(ReadSmallFile(folder + "cpufreq/cpuinfo_max_freq"));
}

bool AreAlike(std::span<const int64_t> speeds) {
  const auto [slowest, fastest] = std::minmax_element(speeds.begin(), speeds.end());
  return speeds.empty() || *slowest * 5 >= *fastest * 4;
}

std::vector<int> CoreSiblings(int cpu) {
  std::vector<int> siblings =
      ParseCpuList(ReadSmallFile(FormatText("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu)));
  return siblings.empty() ? std::vector<int>{cpu} : siblings;
}

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc() || first < 0) break;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || last < first || last >= 65536) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (parsed.ptr >= end || *parsed.ptr != ',') break;
    at = parsed.ptr + 1;
  }
  return cpus;
}

}  // namespace lathe
