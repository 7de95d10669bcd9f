// Runs kernels of an artifact for Arm, 64 or 32 bit, on a machine that is none, under qemu's user mode.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "support/status.h"

namespace lathe {

// Path of the emulator of the target's architecture; empty if it is not installed, or for x86-64.
std::string QemuFor(const Target& target);

// Calls the kernel with these buffers and no scalars and takes over what it wrote, on the target's CPU or the oldest
// like it that is emulated. The artifact needs no loader, since it has no undefined symbols: it is relocated here, put
// with a context, the buffers and a few instructions that call it into one static executable, which writes the buffers
// to its standard output.
Status RunGuestKernel(const Target& target, const std::string& artifact, const std::string& symbol,
                      std::span<std::vector<std::byte>> buffers);

}  // namespace lathe
