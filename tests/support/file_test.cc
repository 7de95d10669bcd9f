#include "support/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
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

TEST(File, TellsAFullDiskFromWhatDoesNotPass) {
  EXPECT_TRUE(MeansFullDisk(ENOSPC));
  EXPECT_TRUE(MeansFullDisk(EDQUOT));
  EXPECT_FALSE(MeansFullDisk(EACCES));
  EXPECT_FALSE(MeansFullDisk(0));
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

TEST(SecretFile, IsReadableByItsOwnerOnly) {
  const TemporaryFolder folder;
  const std::string path = folder / "key";
  ASSERT_TRUE(WriteSecretFile(path, "first").ok());
  ASSERT_TRUE(WriteSecretFile(path, "second").ok());
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(*ReadSecretFile(path), "second");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(ReadSecretFile(path).code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(ReadSecretFile(path).status().message(), HasSubstr("others may read it (mode 0640), 0600 required"));
  EXPECT_EQ(ReadSecretFile(folder / "none").code(), StatusCode::kNotFound);
}

TEST(SecretFile, IsWrittenWholeOrNotAtAll) {
  const TemporaryFolder folder;
  EXPECT_THAT(WriteSecretFile(folder / "none/key", "x").message(),
              HasSubstr("No such file or directory; check the folder"));
  std::filesystem::create_directory(folder / "key");
  EXPECT_THAT(WriteSecretFile(folder / "key", "x").message(), HasSubstr("Is a directory"));
  EXPECT_FALSE(std::filesystem::exists(folder / "key.part"));
  std::ofstream(folder / "real") << "old";
  std::filesystem::create_symlink(folder / "real", folder / "link");
  ASSERT_TRUE(WriteSecretFile(folder / "link", "new").ok());  // The link goes, what it points to stays as it is.
  EXPECT_EQ(*ReadWholeFile(folder / "real"), "old");
  std::ofstream(folder / "other.part") << "of somebody who was killed, and readable by all";
  ASSERT_TRUE(WriteSecretFile(folder / "other", "new").ok());
  EXPECT_EQ(*ReadSecretFile(folder / "other"), "new");
}

}  // namespace
}  // namespace lathe
