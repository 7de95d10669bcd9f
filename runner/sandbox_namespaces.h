// What the steps of the sandbox share (runner/sandbox.h); for them alone.
#pragma once

#include "runner/sandbox.h"

namespace lathe {

// What tells CPUs apart.
inline constexpr const char* kAlwaysReadable[] = {"/proc/cpuinfo", "/sys/devices/system/cpu"};

// Leaves `namespaces` (CLONE_NEW...) and the user namespace; in the new one the caller has all rights over what it has
// left, and is who it was for the files of others (root is called nobody in it). False where user namespaces are
// closed. The process has one thread.
bool UnshareAsOneself(int namespaces);
void DropCapabilities();

// Files without Landlock: a mount namespace whose root holds what `access` names and nothing else. Offered to a process
// with one thread, where user namespaces are open.
bool OffersMounts();
RuntimeError ConfineFilesByMounts(const FileAccess& access);

}  // namespace lathe
