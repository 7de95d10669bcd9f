#include "cli/interrupts.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

namespace lathe {
namespace {

// How long each sleep of the main thread may last, as it asked poll(2); and what happens meanwhile.
std::vector<int> sleeps;
std::function<void()> meanwhile;

int Watched(pollfd* files, nfds_t count, int timeout_ms) {
  sleeps.push_back(timeout_ms);
  meanwhile();
  return poll(files, count, 0);
}

class InterruptsTest : public testing::Test {
 protected:
  InterruptsTest() {
    CountInterrupts();
    before_ = NumInterrupts();
    sleeps.clear();
  }
  ~InterruptsTest() override {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
  }
  int before_ = 0;  // Interrupts of other tests in this process.
};

TEST_F(InterruptsTest, SleepsWithoutAnEndUntilThereIsOne) {
  meanwhile = [] { raise(SIGTERM); };
  EXPECT_TRUE(AwaitInterrupts(before_ + 1, [] { return false; }, std::nullopt, Watched));
  EXPECT_EQ(sleeps, std::vector<int>{-1}) << "a process that waits does not look around";
}

TEST_F(InterruptsTest, LooksOncePerInterruptAndPerCall) {
  int looks = 0;
  meanwhile = [] {
    if (sleeps.size() < 3)
      raise(SIGINT);
    else
      std::thread(WakeMainThread).join();
  };
  EXPECT_TRUE(AwaitInterrupts(before_ + 100, [&] { return ++looks == 4; }, std::nullopt, Watched));
  EXPECT_EQ(sleeps, std::vector<int>(3, -1));
}

TEST_F(InterruptsTest, SeesWhatCameBeforeItSlept) {
  meanwhile = [] {};
  raise(SIGINT);
  EXPECT_TRUE(AwaitInterrupts(before_ + 1, [] { return false; }, std::nullopt, Watched));
  EXPECT_TRUE(AwaitInterrupts(before_ + 2, [] { return true; }, std::nullopt, Watched));
  EXPECT_TRUE(sleeps.empty());
}

TEST_F(InterruptsTest, SleepsForTheWholeLimitAtOnce) {
  meanwhile = [] { raise(SIGINT); };
  EXPECT_TRUE(AwaitInterrupts(before_ + 1, [] { return false; }, std::chrono::hours(1), Watched));
  ASSERT_EQ(sleeps.size(), 1u);
  EXPECT_GT(sleeps[0], 3'500'000);
  EXPECT_LE(sleeps[0], 3'600'000);
  EXPECT_FALSE(AwaitInterrupts(before_ + 2, [] { return false; }, Duration(0), Watched));
  EXPECT_EQ(sleeps.size(), 1u);
}

}  // namespace
}  // namespace lathe
