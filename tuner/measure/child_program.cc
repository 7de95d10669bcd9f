#include "tuner/measure/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace lathe {
namespace {

constexpr size_t kKeptBytes = 4096;

constexpr int64_t kLookEveryMs = 100;  // For cancellation.

// What comes out of `fd` until it is closed, or until `deadline` passes or somebody cancels (then false).
bool ReadAll(int fd, TimePoint deadline, const std::atomic<bool>& is_cancelled, std::string& text) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SystemClock().Now()).count();
    if (left <= 0 || is_cancelled) return false;
    pollfd wait{fd, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::min(left, kLookEveryMs)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    char piece[1024];
    const ssize_t got = read(fd, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (text.size() < kKeptBytes) text.append(piece, static_cast<size_t>(got));
  }
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Status RunChildProgram(const std::vector<std::string>& arguments, Duration limit,
                       const std::atomic<bool>& is_cancelled) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unavailable(fmt::format("start {}: {}", arguments[0], std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  pid_t pid = 0;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C in a terminal is for the parent to interpret.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return Unavailable(fmt::format("start {}: {}", arguments[0], std::strerror(error)));
  }
  std::string said;
  const bool in_time = ReadAll(ends[0], SystemClock().Now() + limit, is_cancelled, said);
  close(ends[0]);
  if (!in_time) kill(-pid, SIGKILL);  // Its group: what it started, too.
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time && is_cancelled) return Cancelled("it was cancelled");
  if (!in_time)
    return DeadlineExceeded(
        fmt::format("did not end within {} s", std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return OkStatus();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return Unavailable("was killed by SIGKILL");  // By somebody else: nothing it does ends so.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
    return FailedPrecondition("ended by SIGSYS: it made a system call, which no kernel may");
  if (WIFSIGNALED(status)) return FailedPrecondition(fmt::format("ended by SIG{}", sigabbrev_np(WTERMSIG(status))));
  const bool is_full = WEXITSTATUS(status) == kExitDiskFull;
  return Status(is_full ? StatusCode::kResourceExhausted : StatusCode::kFailedPrecondition,
                said.empty() ? fmt::format("exit code {}", WEXITSTATUS(status)) : FirstLine(said));
}

std::string ProgramBeside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

}  // namespace lathe
