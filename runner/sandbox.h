// What stands between foreign code and the machine that runs it (docs/decisions/0060-sandbox.md): steps, each of which
// a kernel may lack or refuse. Whoever starts such a process says which steps it must reach; what was reached is known
// before any foreign code runs.
//
// A process takes the steps itself, in this order: EncloseProcesses first of all, while it has one thread; ConfineFiles
// before it starts others; ConfineCalls when all its threads are there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/error.h"

namespace lathe {

// Bits of a set. Numbers cross process borders: never reuse one.
enum SandboxStep : uint32_t {
  kSandboxProcesses = 1,  // Sees and signals its own descendants only, and none outlives it: user and pid namespaces.
  kSandboxFiles = 2,      // Opens the files that it was given, connects to nobody: Landlock, or a root of its own.
  kSandboxCalls = 4,      // Makes the system calls of a list: seccomp.
  kSandboxMemory = 8,     // Memory and processes are counted as a group: cgroup v2.
};
inline constexpr uint32_t kAllSandboxSteps = 15;

// "processes, files, calls"; "none".
std::string SandboxText(uint32_t steps);
RuntimeResult<uint32_t> ParseSandboxText(const std::string& text);

// What this kernel has: kSandboxFiles or 0, kSandboxCalls or 0; both.
uint32_t OfferedFiles();
uint32_t OfferedCalls();
inline uint32_t OfferedConfinement() { return OfferedFiles() | OfferedCalls(); }

// Forks: the caller's copy in the sandbox returns the steps reached (kSandboxProcesses or none) and goes on; the caller
// itself never returns. It waits for all of its descendants and then ends as the copy did: with its exit code, or by
// the signal that ended it. Before, it calls `on_start` with the process whose end by SIGKILL ends all of them, as its
// own parent sees it. All end with the caller's parent thread. SIGTERM, to the process group, is for the copy to die
// of. Unavailable where no process can be made.
RuntimeResult<uint32_t> EncloseProcesses(const std::function<void(pid_t inner, uint32_t steps)>& on_start);

struct FileAccess {
  std::vector<std::string> readable;  // Files, or folders with what is in them; what does not exist is left out.
  std::vector<std::string> writable;  // Likewise; may also be read and changed, and files made in them.
};
// Of the calling thread and those that it starts. What tells CPUs apart may always be read. By Landlock, no new TCP
// connections either, where the kernel knows how; without it, a root of its own that shows nothing else, for which the
// process must have one thread. Does nothing where kSandboxFiles is not offered.
RuntimeError ConfineFiles(const FileAccess& access);

enum class CallList {
  kLoad,    // To map a library and read files, as far as ConfineFiles lets it.
  kKernel,  // To compute: memory, its own threads' locks, time, what is open already. Nothing is opened or started.
  kBuild,   // kLoad, and to write files as far as ConfineFiles lets it, and to start threads.
};
// Of all threads of the process. What is not on the list raises SIGSYS in kLoad and kKernel, and fails with EPERM in
// kBuild. A list only ever becomes shorter. Does nothing where kSandboxCalls is not offered.
RuntimeError ConfineCalls(CallList list);

// The name of a system call that is on none of the lists, for messages; nullptr where it is not a known one. Safe in a
// signal handler.
const char* ForbiddenCallName(long number);

}  // namespace lathe
