// A program of this build as a child of a test; it ends with the test's thread that started it, whatever becomes of the
// test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/e2e/process_tree.h"

namespace lathe {

class ChildProcess {
 public:
  // `program` of the build's bin folder, or an absolute path. Its stderr goes to `log`, if one is given.
  explicit ChildProcess(std::vector<std::string> arguments, const std::string& log = "") {
    if (arguments[0].front() != '/') arguments[0] = std::string(LATHE_BIN_DIR) + "/" + arguments[0];
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const int words = log.empty() ? -1 : open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);
      dup2(ends[1], STDOUT_FILENO);
      if (words >= 0) dup2(words, STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    EXPECT_GT(pid_, 0) << argv[0];
    if (words >= 0) close(words);
    close(ends[1]);
    stdout_ = ends[0];
  }
  ~ChildProcess() {
    End(SIGKILL);
    close(stdout_);
  }
  ChildProcess(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // The next line of its stdout; empty at the end.
  std::string ReadLine() {
    std::string line;
    for (char c = 0; read(stdout_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  // All that it prints until it ends.
  std::string ReadAll() {
    std::string text;
    char piece[4096];
    for (ssize_t got; (got = read(stdout_, piece, sizeof(piece))) > 0;) text.append(piece, static_cast<size_t>(got));
    return text;
  }
  void Signal(int signal) { kill(pid_, signal); }
  // Whether it has ended; its exit code still waits for Wait.
  bool HasEnded() const {
    siginfo_t info{};
    return pid_ <= 0 ||
           (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0);
  }
  // Waits for its end; the exit code, or 128 + the number of the signal that ended it. -1: it has been waited for.
  int Wait() {
    if (pid_ <= 0) return -1;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Sends the signal and waits for the end, as Wait.
  int End(int signal) {
    if (pid_ <= 0) return -1;
    Signal(signal);
    return Wait();
  }
  // Both at once: whichever of them is handled first, the other is pending by then.
  void SignalTwice(int first, int second) {
    for (const int signal : {SIGSTOP, first, second, SIGCONT}) kill(pid_, signal);
  }

 private:
  pid_t pid_ = -1;
  int stdout_ = -1;
};

}  // namespace lathe
