// What code is generated for: TVM's target strings, and the facts about a processor that schedules are made from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace lathe {

// The parts of a machine that a target string leaves to its defaults, and all of `auto`.
struct HostFacts {
  std::string triple;                 // "x86_64-linux-gnu", "aarch64-linux-gnu", "armv7-linux-gnueabihf"
  std::vector<std::string> features;  // By LLVM's names, sorted; asked from CPUID or HWCAP, never from a CPU's name.
  int num_cores = 1;                  // CPUs that this process may run on.
};
HostFacts DetectHost();
// The triple of a machine that uname calls so: "aarch64" is "aarch64-linux-gnu", "armv7l" "armv7-linux-gnueabihf".
std::string TripleOfMachine(std::string_view machine);

struct MicroArch;  // compiler/target/micro_arch.h

struct RegisterFile {
  int vector_bits = 128;
  int num_vector_registers = 16;
  int num_mask_registers = 0;
  bool has_fma = false;
  int fma_per_cycle = 1;  // Vector FMAs started in one cycle by one core; the usual number for this family.
  int lanes(int element_bits) const { return vector_bits / element_bits; }
};

// Lanes of which neighbours are at most so many elements apart are loaded as whole vectors, of which a shuffle takes
// what is wanted; further apart, one by one.
inline constexpr int64_t kMaxLoadStride = 4;

// Per core; L3 is one core's share. Those of the CPU's family, so that equal targets give equal spaces on every
// machine.
struct CacheSizes {
  int64_t l1_data_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 2 << 20;
};

// A parsed target. Two targets are the same exactly when their canonical texts are.
class Target {
 public:
  // Accepts "llvm [-mtriple=..] [-mcpu=..] [-mattr=+a,-b] [-num-cores=N]", a tag ("raspberry-pi/4b-aarch64", optionally
  // followed by options that replace the tag's), or "auto". What is left out is taken from `host` where the code will
  // run on its architecture.
  static StatusOr<Target> Parse(std::string_view text, const HostFacts& host);
  static StatusOr<Target> Parse(std::string_view text);  // On this machine.

  // "llvm -mcpu=x86-64-v4 -mattr=+avx512vnni -mtriple=x86_64-linux-gnu -num-cores=2": options and attributes sorted,
  // defaults written out, attributes that the CPU implies left out. Parse(ToString()) gives the same on every machine.
  const std::string& ToString() const { return text_; }

  // "llvm": what code generators and spaces are chosen by.
  std::string_view kind() const { return std::string_view(text_).substr(0, text_.find(' ')); }
  enum class Arch { kX86_64, kAArch64, kArm };  // kArm: 32 bit, ARMv7 with NEON and later.
  Arch arch() const { return arch_; }
  const std::string& triple() const { return triple_; }
  const std::string& cpu() const { return cpu_; }                   // By LLVM's name.
  const std::vector<std::string>& attrs() const { return attrs_; }  // "+avx512vnni", "-avx512f", sorted.
  int num_cores() const { return num_cores_; }                      // Threads that a kernel may use.
  bool Has(std::string_view feature) const;                         // By LLVM's name, implied ones included.
  // All features that the code may use and that a device can be asked for, sorted.
  const std::vector<std::string>& features() const { return features_; }

  // The CPU whose core it is planned for, by LLVM's name: cpu(), or where that is a level of an instruction set, what
  // the features are known by ("znver4"; or the level). Follows from the canonical text: equal targets give equal
  // spaces on every machine.
  std::string_view tuning_cpu() const;
  const MicroArch& micro_arch() const { return *micro_arch_; }
  RegisterFile register_file() const;
  CacheSizes cache_sizes() const;

 private:
  Target() = default;
  friend class TargetParser;
  Arch arch_ = Arch::kX86_64;
  std::string text_, triple_, cpu_;
  const MicroArch* micro_arch_ = nullptr;  // A row that lives for ever.
  std::vector<std::string> attrs_, features_;
  int num_cores_ = 1;
};

// Tags that Parse knows, for messages and shell completion.
std::vector<std::string> KnownTargetTags();

}  // namespace lathe
