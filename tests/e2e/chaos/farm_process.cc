#include "tests/e2e/chaos/farm_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/process_tree.h"

extern char** environ;

namespace lathe::chaos {
namespace {

std::string EndingOf(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

// Behind the fork: nothing but system calls until exec.
[[noreturn]] void Become(char* const* argv, char* const* environment, int out, int log, const char* folder,
                         pid_t parent) {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &all);
  if (*folder != '\0' && chdir(folder) != 0) _exit(127);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(out, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execve(argv[0], argv, environment);
  _exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

FarmProcess::~FarmProcess() { Kill(); }

void FarmProcess::Start() {
  std::vector<std::string> arguments = place_.arguments, environment = place_.environment;
  if (arguments[0].front() != '/') arguments[0] = std::string(LATHE_BIN_DIR) + "/" + arguments[0];
  for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
  const std::vector<char*> argv = Pointers(arguments), variables = Pointers(environment);
  const int out = open(place_.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int log = open(place_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) Become(argv.data(), variables.data(), out, log, place_.folder.c_str(), parent);
  close(out);
  close(log);
}

void FarmProcess::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

void FarmProcess::Kill() {
  Signal(SIGKILL);
  Wait();
}

int FarmProcess::Wait() {
  if (pid_ <= 0) return 0;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<std::string> FarmProcess::TakeEnd() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return EndingOf(status);
}

std::string FarmProcess::Stop(int patience_ms) {
  constexpr int kPauseMs = 20;
  Signal(SIGTERM);
  for (int waited = 0; waited < patience_ms; waited += kPauseMs, poll(nullptr, 0, kPauseMs))
    if (const auto end = TakeEnd()) return *end;
  Kill();
  return fmt::format("nothing for {:.0f} s after SIGTERM", patience_ms / 1000.0);
}

std::string FarmProcess::FirstLine() const {
  const std::string text = TextOf(place_.out);
  const size_t end = text.find('\n');
  return end == std::string::npos ? "" : text.substr(0, end);
}

}  // namespace lathe::chaos
