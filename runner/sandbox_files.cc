// Files by Landlock, whose three system calls no library of Debian wraps.
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "runner/sandbox.h"
#include "runner/sandbox_namespaces.h"

namespace lathe {
namespace {

// What newer headers than Debian 12's name.
constexpr uint64_t kRefer = uint64_t{1} << 13, kTruncate = uint64_t{1} << 14, kIoctlDevice = uint64_t{1} << 15;
constexpr uint64_t kConnectAndBindTcp = 3;
constexpr uint64_t kAbstractUnixSockets = 1, kSignals = 2;
struct RulesetAttributes {
  uint64_t files, network, scopes;
};

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr uint64_t kWrite = kWriteFile | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR;

int Version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

// All that a kernel of this version can forbid.
RulesetAttributes Handled(int version) {
  RulesetAttributes handled{};
  handled.files = (uint64_t{1} << 13) - 1;
  if (version >= 2) handled.files |= kRefer;
  if (version >= 3) handled.files |= kTruncate;
  if (version >= 4) handled.network = kConnectAndBindTcp;
  if (version >= 5) handled.files |= kIoctlDevice;
  if (version >= 6) handled.scopes = kAbstractUnixSockets | kSignals;
  return handled;
}

size_t SizeOf(int version) {
  return version >= 6 ? sizeof(RulesetAttributes) : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

RuntimeError Failed(const std::string& what) {
  return {RuntimeCode::kUnavailable, "confine files: " + what + ": " + ErrnoText(errno)};
}

RuntimeError AllowPath(int ruleset, const std::string& path, uint64_t access) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? RuntimeError{} : Failed(path);
  struct stat info;
  if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) access &= kReadFile | kWriteFile;
  const landlock_path_beneath_attr beneath{.allowed_access = access, .parent_fd = fd};
  const bool added = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
  const RuntimeError error = added ? RuntimeError{} : Failed(path);
  close(fd);
  return error;
}

RuntimeError AllowPaths(int ruleset, const FileAccess& access, uint64_t handled) {
  for (const char* path : kAlwaysReadable) RUNTIME_RETURN_IF_ERROR(AllowPath(ruleset, path, kRead & handled));
  for (const std::string& path : access.readable) RUNTIME_RETURN_IF_ERROR(AllowPath(ruleset, path, kRead & handled));
  for (const std::string& path : access.writable)
    RUNTIME_RETURN_IF_ERROR(AllowPath(ruleset, path, (kRead | kWrite) & handled));
  return {};
}

}  // namespace

uint32_t OfferedFiles() { return Version() > 0 || OffersMounts() ? kSandboxFiles : 0u; }

RuntimeError ConfineFiles(const FileAccess& access) {
  const int version = Version();
  if (version == 0) return OffersMounts() ? ConfineFilesByMounts(access) : RuntimeError{};
  const RulesetAttributes handled = Handled(version);
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, SizeOf(version), 0));
  if (ruleset < 0) return Failed("create a ruleset");
  RuntimeError error = AllowPaths(ruleset, access, handled.files);
  if (error.ok()) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) error = Failed("enter the ruleset");
  }
  close(ruleset);
  return error;
}

}  // namespace lathe
