#include "rpc/device/cpu_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "support/status_macros.h"

namespace lathe {
namespace {

std::string HolderOf(int fd) {
  char text[64] = {};
  const ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
  return got > 0 ? std::string(text, static_cast<size_t>(got)) : "unknown";
}

StatusOr<int> LockOne(int cpu, const std::string& directory) {
  const std::string path = fmt::format("{}/cpu-{}.lock", directory, cpu);
  // In a sticky, world-writable folder some kernels refuse O_CREAT of another user's file, so an existing one is opened
  // first.
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT) {
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0) (void)fchmod(fd, 0666);  // Whatever the umask: the lock is for all users.
  }
  if (fd < 0)
    return Unavailable(fmt::format("lock cpu {}: open {}: {}; all users of this host need to write there", cpu, path,
                                   std::strerror(errno)));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const Status status = FailedPrecondition(
        fmt::format("lock cpu {}: process {} measures on it; choose other --cpus", cpu, HolderOf(fd)));
    close(fd);
    return status;
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
  }  // For messages only; the lock is what counts.
  return fd;
}

}  // namespace

std::string CpuLocks::DefaultDirectory() {
  if (const char* chosen = std::getenv("LATHE_CPU_LOCKS"); chosen != nullptr && *chosen != '\0') return chosen;
  if (access("/run/lathe", W_OK) == 0) return "/run/lathe";
  return "/tmp/lathe-cpus";
}

StatusOr<CpuLocks> CpuLocks::Take(std::span<const int> cpus, const std::string& directory) {
  if (mkdir(directory.c_str(), 0777) == 0) {
    (void)chmod(directory.c_str(), 01777);
  } else if (errno != EEXIST) {
    return Unavailable(fmt::format("lock cpus: create {}: {}; all users of this host need to write there", directory,
                                   std::strerror(errno)));
  }
  CpuLocks locks;
  for (const int cpu : cpus) {
    ASSIGN_OR_RETURN(const int fd, LockOne(cpu, directory));
    locks.fds_.push_back(fd);
  }
  return locks;
}

CpuLocks& CpuLocks::operator=(CpuLocks&& other) noexcept {
  std::swap(fds_, other.fds_);
  return *this;
}

CpuLocks::~CpuLocks() {
  for (const int fd : fds_) close(fd);
}

}  // namespace lathe
