// Files by a root of its own, where the kernel has no Landlock (before 5.13: JetPack 5, Debian 11's).
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "runner/sandbox.h"
#include "runner/sandbox_namespaces.h"

namespace lathe {
namespace {

constexpr char kNewRoot[] = "/tmp";  // Covered for the moment; what is below it is opened before.

RuntimeError MountFailed(const std::string& what) {
  return {RuntimeCode::kUnavailable, "confine files by mounts: " + what + ": " + ErrnoText(errno)};
}

struct SharedPath {
  std::string path;
  bool is_writable;
  int fd;
};

std::string WorkingFolder() {
  char folder[4096];
  return getcwd(folder, sizeof(folder)) != nullptr ? folder : "/";
}

// What does not exist is left out. In the mount namespace that they will be mounted in, or they cannot be.
std::vector<SharedPath> OpenAll(const FileAccess& access) {
  std::vector<SharedPath> opened;
  const std::string here = WorkingFolder() + "/";
  const auto add = [&](const std::string& path, bool is_writable) {
    const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (fd >= 0) opened.push_back({path[0] == '/' ? path : here + path, is_writable, fd});
  };
  for (const char* path : kAlwaysReadable) add(path, false);
  for (const std::string& path : access.readable) add(path, false);
  for (const std::string& path : access.writable) add(path, true);
  return opened;
}

// The folders that lead to `path`, and a file or folder there to mount upon.
bool MakePlace(const std::string& path, bool is_folder) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    if (mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  if (is_folder) return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
  return fd >= 0 || errno == EEXIST;
}

// Flags that a mount had before we had the right to mount stay as they are.
unsigned long KeptFlags(const std::string& path) {
  struct statvfs info{};
  statvfs(path.c_str(), &info);
  unsigned long kept = MS_NOSUID | MS_NODEV;
  for (const auto& [flag, mount_flag] : {std::pair<unsigned long, unsigned long>{ST_RDONLY, MS_RDONLY},
                                         {ST_NOEXEC, MS_NOEXEC},
                                         {ST_NOATIME, MS_NOATIME},
                                         {ST_NODIRATIME, MS_NODIRATIME},
                                         {ST_RELATIME, MS_RELATIME}})
    kept |= (info.f_flag & flag) != 0 ? mount_flag : 0;
  return kept;
}

RuntimeError Share(const SharedPath& shared) {
  struct stat info{};
  fstat(shared.fd, &info);
  const std::string place = kNewRoot + shared.path;
  const std::string source = FormatText("/proc/self/fd/%d", shared.fd);
  if (!MakePlace(place, S_ISDIR(info.st_mode))) return MountFailed("make " + place);
  if (mount(source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return MountFailed("mount " + shared.path);
  const unsigned long flags = MS_REMOUNT | MS_BIND | KeptFlags(place) | (shared.is_writable ? 0 : MS_RDONLY);
  return mount(nullptr, place.c_str(), nullptr, flags, nullptr) == 0 ? RuntimeError{}
                                                                     : MountFailed("protect " + shared.path);
}

RuntimeError LeaveRoot() {
  if (chdir(kNewRoot) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
      chdir("/") != 0)
    return MountFailed("leave the root");
  const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
  return mount(nullptr, "/", nullptr, flags, nullptr) == 0 ? RuntimeError{} : MountFailed("protect the root");
}

RuntimeError MakeRoot(const std::vector<SharedPath>& shared) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return MountFailed("part from other mounts");
  if (mount("lathe", kNewRoot, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755") != 0)
    return MountFailed("mount an empty root");
  for (const SharedPath& each : shared) RUNTIME_RETURN_IF_ERROR(Share(each));
  return LeaveRoot();
}

}  // namespace

bool OffersMounts() {
  struct stat tasks{};
  constexpr nlink_t kOneThread = 2 + 1;
  if (stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != kOneThread) return false;
  const pid_t child = fork();
  if (child == 0) _exit(UnshareAsOneself(CLONE_NEWNS) && MakeRoot({}).ok() ? 0 : 1);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0;
}

RuntimeError ConfineFilesByMounts(const FileAccess& access) {
  const std::string here = WorkingFolder();
  if (!UnshareAsOneself(CLONE_NEWNS)) return MountFailed("leave the mount namespace");
  const std::vector<SharedPath> shared = OpenAll(access);
  const RuntimeError error = MakeRoot(shared);
  (void)!chdir(here.c_str());  // For relative paths, if it is still there.
  for (const SharedPath& each : shared) close(each.fd);
  DropCapabilities();
  return error;
}

}  // namespace lathe
