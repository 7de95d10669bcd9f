// A program of this build as a child of a test.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

extern char** environ;

namespace lathe {

class ChildProcess {
 public:
  explicit ChildProcess(std::vector<std::string> arguments) {
    arguments[0] = std::string(LATHE_BIN_DIR) + "/" + arguments[0];
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0) << argv[0];
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    stdout_ = ends[0];
  }
  ~ChildProcess() {
    End(SIGKILL);
    close(stdout_);
  }
  ChildProcess(const ChildProcess&) = delete;

  // The next line of its stdout; empty at the end.
  std::string ReadLine() {
    std::string line;
    for (char c = 0; read(stdout_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  // Sends the signal and waits for the end; returns the exit code, or -1 if a signal ended it.
  int End(int signal) {
    if (pid_ <= 0) return -1;
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int stdout_ = -1;
};

}  // namespace lathe
