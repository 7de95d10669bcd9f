#include "compiler/target/cpu_table.h"

namespace lathe {
namespace {

constexpr auto kX86 = Target::Arch::kX86_64;
constexpr auto kArm = Target::Arch::kAArch64;
constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

constexpr CpuRow kCpus[] = {
    {"x86-64", kX86, "", "sse2", 1, {32 * kKiB, 256 * kKiB, 2 * kMiB}},
    {"x86-64-v2", kX86, "x86-64", "popcnt,sse3,sse4.1,sse4.2,ssse3", 1, {32 * kKiB, 256 * kKiB, 2 * kMiB}},
    {"x86-64-v3", kX86, "x86-64-v2", "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe", 2, {32 * kKiB, 512 * kKiB, 2 * kMiB}},
    {"x86-64-v4", kX86, "x86-64-v3", "avx512bw,avx512cd,avx512dq,avx512f,avx512vl", 2, {32 * kKiB, 1 * kMiB, 2 * kMiB}},
    {"haswell", kX86, "x86-64-v3", "", 2, {32 * kKiB, 256 * kKiB, 2 * kMiB}},
    {"skylake", kX86, "x86-64-v3", "clflushopt", 2, {32 * kKiB, 256 * kKiB, 2 * kMiB}},
    {"alderlake", kX86, "x86-64-v3", "avxvnni,clflushopt", 2, {48 * kKiB, 1280 * kKiB, 3 * kMiB}},
    {"skylake-avx512", kX86, "x86-64-v4", "clflushopt", 2, {32 * kKiB, 1 * kMiB, 1408 * kKiB}},
    {"cascadelake", kX86, "skylake-avx512", "avx512vnni", 2, {32 * kKiB, 1 * kMiB, 1408 * kKiB}},
    {"icelake-server",
     kX86,
     "cascadelake",
     "avx512bitalg,avx512ifma,avx512vbmi,avx512vbmi2,avx512vpopcntdq",
     2,
     {48 * kKiB, 1280 * kKiB, 1536 * kKiB}},
    {"sapphirerapids",
     kX86,
     "icelake-server",
     "amx-bf16,amx-int8,amx-tile,avx512bf16,avx512fp16,avxvnni",
     2,
     {48 * kKiB, 2 * kMiB, 1920 * kKiB}},
    {"znver2", kX86, "x86-64-v3", "clflushopt", 2, {32 * kKiB, 512 * kKiB, 4 * kMiB}},
    {"znver3", kX86, "x86-64-v3", "clflushopt", 2, {32 * kKiB, 512 * kKiB, 4 * kMiB}},
    {"znver4", kX86, "icelake-server", "avx512bf16", 1, {32 * kKiB, 1 * kMiB, 4 * kMiB}},
    {"znver5", kX86, "znver4", "avxvnni", 2, {48 * kKiB, 1 * kMiB, 4 * kMiB}},
    {"generic", kArm, "", "fp-armv8,neon", 1, {32 * kKiB, 512 * kKiB, 512 * kKiB}},
    {"cortex-a53", kArm, "generic", "crc", 1, {32 * kKiB, 128 * kKiB, 0}},
    {"cortex-a57", kArm, "generic", "crc", 1, {32 * kKiB, 512 * kKiB, 0}},
    {"cortex-a72", kArm, "generic", "crc", 1, {32 * kKiB, 256 * kKiB, 0}},
    {"cortex-a55", kArm, "generic", "crc,dotprod,fullfp16,lse,rdm", 1, {32 * kKiB, 128 * kKiB, 512 * kKiB}},
    {"cortex-a76", kArm, "cortex-a55", "", 2, {64 * kKiB, 512 * kKiB, 512 * kKiB}},
    {"cortex-a78", kArm, "cortex-a55", "", 2, {64 * kKiB, 512 * kKiB, 1 * kMiB}},
    {"cortex-a78c", kArm, "cortex-a55", "", 2, {64 * kKiB, 512 * kKiB, 1 * kMiB}},
    {"carmel", kArm, "generic", "crc,fullfp16,lse,rdm", 2, {64 * kKiB, 1 * kMiB, 512 * kKiB}},
    {"neoverse-n1", kArm, "cortex-a55", "", 2, {64 * kKiB, 1 * kMiB, 1 * kMiB}},
    {"neoverse-v1", kArm, "neoverse-n1", "bf16,fp16fml,i8mm,sve", 4, {64 * kKiB, 1 * kMiB, 1 * kMiB}},
    {"neoverse-v2", kArm, "neoverse-v1", "sve2", 4, {64 * kKiB, 2 * kMiB, 1 * kMiB}},
};

constexpr FeatureRow kFeatures[] = {
    {"sse2", kX86, ""},
    {"sse3", kX86, "sse2"},
    {"ssse3", kX86, "sse3"},
    {"sse4.1", kX86, "ssse3"},
    {"sse4.2", kX86, "sse4.1"},
    {"popcnt", kX86, ""},
    {"movbe", kX86, ""},
    {"bmi", kX86, ""},
    {"bmi2", kX86, ""},
    {"lzcnt", kX86, ""},
    {"clflushopt", kX86, ""},
    {"avx", kX86, "sse4.2"},
    {"f16c", kX86, "avx"},
    {"fma", kX86, "avx"},
    {"avx2", kX86, "avx"},
    {"avxvnni", kX86, "avx2"},
    {"avxvnniint8", kX86, "avx2"},
    {"avx512f", kX86, "avx2,f16c,fma"},
    {"avx512cd", kX86, "avx512f"},
    {"avx512dq", kX86, "avx512f"},
    {"avx512bw", kX86, "avx512f"},
    {"avx512vl", kX86, "avx512f"},
    {"avx512ifma", kX86, "avx512f"},
    {"avx512vbmi", kX86, "avx512bw"},
    {"avx512vbmi2", kX86, "avx512bw"},
    {"avx512vnni", kX86, "avx512f"},
    {"avx512bitalg", kX86, "avx512bw"},
    {"avx512vpopcntdq", kX86, "avx512f"},
    {"avx512bf16", kX86, "avx512bw"},
    {"avx512fp16", kX86, "avx512bw,avx512dq,avx512vl"},
    {"amx-tile", kX86, ""},
    {"amx-bf16", kX86, "amx-tile"},
    {"amx-int8", kX86, "amx-tile"},
    {"fp-armv8", kArm, ""},
    {"neon", kArm, "fp-armv8"},
    {"crc", kArm, ""},
    {"lse", kArm, ""},
    {"rdm", kArm, "neon"},
    {"dotprod", kArm, "neon"},
    {"fullfp16", kArm, "fp-armv8"},
    {"fp16fml", kArm, "fullfp16"},
    {"sve", kArm, "fullfp16"},
    {"sve2", kArm, "sve"},
    {"i8mm", kArm, "neon"},
    {"bf16", kArm, "neon"},
};

constexpr TagRow kTags[] = {
    {"raspberry-pi/3b-aarch64", "llvm -mcpu=cortex-a53 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"raspberry-pi/4b-aarch64", "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"raspberry-pi/5-aarch64", "llvm -mcpu=cortex-a76 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"nvidia/jetson-nano-cpu", "llvm -mcpu=cortex-a57 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"nvidia/jetson-agx-xavier-cpu", "llvm -mcpu=carmel -mtriple=aarch64-linux-gnu -num-cores=8"},
    {"nvidia/jetson-agx-orin-cpu", "llvm -mcpu=cortex-a78 -mtriple=aarch64-linux-gnu -num-cores=12"},
    {"aws/cpu/c6g.large", "llvm -mcpu=neoverse-n1 -mtriple=aarch64-linux-gnu -num-cores=2"},
    {"aws/cpu/c7g.large", "llvm -mcpu=neoverse-v1 -mtriple=aarch64-linux-gnu -num-cores=2"},
    {"aws/cpu/c5.large", "llvm -mcpu=skylake-avx512 -mtriple=x86_64-linux-gnu -num-cores=1"},
};

void AddFeature(std::string_view name, Target::Arch arch, std::vector<std::string>& features) {
  if (std::find(features.begin(), features.end(), name) != features.end()) return;
  features.emplace_back(name);
  const FeatureRow* row = FindFeature(name, arch);
  CHECK(row != nullptr) << "feature of the CPU table is not in the feature table: " << std::string(name);
  for (const std::string& implied : SplitAtCommas(row->implies)) AddFeature(implied, arch, features);
}

}  // namespace

const CpuRow* FindCpu(std::string_view name) {
  for (const CpuRow& row : kCpus) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::span<const CpuRow> CpuRows() { return kCpus; }

std::vector<std::string> CpuFeatures(const CpuRow& cpu) {
  std::vector<std::string> features;
  for (const CpuRow* row = &cpu; row != nullptr; row = row->base.empty() ? nullptr : FindCpu(row->base)) {
    for (const std::string& name : SplitAtCommas(row->features)) AddFeature(name, row->arch, features);
  }
  std::sort(features.begin(), features.end());
  return features;
}

const FeatureRow* FindFeature(std::string_view name, Target::Arch arch) {
  for (const FeatureRow& row : kFeatures) {
    if (row.name == name && row.arch == arch) return &row;
  }
  return nullptr;
}

std::span<const FeatureRow> FeatureRows() { return kFeatures; }
std::span<const TagRow> TagRows() { return kTags; }

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace lathe
