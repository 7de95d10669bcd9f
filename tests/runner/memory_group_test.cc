// Memory groups on a tree of plain files: which of them are written, with what, in which order of events. That a kernel
// then does as it is told is not shown here: machines like CI's count no memory by cgroup v2.
#include "runner/memory_group.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runner/runner_process.h"
#include "runner/sandbox.h"
#include "tests/support/hang_guard.h"

namespace lathe {
namespace {

using std::filesystem::exists;
using testing::HasSubstr;

std::string Text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class MemoryGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "memory_group_" + std::to_string(getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    Write("cgroup.controllers", "cpuset cpu io memory pids\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& file, const std::string& text) { std::ofstream(folder_ + "/" + file) << text; }
  std::string Read(const std::string& file) const { return Text(folder_ + "/" + file); }

  std::string folder_;
};

TEST(FindOwnGroup, IsWhereTheHierarchyIsMounted) {
  const std::string mounts =
      "22 28 0:21 / /proc rw,relatime shared:13 - proc proc rw\n"
      "26 22 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
  EXPECT_EQ(*FindOwnGroup(mounts, "0::/system.slice/lathe-device.service\n"),
            "/sys/fs/cgroup/system.slice/lathe-device.service");
  EXPECT_EQ(*FindOwnGroup(mounts, "4:memory:/x\n0::/\n"), "/sys/fs/cgroup");
  EXPECT_EQ(*FindOwnGroup("9 8 0:7 /box /cg rw - cgroup2 none rw\n", "0::/box/a\n"), "/cg/a");
  EXPECT_THAT(FindOwnGroup("22 28 0:21 / /proc rw - proc proc rw\n", "0::/a\n").error().message,
              HasSubstr("this machine has no cgroup v2"));
  EXPECT_FALSE(FindOwnGroup(mounts, "4:memory:/x\n").ok());
}

TEST_F(MemoryGroupTest, DividesItsOwnGroup) {
  ASSERT_TRUE(MemoryGroups::Open(folder_).ok());
  EXPECT_EQ(Read("supervisor/cgroup.procs"), "0");
  EXPECT_EQ(Read("cgroup.subtree_control"), "+memory +pids");
}

TEST_F(MemoryGroupTest, EndsWhatAnEarlierProcessLeft) {
  std::filesystem::create_directories(folder_ + "/runner-7");
  ASSERT_TRUE(MemoryGroups::Open(folder_).ok());
  EXPECT_EQ(Read("runner-7/cgroup.kill"), "1");
}

TEST_F(MemoryGroupTest, SaysWhatIsNotCounted) {
  Write("cgroup.controllers", "cpu pids\n");
  EXPECT_THAT(MemoryGroups::Open(folder_).error().message, HasSubstr("does not count memory (cgroup.controllers)"));
  EXPECT_THAT(MemoryGroups::Open(folder_ + "/absent").error().message, HasSubstr("does not count memory"));
}

TEST_F(MemoryGroupTest, NamesTheFileThatCannotBeWritten) {
  std::filesystem::create_directories(folder_ + "/cgroup.subtree_control");  // A folder where a file is expected.
  const RuntimeError error = MemoryGroups::Open(folder_).error();
  EXPECT_THAT(error.message, HasSubstr("cgroup.subtree_control: Is a directory (EISDIR)"));
  EXPECT_THAT(error.message, HasSubstr("Delegate=yes"));
}

TEST_F(MemoryGroupTest, BoundsARunnerAndCountsWhatTheKernelKilled) {
  const std::unique_ptr<MemoryGroups> groups = *MemoryGroups::Open(folder_);
  std::unique_ptr<MemoryGroup> group = *groups->Make();
  ASSERT_TRUE(group->Limit(1 << 30).ok());
  EXPECT_EQ(Read("runner-0/memory.max"), "1073741824");
  EXPECT_EQ(Read("runner-0/memory.oom.group"), "1");
  EXPECT_EQ(Read("runner-0/memory.swap.max"), "0");
  EXPECT_EQ(Read("runner-0/pids.max"), "64");
  EXPECT_EQ(group->Kills(), 0);
  Write("runner-0/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n");
  EXPECT_EQ(group->Kills(), 3);
  EXPECT_FALSE(exists(folder_ + "/runner-0/cgroup.kill"));
  group.reset();
  EXPECT_EQ(Read("runner-0/cgroup.kill"), "1");
  EXPECT_EQ((*groups->Make())->Kills(), 0);
  EXPECT_TRUE(exists(folder_ + "/runner-1"));
}

TEST_F(MemoryGroupTest, ARunnerIsInItsGroupBeforeItIsReady) {
  const std::unique_ptr<MemoryGroups> groups = *MemoryGroups::Open(folder_);
  const RuntimeResult<std::unique_ptr<RunnerProcess>> runner =
      RunnerProcess::Spawn({.program = LATHE_BIN_DIR "/lathe-runner",
                            .start_limit = kHangGuard,
                            .required_sandbox = kSandboxMemory,
                            .groups = groups.get()});
  ASSERT_TRUE(runner.ok()) << runner.error().message;
  ASSERT_TRUE((*runner)->Wait(RunnerProcess::State::kReady, kHangGuard));
  EXPECT_EQ((*runner)->state(), RunnerProcess::State::kReady) << (*runner)->outcome().report.message;
  EXPECT_NE((*runner)->sandbox() & kSandboxMemory, 0u);
  EXPECT_EQ(Read("runner-0/cgroup.procs"), "0");
}

TEST(RunnerEndOfAGroup, IsOutOfMemory) {
  const RunnerEnd end{
      .wait_status = 9, .was_ready = true, .had_spec = true, .memory_limit_bytes = 1000, .group_kills = 1};
  const RunReport report = ClassifyRunnerEnd(end);
  EXPECT_EQ(report.status, RunStatus::kOutOfMemory);
  EXPECT_EQ(report.message, "run kernel: out of memory, its processes held more than 1000 bytes together");
}

}  // namespace
}  // namespace lathe
