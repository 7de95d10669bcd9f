#include <sched.h>

#include "compiler/target/target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lathe {
namespace {

#if defined(__x86_64__)

constexpr const char* kTriple = "x86_64-linux-gnu";

enum Register { kEax, kEbx, kEcx, kEdx };
// XCR0 bits of the register state that the operating system must save before a feature may be used.
constexpr uint64_t kNone = 0, kAvxState = 0x6, kAvx512State = 0xe6;

struct FeatureBit {
  const char* name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  uint64_t state;
};

// AMX is left out: it needs a permission from the kernel that a plain program has not asked for.
constexpr FeatureBit kFeatureBits[] = {
    {"sse2", 1, 0, kEdx, 26, kNone}, {"sse3", 1, 0, kEcx, 0, kNone}, {"ssse3", 1, 0, kEcx, 9, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone}, {"sse4.2", 1, 0, kEcx, 20, kNone}, {"popcnt", 1, 0, kEcx, 23, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone}, {"avx", 1, 0, kEcx, 28, kAvxState}, {"fma", 1, 0, kEcx, 12, kAvxState},
    {"f16c", 1, 0, kEcx, 29, kAvxState}, {"bmi", 7, 0, kEbx, 3, kNone}, {"bmi2", 7, 0, kEbx, 8, kNone},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNone}, {"avx2", 7, 0, kEbx, 5, kAvxState}, {"clflushopt", 7, 0, kEbx, 23, kNone},
    {"avx512f", 7, 0, kEbx, 16, kAvx512State}, {"avx512dq", 7, 0, kEbx, 17, kAvx512State},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512State}, {"avx512cd", 7, 0, kEbx, 28, kAvx512State},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512State}, {"avx512vl", 7, 0, kEbx, 31, kAvx512State},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512State}, {"avx512vbmi2", 7, 0, kEcx, 6, kAvx512State},
    {"avx512vnni", 7, 0, kEcx, 11, kAvx512State}, {"avx512bitalg", 7, 0, kEcx, 12, kAvx512State},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kAvx512State}, {"avx512fp16", 7, 0, kEdx, 23, kAvx512State},
    {"avx512bf16", 7, 1, kEax, 5, kAvx512State}, {"avxvnni", 7, 1, kEax, 4, kAvxState}, {"avxvnniint8", 7, 1, kEdx, 4, kAvxState},
};

uint64_t SavedState() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  if ((c & (1u << 27)) == 0) return 0;  // No OSXSAVE: xgetbv would fault.
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

std::vector<std::string> DetectFeatures() {
  const uint64_t saved = SavedState();
  std::vector<std::string> features;
  for (const FeatureBit& feature : kFeatureBits) {
    uint32_t regs[4] = {};
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &regs[0], &regs[1], &regs[2], &regs[3]) == 0) continue;
    if (((regs[feature.reg] >> feature.bit) & 1) != 0 && (saved & feature.state) == feature.state) features.push_back(feature.name);
  }
  return features;
}

#elif defined(__aarch64__)

constexpr const char* kTriple = "aarch64-linux-gnu";

std::vector<std::string> DetectFeatures() {
  struct FeatureBit { const char* name; unsigned long type, bit; };
  static constexpr FeatureBit kFeatureBits[] = {
      {"fp-armv8", AT_HWCAP, HWCAP_FP}, {"neon", AT_HWCAP, HWCAP_ASIMD}, {"fullfp16", AT_HWCAP, HWCAP_ASIMDHP},
      {"crc", AT_HWCAP, HWCAP_CRC32}, {"lse", AT_HWCAP, HWCAP_ATOMICS}, {"rdm", AT_HWCAP, HWCAP_ASIMDRDM},
      {"dotprod", AT_HWCAP, HWCAP_ASIMDDP}, {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM}, {"sve", AT_HWCAP, HWCAP_SVE},
      {"sve2", AT_HWCAP2, HWCAP2_SVE2}, {"i8mm", AT_HWCAP2, HWCAP2_I8MM}, {"bf16", AT_HWCAP2, HWCAP2_BF16},
  };
  std::vector<std::string> features;
  for (const FeatureBit& feature : kFeatureBits) {
    if ((getauxval(feature.type) & feature.bit) != 0) features.push_back(feature.name);
  }
  return features;
}

#else
#error "lathe generates code for x86-64 and AArch64 hosts"
#endif

}  // namespace

HostFacts DetectHost() {
  HostFacts host{.triple = kTriple, .features = DetectFeatures()};
  std::sort(host.features.begin(), host.features.end());
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) host.num_cores = std::max(1, CPU_COUNT(&cpus));
  return host;
}

}  // namespace lathe
