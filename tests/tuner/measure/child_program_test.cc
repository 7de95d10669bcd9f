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
  EXPECT_EQ(RunShell("sleep 100000", std::chrono::milliseconds(50)).code(), StatusCode::kDeadlineExceeded);
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
