#include <algorithm>

#include "compiler/target/target.h"
#include "runtime/cpu_features.h"
#include "runtime/tile_permission.h"

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
  HostFacts host{.triple = kTriple, .features = UsableFeatures(HostCpuFeatures(), TilePermission())};
  std::sort(host.features.begin(), host.features.end());
  host.num_cores = static_cast<int>(AvailableCpus().size());
  return host;
}

}  // namespace lathe
