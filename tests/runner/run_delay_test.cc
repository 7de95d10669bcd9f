#include "runner/run_delay.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace lathe {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& task, const std::string& text) {
  fs::create_directories(task);
  std::ofstream(task / "schedstat") << text;
}

TEST(RunDelayMeter, SaysHowLongTheThreadThatWaitedLongestHadToWait) {
  const fs::path tasks = fs::path(testing::TempDir()) / ("lathe_tasks_" + std::to_string(getpid()));
  Write(tasks / "11", "500000 1000 7\n");
  Write(tasks / "12", "400000 2500 9\n");
  const RunDelayMeter meter(tasks.c_str());
  EXPECT_EQ(meter.num_threads(), 2u);
  const std::vector<int64_t> before = meter.Read();
  EXPECT_THAT(before, testing::UnorderedElementsAre(1000, 2500));
  Write(tasks / "11", "600000 1400 8\n");
  Write(tasks / "12", "500000 2600 9\n");
  EXPECT_EQ(meter.LongestSince(before), 400);
  Write(tasks / "12", "");  // Ended.
  EXPECT_EQ(meter.LongestSince(before), 400);
  fs::remove_all(tasks);
}

TEST(RunDelayMeter, WatchesNothingWhereNothingIsCounted) {
  const RunDelayMeter meter("/nonexistent/task");
  EXPECT_EQ(meter.num_threads(), 0u);
  EXPECT_EQ(meter.LongestSince(meter.Read()), 0);
}

// Two threads on one CPU: each has to wait for the other, however fast the clock runs.
TEST(RunDelayMeter, SeesAThreadThatTakesTheCpu) {
  cpu_set_t cpus;
  ASSERT_EQ(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
  const cpu_set_t all = cpus;
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&cpus);
  CPU_SET(first, &cpus);
  ASSERT_EQ(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
  const RunDelayMeter meter;
  if (meter.num_threads() == 0) GTEST_SKIP() << "this kernel does not count run delays";
  const std::vector<int64_t> before = meter.Read();
  std::atomic<bool> is_done = false;
  std::thread other([&] {  // Inherits the one CPU.
    while (!is_done) {
    }
  });
  while (meter.LongestSince(before) < 1'000'000) {
  }
  is_done = true;
  other.join();
  sched_setaffinity(0, sizeof(all), &all);
}

}  // namespace
}  // namespace lathe
