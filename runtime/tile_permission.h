// The kernel's permission to use the tile registers of AMX: a process asks once, before it touches one.
#pragma once

#include <string>
#include <vector>

#include "runtime/error.h"

namespace lathe {

// arch_prctl(2): 0, or -1 and errno.
using ArchPrctl = long (*)(int code, unsigned long argument);

// For all threads of the process. FailedPrecondition, with the kernel's reason, where it refuses.
RuntimeError AskForTiles(ArchPrctl arch_prctl);

// What the kernel answered this process, which is asked at the first call. Safe from any thread.
const RuntimeError& TilePermission();

bool UsesTiles(const std::vector<std::string>& cpu_features);
// Those that code may use: without tiles where the kernel has refused them.
std::vector<std::string> UsableFeatures(std::vector<std::string> cpu_features, const RuntimeError& tile_permission);

}  // namespace lathe
