#include "tuner/measure/child_program.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/hang_guard.h"

namespace lathe {
namespace {

using testing::HasSubstr;

Status RunShell(const std::string& script, Duration limit = kHangGuard) {
  const std::atomic<bool> is_cancelled = false;
  return RunChildProgram({"/bin/sh", "-c", script}, limit, is_cancelled);
}

TEST(ChildProgram, SaysHowItEnded) {
  EXPECT_TRUE(RunShell("exit 0").ok());
  EXPECT_THAT(RunShell("echo no such thing >&2; exit 3").message(), HasSubstr("no such thing"));
  EXPECT_THAT(RunShell("kill -SEGV $$").message(), HasSubstr("ended by SIGSEGV"));
  EXPECT_EQ(RunShell("kill -KILL $$").code(), StatusCode::kUnavailable);
  EXPECT_EQ(RunShell("echo no space >&2; exit 75").message(), "no space");
  EXPECT_EQ(RunShell("echo no space >&2; exit 75").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(RunShell("sleep 100000", std::chrono::milliseconds(50)).code(), StatusCode::kDeadlineExceeded);
}

// What a client's program does when its reference is computed.
TEST(Evaluate, NamesAFunctionThatReachesForTheMachine) {
#ifdef LATHE_SANITIZE
  GTEST_SKIP() << "sanitizers make calls of their own, so none are forbidden";
#endif
  const std::string output = testing::TempDir() + "/lathe_evaluate_" + std::to_string(getpid());
  const std::atomic<bool> is_cancelled = false;
  const auto evaluate = [&](const char* file, const char* kernel) {
    return RunChildProgram({LATHE_BIN_DIR "/lathe-evaluate", std::string(LATHE_TEST_KERNEL_DIR "/") + file + ".so",
                            kernel, "1", "float32,float32,float32", output, std::to_string(256 << 20), "60"},
                           kHangGuard, is_cancelled);
  };
  EXPECT_TRUE(evaluate("good", "add").ok()) << evaluate("good", "add").message();
  for (const auto& [file, kernel] : {std::pair{"hostile_files", "reads"},
                                     {"hostile_processes", "bomb"},
                                     {"hostile_network", "opens"},
                                     {"hostile_signals", "kills"}}) {
    EXPECT_EQ(evaluate(file, kernel).message(), "ended by SIGSYS: it made a system call, which no kernel may")
        << kernel;
  }
  EXPECT_THAT(evaluate("hostile_stack", "overflows").message(), HasSubstr("ended by SIGSEGV"));
  unlink(output.c_str());
}

TEST(Evaluate, SaysThatTheDiskIsFull) {
#ifdef LATHE_SANITIZE
  GTEST_SKIP() << "sanitizers make calls of their own, so none are forbidden";
#endif
  const std::atomic<bool> is_cancelled = false;
  const Status status = RunChildProgram({LATHE_BIN_DIR "/lathe-evaluate", LATHE_TEST_KERNEL_DIR "/good.so", "add", "1",
                                         "float32,float32,float32", "/dev/full", std::to_string(256 << 20), "60"},
                                        kHangGuard, is_cancelled);
  EXPECT_EQ(status.message(), "write /dev/full: No space left on device (ENOSPC)");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

TEST(ChildProgram, EndsWhatTheProgramStarted) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // Whoever lives on keeps the end for writing open.
  EXPECT_EQ(RunShell("sleep 100000 & wait", std::chrono::milliseconds(50)).code(), StatusCode::kDeadlineExceeded);
  close(ends[1]);
  char nothing;
  EXPECT_EQ(read(ends[0], &nothing, 1), 0);
  close(ends[0]);
}

// Ctrl-C goes to the terminal's whole process group; what becomes of the child is the parent's business.
TEST(ChildProgram, LeadsAProcessGroupOfItsOwn) {
  EXPECT_TRUE(RunShell("test \"$(cut -d ' ' -f 5 /proc/$$/stat)\" = $$").ok());
}

}  // namespace
}  // namespace lathe
