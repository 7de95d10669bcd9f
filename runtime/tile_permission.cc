#include "runtime/tile_permission.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lathe {
namespace {

bool IsOfTiles(const std::string& feature) { return feature.starts_with("amx-"); }

long CallKernel([[maybe_unused]] int code, [[maybe_unused]] unsigned long argument) {
#if defined(__x86_64__)
  return syscall(SYS_arch_prctl, code, argument);
#else
  errno = ENOSYS;
  return -1;
#endif
}

}  // namespace

RuntimeError AskForTiles(ArchPrctl arch_prctl) {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr unsigned long kTileData = 18;     // XFEATURE_XTILEDATA
  if (arch_prctl(kRequestPermission, kTileData) == 0) return {};
  return {
      RuntimeCode::kFailedPrecondition,
      FormatText("ask for tile registers: the kernel refuses them (arch_prctl ARCH_REQ_XCOMP_PERM: %s); run on Linux "
                 "5.16 or later on a CPU with AMX, or build for a target without amx-tile",
                 ErrnoText(errno).c_str())};
}

const RuntimeError& TilePermission() {
  static const auto* permission = new RuntimeError(AskForTiles(CallKernel));
  return *permission;
}

bool UsesTiles(const std::vector<std::string>& cpu_features) {
  return std::any_of(cpu_features.begin(), cpu_features.end(), IsOfTiles);
}

std::vector<std::string> UsableFeatures(std::vector<std::string> cpu_features, const RuntimeError& tile_permission) {
  if (!tile_permission.ok()) std::erase_if(cpu_features, IsOfTiles);
  return cpu_features;
}

}  // namespace lathe
