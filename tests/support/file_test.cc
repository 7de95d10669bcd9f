#include "support/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

using testing::HasSubstr;

TEST(File, IsReadWhole) {
  const TemporaryFolder folder;
  const std::string bytes(200'000, 'x');
  std::ofstream(folder / "file") << bytes;
  EXPECT_EQ(*ReadWholeFile(folder / "file"), bytes);
  EXPECT_EQ(ReadWholeFile(folder / "none").code(), StatusCode::kNotFound);
  EXPECT_THAT(ReadWholeFile(folder.path()).status().message(), HasSubstr("it is a folder; name a file"));
}

TEST(File, IsWrittenWhereALinkPointsAndNeverOverAPipe) {
  const TemporaryFolder folder;
  std::ofstream(folder / "real") << "old";
  std::filesystem::create_symlink(folder / "real", folder / "link");
  EXPECT_EQ(*OutputFile(folder / "new"), folder / "new");
  EXPECT_EQ(*OutputFile(folder / "link"), std::filesystem::canonical(folder / "real").string());
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(OutputFile(folder / "pipe").status().message(), HasSubstr("a pipe is there; name a file"));
  EXPECT_THAT(OutputFile(folder.path()).status().message(), HasSubstr("a folder is there; name a file"));
  for (const char* beside : {"", "-wal", "-shm", ".lock"}) {
    std::ofstream(folder / "kept.db") << std::string("SQLite format 3", 16);
    if (*beside != 0) std::ofstream(folder / ("kept.db" + std::string(beside))) << "x";
    EXPECT_THAT(OutputFile(folder / ("kept.db" + std::string(beside))).status().message(),
                HasSubstr("a database is there, whose records would be lost; name another file"));
  }
  EXPECT_THAT(OutputFile("/dev/null").status().message(), HasSubstr("a device is there; name a file"));
}

}  // namespace
}  // namespace lathe
