#include "runner/program/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lathe {
namespace {

// Sanitizers reserve terabytes for their shadow, so under them memory is not limited.
#ifdef LATHE_SANITIZE
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

int statm = -1;

// Number `field` of /proc/self/statm, in bytes. No allocation, no locks, nothing opened.
uint64_t StatmBytes(int field) {
  char text[256];
  const ssize_t size = pread(statm, text, sizeof(text), 0);
  uint64_t value = 0;
  for (ssize_t i = 0; i < size; ++i) {
    if (text[i] == ' ' && field-- == 0) break;
    value = text[i] >= '0' && text[i] <= '9' ? value * 10 + static_cast<uint64_t>(text[i] - '0') : 0;
  }
  return value * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

RuntimeError Limit(int resource, const char* name, uint64_t soft, uint64_t hard) {
  struct rlimit present;
  getrlimit(static_cast<__rlimit_resource>(resource), &present);  // An own limit that is lower already stays.
  const struct rlimit wanted{std::min<rlim_t>(soft, present.rlim_max), std::min<rlim_t>(hard, present.rlim_max)};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &wanted) == 0) return {};
  return {RuntimeCode::kUnavailable,
          FormatText("limit %s to %llu: %s", name, (unsigned long long)soft, ErrnoText(errno).c_str())};
}

}  // namespace

RuntimeError DetachFromPrivileges(int32_t parent) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return {RuntimeCode::kUnavailable, "give up privileges: " + ErrnoText(errno)};
  }
  if (parent > 0 && getppid() != parent) return {RuntimeCode::kUnavailable, "start runner: the supervisor has gone"};
  return {};
}

RuntimeError ApplyLimits(const RunSpec& spec) {
  const uint64_t cpu_seconds =
      static_cast<uint64_t>((spec.wall_limit_ns + 999'999'999) / 1'000'000'000) * spec.num_threads + 1;
  RUNTIME_RETURN_IF_ERROR(Limit(RLIMIT_CPU, "CPU seconds", cpu_seconds, cpu_seconds + 1));
  RUNTIME_RETURN_IF_ERROR(Limit(RLIMIT_FSIZE, "file size", 64u << 20, 64u << 20));
  RUNTIME_RETURN_IF_ERROR(Limit(RLIMIT_CORE, "core size", 0, 0));
  RUNTIME_RETURN_IF_ERROR(Limit(RLIMIT_NOFILE, "open files", 64, 64));
  RUNTIME_RETURN_IF_ERROR(Limit(RLIMIT_NPROC, "processes", 64, 64));
  if (!kLimitsMemory) return {};
  // DATA counts what is private and writable; AS also stops shared mappings, and allows what is mapped already on top.
  RUNTIME_RETURN_IF_ERROR(Limit(RLIMIT_DATA, "data", spec.memory_limit_bytes, spec.memory_limit_bytes));
  const uint64_t address_space = spec.memory_limit_bytes + StatmBytes(0);
  return Limit(RLIMIT_AS, "address space", address_space, address_space);
}

void WatchMemory() { statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC); }

uint64_t EffectiveMemoryLimit(const RunSpec& spec) { return kLimitsMemory ? spec.memory_limit_bytes : UINT64_MAX; }

uint64_t DataBytesInUse() { return StatmBytes(5); }

}  // namespace lathe
