// What a runner may use of its machine.
#pragma once

#include <cstdint>

#include "runner/runner_protocol.h"
#include "runtime/error.h"

namespace lathe {

// To be done first: no new privileges, die with the supervisor `parent` (which may have died already).
RuntimeError DetachFromPrivileges(int32_t parent);

// Memory, CPU time (wall limit x threads, rounded up to seconds), file size, core dumps, descriptors, processes. After
// the threads have been started: from here on there are no further ones.
RuntimeError ApplyLimits(const RunSpec& spec);

// The memory limit that ApplyLimits sets; UINT64_MAX where memory cannot be limited (under a sanitizer).
uint64_t EffectiveMemoryLimit(const RunSpec& spec);

// To be done while files may be opened, before ApplyLimits.
void WatchMemory();
// Private writable memory of this process now, as RLIMIT_DATA counts it; safe in a signal handler. 0 when unknown.
uint64_t DataBytesInUse();

}  // namespace lathe
