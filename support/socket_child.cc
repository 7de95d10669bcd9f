#include "support/socket_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lathe {
namespace {

constexpr size_t kLastWordsBytes = 600;
constexpr int kAboveTheirs = 10;  // Numbers above the child's own, or its dup2 calls would overwrite them.

StatusOr<pid_t> Spawn(const std::string& what, const std::string& program, const std::vector<std::string>& arguments,
                      int socket, int words) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, words, 2);
  posix_spawn_file_actions_adddup2(&files, socket, kChildSocket);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* const environment[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &files, &attributes, argv.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return pid;
  return Unavailable(fmt::format("start {} {}: {}; is lathe installed whole?", what, program, std::strerror(error)));
}

}  // namespace

Status SocketChild::Start(const std::string& what, const std::string& program,
                          const std::vector<std::string>& arguments) {
  if (is_running()) return FailedPrecondition(fmt::format("start {}: it runs already", what));
  const auto out_of_descriptors = [&] {
    return Unavailable(fmt::format("start {}: {}; is this process out of descriptors?", what, std::strerror(errno)));
  };
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return out_of_descriptors();
  socket_ = pair[0];
  fcntl(socket_, F_SETFL, O_NONBLOCK);
  words_ = memfd_create("child-words", MFD_CLOEXEC);
  if (words_ >= 0) fcntl(words_, F_SETFL, O_APPEND);
  const int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, kAboveTheirs),
            words = words_ < 0 ? -1 : fcntl(words_, F_DUPFD_CLOEXEC, kAboveTheirs);
  close(pair[1]);
  StatusOr<pid_t> pid =
      theirs < 0 || words < 0 ? StatusOr<pid_t>(out_of_descriptors()) : Spawn(what, program, arguments, theirs, words);
  if (theirs >= 0) close(theirs);
  if (words >= 0) close(words);
  if (pid.ok())
    pid_ = *pid;
  else
    (void)Kill();
  return pid.status();
}

int SocketChild::Kill() {
  int wait_status = 0;
  if (pid_ >= 0) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);  // In case it has not reached its own process group yet.
    while (waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) close(socket_);
  if (words_ >= 0) close(words_);
  pid_ = socket_ = words_ = -1;
  return wait_status;
}

int SocketChild::WaitOrKill() {
  siginfo_t info{};
  for (int i = 0; i < 200 && info.si_pid == 0; ++i) {
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) break;
    if (info.si_pid == 0) poll(nullptr, 0, 5);
  }
  return Kill();
}

std::string SocketChild::LastWords() const {
  struct stat info;
  if (words_ < 0 || fstat(words_, &info) != 0) return "";
  std::string words(std::min<size_t>(kLastWordsBytes, static_cast<size_t>(info.st_size)), '\0');
  const ssize_t got = pread(words_, words.data(), words.size(), info.st_size - static_cast<off_t>(words.size()));
  words.resize(got < 0 ? 0 : static_cast<size_t>(got));
  for (char& c : words) c = c == '\n' ? ' ' : static_cast<unsigned char>(c) < 32 ? '?' : c;
  while (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

bool SocketChild::ForgetWords() { return ftruncate(words_, 0) == 0; }

uint64_t SocketChild::ResidentBytes() const {
  FILE* file = std::fopen(fmt::format("/proc/{}/statm", pid_).c_str(), "re");
  if (file == nullptr) return 0;
  unsigned long long total = 0, resident = 0;
  const int fields = std::fscanf(file, "%llu %llu", &total, &resident);
  std::fclose(file);
  return fields == 2 ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

int BecomeSocketChild(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // It never outlives who asks it.
  const int fd = argc >= 3 ? std::atoi(argv[1]) : -1;
  int type = 0;
  socklen_t size = sizeof(type);
  if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return -1;
  const rlim_t limit = std::strtoull(argv[2], nullptr, 10);
  if (limit == 0) return fd;
  const rlimit bytes{limit, limit}, none{0, 0};
#ifndef LATHE_SANITIZE  // A sanitizer reserves terabytes for its shadow.
  setrlimit(RLIMIT_AS, &bytes);
#else
  (void)bytes;
#endif
  setrlimit(RLIMIT_CORE, &none);
  return fd;
}

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const char* name = sigabbrev_np(WTERMSIG(wait_status));
    return fmt::format("died with {}",
                       name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", WTERMSIG(wait_status)));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
}

}  // namespace lathe
