// Files by a root of its own, as on kernels without Landlock.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "runner/sandbox_namespaces.h"

namespace lathe {
namespace {

class SandboxMountsTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef LATHE_SANITIZE
    GTEST_SKIP() << "sanitizers read files of their own and start threads";
#endif
    if (!OffersMounts()) GTEST_SKIP() << "user namespaces are closed here";
    folder_ = testing::TempDir() + "sandbox_mounts_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_ + "/open");
    for (const char* file : {"given", "other", "open/old"}) std::ofstream(folder_ + "/" + file) << file;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // What `act` returns in a process that sees given, what tells CPUs apart, and may write in open/.
  int Inside(const std::function<int()>& act) const {
    const pid_t child = fork();
    if (child == 0) {
      const RuntimeError error = ConfineFilesByMounts(
          {.readable = {folder_ + "/given", folder_ + "/absent"}, .writable = {folder_ + "/open"}});
      if (!error.ok()) write(2, error.message.c_str(), error.message.size());
      _exit(error.ok() ? act() : 100);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  int Opened(const std::string& path, int flags = O_RDONLY) const {
    return Inside([&] { return open(path.c_str(), flags | O_CLOEXEC, 0600) >= 0 ? 0 : errno; });
  }

  std::string folder_;
};

TEST_F(SandboxMountsTest, ShowsWhatWasGivenAndNothingElse) {
  EXPECT_EQ(Opened(folder_ + "/given"), 0);
  EXPECT_EQ(Opened("/proc/cpuinfo"), 0);
  EXPECT_EQ(Opened("/sys/devices/system/cpu/online"), 0);
  EXPECT_EQ(Opened(folder_ + "/other"), ENOENT);
  EXPECT_EQ(Opened("/etc/passwd"), ENOENT);
  EXPECT_EQ(Opened("/proc/1/status"), ENOENT);
}

TEST_F(SandboxMountsTest, WritesWhereItMayOnly) {
  EXPECT_EQ(Opened(folder_ + "/given", O_WRONLY), EROFS);
  EXPECT_EQ(Opened(folder_ + "/new", O_WRONLY | O_CREAT), EROFS);
  EXPECT_EQ(Opened("/new", O_WRONLY | O_CREAT), EROFS);
  EXPECT_EQ(Opened(folder_ + "/open/new", O_WRONLY | O_CREAT), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/open/new"));
  EXPECT_EQ(Opened(folder_ + "/open/old", O_WRONLY), 0);
}

TEST_F(SandboxMountsTest, HasNoRightToMountMore) {
  EXPECT_EQ(Inside([&] { return chroot("/") == 0 ? 0 : errno; }), EPERM);
}

}  // namespace
}  // namespace lathe
