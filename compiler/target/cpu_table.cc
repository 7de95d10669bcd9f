#include "compiler/target/cpu_table.h"

namespace lathe {
namespace {

constexpr auto kX86 = Target::Arch::kX86_64;
constexpr auto kArm = Target::Arch::kAArch64;
constexpr auto kArm32 = Target::Arch::kArm;

constexpr CpuRow kCpus[] = {
    {"x86-64", kX86, "", "sse2", "generic-x86-64"},
    {"x86-64-v2", kX86, "x86-64", "popcnt,sse3,sse4.1,sse4.2,ssse3", "generic-x86-64"},
    {"x86-64-v3", kX86, "x86-64-v2", "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe", "generic-x86-64-v3"},
    {"x86-64-v4", kX86, "x86-64-v3", "avx512bw,avx512cd,avx512dq,avx512f,avx512vl", "generic-x86-64-v4"},
    {"haswell", kX86, "x86-64-v3", "", "haswell"},
    {"skylake", kX86, "x86-64-v3", "clflushopt", "skylake"},
    {"alderlake", kX86, "x86-64-v3", "avxvnni,clflushopt", "golden-cove"},
    {"skylake-avx512", kX86, "x86-64-v4", "clflushopt", "skylake-server"},
    {"cascadelake", kX86, "skylake-avx512", "avx512vnni", "skylake-server"},
    {"icelake-server", kX86, "cascadelake", "avx512bitalg,avx512ifma,avx512vbmi,avx512vbmi2,avx512vpopcntdq",
     "ice-lake-server"},
    {"sapphirerapids", kX86, "icelake-server", "amx-bf16,amx-int8,amx-tile,avx512bf16,avx512fp16,avxvnni",
     "sapphire-rapids"},
    {"znver2", kX86, "x86-64-v3", "clflushopt", "zen2"},
    {"znver3", kX86, "x86-64-v3", "clflushopt", "zen3"},
    {"znver4", kX86, "icelake-server", "avx512bf16", "zen4"},
    {"znver5", kX86, "znver4", "avxvnni", "zen5"},
    {"generic", kArm, "", "fp-armv8,neon", "generic-aarch64"},
    {"cortex-a53", kArm, "generic", "crc", "cortex-a53"},
    {"cortex-a57", kArm, "generic", "crc", "cortex-a57"},
    {"cortex-a72", kArm, "generic", "crc", "cortex-a72"},
    {"cortex-a55", kArm, "generic", "crc,dotprod,fullfp16,lse,rdm", "cortex-a55"},
    {"cortex-a76", kArm, "cortex-a55", "", "cortex-a76"},
    {"cortex-a78", kArm, "cortex-a55", "", "cortex-a78"},
    {"cortex-a78c", kArm, "cortex-a55", "", "cortex-a78"},
    {"carmel", kArm, "generic", "crc,fullfp16,lse,rdm", "carmel"},
    {"neoverse-n1", kArm, "cortex-a55", "", "neoverse-n1"},
    {"neoverse-v1", kArm, "neoverse-n1", "bf16,fp16fml,i8mm,sve", "neoverse-v1"},
    {"neoverse-v2", kArm, "neoverse-v1", "sve2", "neoverse-v2"},
    {"generic", kArm32, "", "neon", "generic-armv7"},
    {"cortex-a7", kArm32, "generic", "hwdiv-arm,vfp4", "generic-armv7"},
    {"cortex-a53", kArm32, "cortex-a7", "crc,fp-armv8", "cortex-a53"},
    {"cortex-a55", kArm32, "cortex-a53", "", "cortex-a55"},
    {"cortex-a57", kArm32, "cortex-a53", "", "cortex-a57"},
    {"cortex-a72", kArm32, "cortex-a53", "", "cortex-a72"},
    {"cortex-a76", kArm32, "cortex-a53", "", "cortex-a76"},
};

struct KnownByFeatures {
  std::string_view features, cpu;  // All of them, separated by commas; empty: none that is known.
};

// The other CPUs that LLVM knows: what its table says of them, the core that of `like`.
struct LikeRow {
  std::string_view names;  // Separated by commas.
  std::string_view like, features;
  std::optional<Target::Arch> arch;  // Of `like`, where its name is of two.
};
constexpr LikeRow kLike[] = {
    {"athlon-fx,athlon64,k8,opteron", "x86-64", ""},
    {"athlon64-sse3,k8-sse3,nocona,opteron-sse3", "x86-64", "sse3"},
    {"core2,core_2_duo_ssse3", "x86-64", "ssse3"},
    {"amdfam10,barcelona", "x86-64", "lzcnt,popcnt,sse3"},
    {"atom,bonnell", "x86-64", "movbe,ssse3"},
    {"core_2_duo_sse4_1,penryn", "x86-64", "sse4.1"},
    {"btver1", "x86-64", "lzcnt,popcnt,ssse3"},
    {"core_aes_pclmulqdq,core_i7_sse4_2,corei7,nehalem,westmere", "x86-64-v2", ""},
    {"atom_sse4_2,silvermont,slm", "x86-64-v2", "movbe"},
    {"atom_sse4_2_movbe,goldmont,goldmont-plus,goldmont_plus,tremont", "x86-64-v2", "clflushopt,movbe"},
    {"core_2nd_gen_avx,corei7-avx,sandybridge", "x86-64-v2", "avx"},
    {"core-avx-i,core_3rd_gen_avx,ivybridge", "x86-64-v2", "f16c"},
    {"bdver1", "x86-64-v2", "avx,lzcnt"},
    {"bdver2,bdver3", "x86-64-v2", "bmi,f16c,fma,lzcnt"},
    {"btver2", "x86-64-v2", "bmi,f16c,lzcnt,movbe"},
    {"bdver4", "x86-64-v3", ""},
    {"broadwell,core-avx2,core_4th_gen_avx,core_4th_gen_avx_tsx,core_5th_gen_avx,core_5th_gen_avx_tsx", "haswell", ""},
    {"znver1", "znver2", ""},
    {"gracemont,meteorlake,raptorlake", "alderlake", ""},
    {"arrowlake,arrowlake-s,arrowlake_s,clearwaterforest,grandridge,lunarlake,pantherlake,sierraforest", "alderlake",
     "avxvnniint8"},
    {"knl,mic_avx512", "x86-64-v3", "avx512cd"},
    {"knm", "x86-64-v3", "avx512cd,avx512vpopcntdq"},
    {"skx,skylake_avx512", "skylake-avx512", ""},
    {"cannonlake", "skylake-avx512", "avx512ifma,avx512vbmi"},
    {"cooperlake", "cascadelake", "avx512bf16"},
    {"icelake-client,icelake_client,icelake_server,rocketlake,tigerlake", "icelake-server", ""},
    {"emeraldrapids,graniterapids,graniterapids-d,graniterapids_d", "sapphirerapids", ""},
    {"apple-a7", "generic", ""},
    {"cortex-a34,cortex-a35,cortex-a73,exynos-m3,kryo,thunderx,thunderxt81,thunderxt83,thunderxt88", "cortex-a72", ""},
    {"apple-a10,falkor", "cortex-a72", "rdm"},
    {"thunderx2t99,thunderx3t110", "cortex-a72", "lse,rdm"},
    {"saphira", "cortex-a72", "dotprod,lse,rdm"},
    {"apple-a11,apple-a12", "carmel", ""},
    {"a64fx", "carmel", "sve"},
    {"cortex-a65,cortex-a65ae,neoverse-e1", "cortex-a55", ""},
    {"cortex-a75,cortex-a76ae,cortex-a77,exynos-m4,exynos-m5", "cortex-a76", ""},
    {"cortex-a78ae,cortex-x1,cortex-x1c", "cortex-a78", ""},
    {"apple-a13,apple-a14,cortex-r82,cortex-r82ae,tsv110", "neoverse-n1", "fp16fml"},
    {"ampere1,ampere1a,ampere1b", "neoverse-n1", "bf16,i8mm"},
    {"apple-a15,apple-a16,apple-a17,apple-m4,oryon-1", "neoverse-n1", "bf16,fp16fml,i8mm"},
    {"neoverse-512tvb", "neoverse-v1", ""},
    {"cortex-a510,cortex-a520,cortex-a520ae,cortex-a710,cortex-a715,cortex-a720,cortex-a720ae,cortex-a725,cortex-x2,"
     "cortex-x3,cortex-x4,cortex-x925,neoverse-n2,neoverse-n3,neoverse-v3,neoverse-v3ae",
     "neoverse-v2", ""},
    {"cortex-a8,cortex-a9", "generic", "", kArm32},
    {"cortex-a5", "generic", "vfp4", kArm32},
    {"cortex-a12,cortex-a15,cortex-a17,krait,swift", "cortex-a7", ""},
    {"cortex-a32,cortex-a35", "cortex-a53", "", kArm32},
    {"cortex-a73,cyclone,exynos-m3,kryo", "cortex-a72", "", kArm32},
    {"cortex-a710,cortex-a75,cortex-a76ae,cortex-a77,cortex-a78,cortex-a78ae,cortex-a78c,cortex-x1,cortex-x1c,"
     "exynos-m4,exynos-m5,neoverse-n1,neoverse-n2,neoverse-v1",
     "cortex-a76", "", kArm32},
};

// What tells the processors of a feature from others, the first that fits; no feature that a kernel must ask to use
// (AMX).
constexpr KnownByFeatures kKnownByFeatures[] = {
    {"avx512fp16", "sapphirerapids"},
    {"avx512bf16,avx512vbmi2,avxvnni", "znver5"},
    {"avx512bf16,avx512vbmi2", "znver4"},
    {"avx512vbmi2", "icelake-server"},
    {"avx512vnni", "cascadelake"},
    {"avx512f,clflushopt", "skylake-avx512"},
    {"avx512f", ""},
    {"avxvnni", "alderlake"},
    {"sve2", "neoverse-v2"},
    {"i8mm,sve", "neoverse-v1"},
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
    {"neon", kArm32, ""},
    {"vfp4", kArm32, ""},
    {"hwdiv-arm", kArm32, ""},
    {"fp-armv8", kArm32, "vfp4"},
    {"crc", kArm32, ""},
};

// Versions of the architecture, and instructions that no kernel has.
constexpr FeatureRow kFeatureSets[] = {
    {"v8a", kArm, "neon"},
    {"v8.1a", kArm, "crc,lse,rdm"},
    {"v8.2a", kArm, "crc,lse,rdm"},
    {"v8.3a", kArm, "crc,lse,rdm"},
    {"v8.4a", kArm, "crc,dotprod,lse,rdm"},
    {"v8.5a", kArm, "crc,dotprod,lse,rdm"},
    {"v8.6a", kArm, "bf16,crc,dotprod,i8mm,lse,rdm"},
    {"v9a", kArm, "crc,dotprod,lse,rdm,sve2"},
    {"aes", kArm, ""},
    {"ras", kArm, ""},
    {"rcpc", kArm, ""},
    {"sha2", kArm, ""},
    {"sha3", kArm, ""},
    {"ssbs", kArm, ""},
    {"adx", kX86, ""},
    {"aes", kX86, ""},
    {"cx16", kX86, ""},
    {"fxsr", kX86, ""},
    {"gfni", kX86, ""},
    {"mmx", kX86, ""},
    {"pclmul", kX86, ""},
    {"prfchw", kX86, ""},
    {"rdrnd", kX86, ""},
    {"rdseed", kX86, ""},
    {"sahf", kX86, ""},
    {"sha", kX86, ""},
    {"sse", kX86, ""},
    {"vaes", kX86, ""},
    {"vpclmulqdq", kX86, ""},
    {"xsave", kX86, ""},
};

constexpr TagRow kTags[] = {
    {"raspberry-pi/3b-aarch64", "llvm -mcpu=cortex-a53 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"raspberry-pi/4b-aarch64", "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"raspberry-pi/2b-armv7", "llvm -mcpu=cortex-a7 -mtriple=armv7-linux-gnueabihf -num-cores=4"},
    {"raspberry-pi/3b-armv7", "llvm -mcpu=cortex-a53 -mtriple=armv7-linux-gnueabihf -num-cores=4"},
    {"raspberry-pi/4b-armv7", "llvm -mcpu=cortex-a72 -mtriple=armv7-linux-gnueabihf -num-cores=4"},
    {"raspberry-pi/5-aarch64", "llvm -mcpu=cortex-a76 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"nvidia/jetson-nano-cpu", "llvm -mcpu=cortex-a57 -mtriple=aarch64-linux-gnu -num-cores=4"},
    {"nvidia/jetson-agx-xavier-cpu", "llvm -mcpu=carmel -mtriple=aarch64-linux-gnu -num-cores=8"},
    {"nvidia/jetson-agx-orin-cpu", "llvm -mcpu=cortex-a78 -mtriple=aarch64-linux-gnu -num-cores=12"},
    {"aws/cpu/c6g.large", "llvm -mcpu=neoverse-n1 -mtriple=aarch64-linux-gnu -num-cores=2"},
    {"aws/cpu/c7g.large", "llvm -mcpu=neoverse-v1 -mtriple=aarch64-linux-gnu -num-cores=2"},
    {"aws/cpu/c5.large", "llvm -mcpu=skylake-avx512 -mtriple=x86_64-linux-gnu -num-cores=1"},
    {"aws/cpu/c5.xlarge", "llvm -mcpu=skylake-avx512 -mtriple=x86_64-linux-gnu -num-cores=2"},
    {"aws/cpu/c5.2xlarge", "llvm -mcpu=skylake-avx512 -mtriple=x86_64-linux-gnu -num-cores=4"},
    {"aws/cpu/c5.4xlarge", "llvm -mcpu=skylake-avx512 -mtriple=x86_64-linux-gnu -num-cores=8"},
    {"aws/cpu/c5.9xlarge", "llvm -mcpu=skylake-avx512 -mtriple=x86_64-linux-gnu -num-cores=18"},
    {"aws/cpu/c5.12xlarge", "llvm -mcpu=cascadelake -mtriple=x86_64-linux-gnu -num-cores=24"},
    {"aws/cpu/c5.18xlarge", "llvm -mcpu=skylake-avx512 -mtriple=x86_64-linux-gnu -num-cores=36"},
    {"aws/cpu/c5.24xlarge", "llvm -mcpu=cascadelake -mtriple=x86_64-linux-gnu -num-cores=48"},
};

void AddFeature(std::string_view name, Target::Arch arch, std::vector<std::string>& features) {
  if (std::find(features.begin(), features.end(), name) != features.end()) return;
  features.emplace_back(name);
  const FeatureRow* row = FindFeature(name, arch);
  CHECK(row != nullptr) << "feature of the CPU table is not in the feature table: " << std::string(name);
  for (const std::string& implied : SplitAtCommas(row->implies)) AddFeature(implied, arch, features);
}

const CpuRow* FindCpuIn(std::span<const CpuRow> rows, std::string_view name, std::optional<Target::Arch> arch) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const CpuRow& row) {
    return row.name == name && row.arch == arch.value_or(row.arch);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string_view FirstPart(std::string_view& text) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view first = text.substr(0, comma);
  text.remove_prefix(std::min(comma + 1, text.size()));
  return first;
}

std::vector<CpuRow> AllCpus() {
  std::vector<CpuRow> rows(std::begin(kCpus), std::end(kCpus));
  for (const LikeRow& group : kLike) {
    const CpuRow* like = FindCpuIn(kCpus, group.like, group.arch);
    CHECK(like != nullptr) << "no CPU " << std::string(group.like);
    for (std::string_view names = group.names; !names.empty();)
      rows.push_back({FirstPart(names), like->arch, like->name, group.features, like->micro_arch});
  }
  return rows;
}

const FeatureRow* FindIn(std::span<const FeatureRow> rows, std::string_view name, Target::Arch arch) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const FeatureRow& row) { return row.name == name && row.arch == arch; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const CpuRow> CpuRows() {
  static const auto* rows = new std::vector<CpuRow>(AllCpus());
  return *rows;
}

const CpuRow* FindCpu(std::string_view name, Target::Arch arch) { return FindCpuIn(CpuRows(), name, arch); }
std::optional<Target::Arch> ArchOfCpu(std::string_view name) {
  const CpuRow* cpu = FindCpuIn(CpuRows(), name, std::nullopt);
  return cpu == nullptr ? std::nullopt : std::optional(cpu->arch);
}

std::vector<std::string> CpuFeatures(const CpuRow& cpu) {
  std::vector<std::string> features;
  for (const CpuRow* row = &cpu; row != nullptr; row = row->base.empty() ? nullptr : FindCpu(row->base, row->arch)) {
    for (const std::string& name : SplitAtCommas(row->features)) AddFeature(name, row->arch, features);
  }
  std::sort(features.begin(), features.end());
  return features;
}

std::string_view CpuOfFeatures(const std::vector<std::string>& features) {
  for (const KnownByFeatures& row : kKnownByFeatures) {
    const std::vector<std::string> wanted = SplitAtCommas(row.features);
    const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
      return std::find(features.begin(), features.end(), name) != features.end();
    });
    if (has_all) return row.cpu;
  }
  return "";
}

const FeatureRow* FindFeature(std::string_view name, Target::Arch arch) { return FindIn(kFeatures, name, arch); }
const FeatureRow* FindFeatureSet(std::string_view name, Target::Arch arch) { return FindIn(kFeatureSets, name, arch); }

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
