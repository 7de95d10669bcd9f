#include "runner/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runner/sandbox_namespaces.h"

namespace lathe {
namespace {

struct NamedStep {
  SandboxStep step;
  const char* name;
};
constexpr NamedStep kSteps[] = {
    {kSandboxProcesses, "processes"}, {kSandboxFiles, "files"}, {kSandboxCalls, "calls"}, {kSandboxMemory, "memory"}};

bool WriteFile(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

// Children of the calling process are in a pid namespace of their own from here on. A user namespace gives anybody the
// right; where user namespaces are closed, root has it anyway.
bool LeavePidNamespace() { return UnshareAsOneself(CLONE_NEWPID) || unshare(CLONE_NEWPID) == 0; }

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Ends the calling process as another one ended.
[[noreturn]] void EndAs(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(WTERMSIG(status), SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, WTERMSIG(status));
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  kill(getpid(), WTERMSIG(status));
  _exit(128 + WTERMSIG(status));
}

// Without a pid namespace: what has left its parent is ours (we are their subreaper), and ends now.
void EndOrphans() {
  const std::string path = FormatText("/proc/self/task/%d/children", static_cast<int>(getpid()));
  for (;;) {
    char text[4096] = "";
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      (void)!read(fd, text, sizeof(text) - 1);
      close(fd);
    }
    for (char* at = text; *at != '\0';) {
      char* end = at;
      const auto child = static_cast<pid_t>(std::strtol(at, &end, 10));
      if (end == at) break;
      kill(child, SIGKILL);
      at = end;
    }
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

// The first process of a pid namespace: waits for orphans too, and tells what became of `child`. When it ends, all do.
[[noreturn]] void BeInit(pid_t child, int tell) {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended != child && ended > 0) continue;
    (void)!write(tell, &status, sizeof(status));
    _exit(0);
  }
}

// The outermost process.
[[noreturn]] void WaitOutside(pid_t child, int told, bool has_namespace) {
  signal(SIGTERM, SIG_IGN);
  int status = WaitFor(child), inner = 0;
  if (!has_namespace)
    EndOrphans();
  else if (read(told, &inner, sizeof(inner)) == sizeof(inner))
    status = inner;
  EndAs(status);
}

// Ends with its parent, which may have ended already: then nobody holds the other end of `parent_lives`.
void EndWithParent(int parent_lives) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go = 0;
  if (read(parent_lives, &go, 1) != 1) _exit(1);
  close(parent_lives);
}

}  // namespace

bool UnshareAsOneself(int namespaces) {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWUSER | namespaces) != 0) return false;
  WriteFile("/proc/self/setgroups", "deny");
  // Whoever is root there may only be so with a capability that a namespace within has no more.
  constexpr unsigned kNobody = 65534;
  WriteFile("/proc/self/uid_map", FormatText("%u %u 1", user == 0 ? kNobody : user, user));
  WriteFile("/proc/self/gid_map", FormatText("%u %u 1", group == 0 ? kNobody : group, group));
  return true;
}

void DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> none{};
  syscall(SYS_capset, &header, none.data());
}

std::string SandboxText(uint32_t steps) {
  std::string text;
  for (const NamedStep& each : kSteps) {
    if ((steps & each.step) != 0) text += (text.empty() ? "" : ", ") + std::string(each.name);
  }
  return text.empty() ? "none" : text;
}

RuntimeResult<uint32_t> ParseSandboxText(const std::string& text) {
  uint32_t steps = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    uint32_t step = 0;
    for (const NamedStep& each : kSteps) step |= name == each.name ? each.step : 0u;
    if (step == 0 && !name.empty() && name != "none")
      return RuntimeError{RuntimeCode::kInvalidArgument,
                          "sandbox \"" + name + "\": processes, files, calls, memory or none required"};
    steps |= step;
    begin = end + 1;
  }
  return steps;
}

RuntimeResult<uint32_t> EncloseProcesses(const std::function<void(pid_t inner, uint32_t steps)>& on_start) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int told[2], lives[2];
  if (pipe2(told, O_CLOEXEC) != 0 || pipe2(lives, O_CLOEXEC) != 0)
    return RuntimeError{RuntimeCode::kUnavailable, "enclose processes: pipe: " + ErrnoText(errno)};
  const bool has_namespace = LeavePidNamespace();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // Other credentials may have ended it.
  const uint32_t steps = has_namespace ? kSandboxProcesses : 0u;
  const pid_t child = fork();
  if (child < 0) return RuntimeError{RuntimeCode::kUnavailable, "enclose processes: fork: " + ErrnoText(errno)};
  if (child > 0) {
    close(told[1]);
    on_start(child, steps);
    (void)!write(lives[1], "", 1);
    WaitOutside(child, told[0], has_namespace);
  }
  close(told[0]);
  close(lives[1]);
  EndWithParent(lives[0]);
  if (has_namespace) {
    const pid_t inner = fork();
    if (inner < 0) return RuntimeError{RuntimeCode::kUnavailable, "enclose processes: fork: " + ErrnoText(errno)};
    if (inner > 0) BeInit(inner, told[1]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  close(told[1]);
  DropCapabilities();
  return steps;
}

}  // namespace lathe
