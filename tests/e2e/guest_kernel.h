// Runs kernels of an AArch64 artifact on a machine that is none, under qemu's user mode.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/status.h"

namespace lathe {

// Path of qemu-aarch64-static; empty if it is not installed.
std::string QemuAArch64();

// Calls the kernel with these buffers and no scalars and takes over what it wrote. The artifact needs no loader, since
// it has no undefined symbols: it is relocated here, put with a context, the buffers and a few instructions that call
// it into one static executable, which writes the buffers to its standard output.
Status RunGuestKernel(const std::string& artifact, const std::string& symbol,
                      std::span<std::vector<std::byte>> buffers);

}  // namespace lathe
