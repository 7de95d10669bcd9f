#include <algorithm>

#include "compiler/target/target.h"
#include "runtime/cpu_features.h"

namespace lathe {
namespace {

#if defined(__x86_64__)
constexpr const char* kTriple = "x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr const char* kTriple = "aarch64-linux-gnu";
#else
#error "lathe generates code for x86-64 and AArch64 hosts"
#endif

}  // namespace

HostFacts DetectHost() {
  HostFacts host{.triple = kTriple, .features = HostCpuFeatures()};
  // AMX needs a permission from the kernel that a plain program has not asked for.
  std::erase_if(host.features, [](const std::string& feature) { return feature.starts_with("amx"); });
  std::sort(host.features.begin(), host.features.end());
  host.num_cores = static_cast<int>(AvailableCpus().size());
  return host;
}

}  // namespace lathe
