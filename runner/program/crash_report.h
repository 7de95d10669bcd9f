// Names the crash of a kernel from inside: which signal, where, and whether it left a buffer or ran out of memory.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

// Sends a RunReport over `socket` when a fatal signal arrives, then lets the signal end the process.
// `key` is the trial's (SetRecordKey).
void InstallCrashReporter(int socket, uint64_t memory_limit_bytes, uint32_t key);

// An access in [begin, begin + bytes) outside [data, data + size) is reported as one beside buffer `name`.
void NameGuardedRange(const void* begin, int64_t bytes, const void* data, int64_t size, const std::string& name);

}  // namespace lathe
