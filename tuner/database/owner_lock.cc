#include "tuner/database/owner_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/file.h"

namespace lathe {
namespace {

// File systems on which neither flock nor WAL's shared memory holds between machines (statfs(2)).
constexpr long kNfs = 0x6969, kSmb = 0x517b, kCifs = static_cast<int>(0xff534d42), kSmb2 = static_cast<int>(0xfe534d42);

bool IsNetworkFileSystem(int fd) {
  struct statfs info{};
  if (fstatfs(fd, &info) != 0) return false;
  const long type = static_cast<int>(info.f_type);
  return type == kNfs || type == kSmb || type == kCifs || type == kSmb2;
}

std::string OwnerWords(int fd) {
  char text[32] = {};
  const ssize_t length = pread(fd, text, sizeof text - 1, 0);
  std::string digits;
  for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i) digits += text[i];
  return digits.empty() ? "another process" : "process " + digits;
}

StatusCode CodeOf(int error) {
  if (error == ENOENT) return StatusCode::kNotFound;
  if (MeansFullDisk(error)) return StatusCode::kResourceExhausted;
  if (error == EACCES || error == EPERM) return StatusCode::kPermissionDenied;
  return StatusCode::kFailedPrecondition;
}

}  // namespace

StatusOr<OwnerLock> OwnerLock::Acquire(const std::string& database_path) {
  std::error_code ignored;
  // Two names of one file (a link, "..") must meet at one lock.
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(database_path, ignored);
  const std::string path = (ignored ? database_path : canonical.string()) + ".lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Status(CodeOf(errno), fmt::format("open {}: lock file {}: {}; check the path and its permissions",
                                             database_path, path, std::strerror(errno)));
  }
  OwnerLock lock(fd);
  if (IsNetworkFileSystem(fd)) {
    return FailedPrecondition(fmt::format(
        "open {}: it lies on a network file system, where locks do not hold; choose a local file", database_path));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Unavailable(
        fmt::format("open {}: {} owns the file; use its server, or wait until it ends", database_path, OwnerWords(fd)));
  }
  const std::string owner = fmt::format("{}\n", getpid());
  // Only for the message above: a full disk must not keep anybody from reading.
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, owner.data(), owner.size(), 0);
  return lock;
}

OwnerLock::~OwnerLock() {
  if (fd_ >= 0) close(fd_);
}
OwnerLock::OwnerLock(OwnerLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
OwnerLock& OwnerLock::operator=(OwnerLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace lathe
