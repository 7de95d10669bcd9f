#include "runner/memory_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lathe {
namespace {

constexpr char kRunnerPrefix[] = "runner-";
constexpr char kMaxProcesses[] = "64";  // As RLIMIT_NPROC has it.

RuntimeError GroupFailed(const std::string& what) {
  return {RuntimeCode::kFailedPrecondition, "group of processes: " + what + ": " + ErrnoText(errno) +
                                                "; start this program in a group of its own that it may divide "
                                                "(systemd: Delegate=yes)"};
}

RuntimeError WriteTo(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);  // The kernel makes none of another name.
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const RuntimeError error = written ? RuntimeError{} : GroupFailed("write " + text + " to " + path);
  if (fd >= 0) close(fd);
  return error;
}

std::string ReadAll(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  for (ssize_t got = 0; (got = read(fd, part, sizeof(part))) > 0;) text.append(part, static_cast<size_t>(got));
  close(fd);
  return text;
}

RuntimeError MakeFolder(const std::string& path) {
  return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST ? RuntimeError{} : GroupFailed("make " + path);
}

// Ends what is in a group; the group goes as soon as that has gone.
void Remove(const std::string& folder) {
  (void)WriteTo(folder + "/cgroup.kill", "1");
  rmdir(folder.c_str());
}

void RemoveRunners(const std::string& folder) {
  DIR* groups = opendir(folder.c_str());
  if (groups == nullptr) return;
  while (const dirent* each = readdir(groups)) {
    if (std::strncmp(each->d_name, kRunnerPrefix, sizeof(kRunnerPrefix) - 1) == 0) Remove(folder + "/" + each->d_name);
  }
  closedir(groups);
}

bool HasWord(const std::string& text, const std::string& word) {
  const std::string spaced = " " + text.substr(0, text.find('\n')) + " ";
  return spaced.find(" " + word + " ") != std::string::npos;
}

std::string Field(const std::string& line, int number) {
  size_t begin = 0;
  while (number-- > 0 && begin != std::string::npos) begin = line.find(' ', begin) + 1;
  return line.substr(begin, line.find(' ', begin) - begin);
}

// `text` line by line, until `use` says true.
template <typename Use>
void EachLine(const std::string& text, Use use) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (use(text.substr(begin, end - begin))) return;
    begin = end + 1;
  }
}

}  // namespace

RuntimeResult<std::string> FindOwnGroup(const std::string& mounts, const std::string& groups) {
  std::string mount, root, own;
  EachLine(mounts, [&](const std::string& line) {
    const bool found = line.find(" - cgroup2 ") != std::string::npos;
    if (found) root = Field(line, 3), mount = Field(line, 4);
    return found;
  });
  EachLine(groups, [&](const std::string& line) {
    const bool found = line.rfind("0::/", 0) == 0;
    if (found) own = line.substr(3);
    return found;
  });
  if (mount.empty() || own.empty())
    return RuntimeError{RuntimeCode::kNotFound, "group of processes: this machine has no cgroup v2"};
  if (root.size() > 1 && own.rfind(root, 0) == 0) own = own.substr(root.size());  // A part of the tree is mounted.
  return own == "/" ? mount : mount + own;
}

MemoryGroup::~MemoryGroup() {
  close(door_);
  Remove(folder_);
}

RuntimeError MemoryGroup::Limit(uint64_t bytes) {
  return WriteTo(folder_ + "/memory.max", FormatText("%llu", static_cast<unsigned long long>(bytes)));
}

int64_t MemoryGroup::Kills() const {
  constexpr char kKey[] = "oom_kill ";
  int64_t kills = 0;
  EachLine(ReadAll(folder_ + "/memory.events"), [&](const std::string& line) {
    const bool found = line.rfind(kKey, 0) == 0;
    if (found) kills = std::strtoll(line.c_str() + sizeof(kKey) - 1, nullptr, 10);
    return found;
  });
  return kills;
}

RuntimeResult<std::unique_ptr<MemoryGroups>> MemoryGroups::Open(const std::string& folder) {
  const std::string controllers = ReadAll(folder + "/cgroup.controllers");
  for (const char* needed : {"memory", "pids"}) {
    if (HasWord(controllers, needed)) continue;
    return RuntimeError{
        RuntimeCode::kFailedPrecondition,
        "group of processes: " + folder + " does not count " + needed +
            " (cgroup.controllers); Raspberry Pi OS: cgroup_enable=memory in /boot/firmware/cmdline.txt"};
  }
  RUNTIME_RETURN_IF_ERROR(MakeFolder(folder + "/supervisor"));
  RUNTIME_RETURN_IF_ERROR(WriteTo(folder + "/supervisor/cgroup.procs", "0"));
  RUNTIME_RETURN_IF_ERROR(WriteTo(folder + "/cgroup.subtree_control", "+memory +pids"));
  RemoveRunners(folder);
  return std::unique_ptr<MemoryGroups>(new MemoryGroups(folder));
}

RuntimeResult<std::unique_ptr<MemoryGroups>> MemoryGroups::Open() {
  RUNTIME_ASSIGN_OR_RETURN(const std::string folder,
                           FindOwnGroup(ReadAll("/proc/self/mountinfo"), ReadAll("/proc/self/cgroup")));
  return Open(folder);
}

RuntimeResult<std::unique_ptr<MemoryGroup>> MemoryGroups::Make() {
  const std::string folder =
      folder_ + "/" + kRunnerPrefix + FormatText("%llu", static_cast<unsigned long long>(made_++));
  RUNTIME_RETURN_IF_ERROR(MakeFolder(folder));
  RUNTIME_RETURN_IF_ERROR(WriteTo(folder + "/pids.max", kMaxProcesses));
  RUNTIME_RETURN_IF_ERROR(WriteTo(folder + "/memory.oom.group", "1"));
  (void)WriteTo(folder + "/memory.swap.max", "0");  // Not there where the kernel does not count swap.
  const std::string door = folder + "/cgroup.procs";
  const int fd = open(door.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return GroupFailed("open " + door);
  return std::unique_ptr<MemoryGroup>(new MemoryGroup(folder, fd));
}

}  // namespace lathe
