// A program of this build, run to its end by a test.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

extern char** environ;

namespace lathe {

struct ProgramRun {
  int code = 0;  // Exit code; minus the signal that ended it.
  std::string out, err;
  int64_t max_resident_bytes = 0;
};

// arguments[0] is a program in the build's bin folder, or a path. Waits; ctest's time limit is the only one.
inline ProgramRun RunProgram(std::vector<std::string> arguments) {
  if (!arguments[0].starts_with('/')) arguments[0] = std::string(LATHE_BIN_DIR) + "/" + arguments[0];
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int out = memfd_create("stdout", MFD_CLOEXEC), err = memfd_create("stderr", MFD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << argv[0];
  ProgramRun run;
  int status = 0;
  rusage usage{};
  if (error == 0) wait4(pid, &status, 0, &usage);
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  run.max_resident_bytes = int64_t{usage.ru_maxrss} * 1024;
  const auto contents = [](int fd) {
    std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    close(fd);
    return text;
  };
  run.out = contents(out);
  run.err = contents(err);
  return run;
}

}  // namespace lathe
