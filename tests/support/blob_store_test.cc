#include "support/blob_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace lathe {
namespace {

using testing::HasSubstr;

class BlobStoreTest : public testing::Test {
 protected:
  BlobStoreTest() {
    std::string path = testing::TempDir() + "/blobsXXXXXX";
    directory_ = mkdtemp(path.data());
  }
  ~BlobStoreTest() override { std::filesystem::remove_all(directory_); }
  BlobStore Open(int64_t limit = 0) {
    StatusOr<BlobStore> store = BlobStore::Open(directory_, limit);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return *std::move(store);
  }
  void SetUse(const Digest& digest, time_t unix_seconds) {
    const timespec times[2] = {{unix_seconds, 0}, {unix_seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (directory_ + "/" + digest.ToHex()).c_str(), times, 0), 0);
  }
  static constexpr int64_t kSecond = 1'000'000'000;
  std::string directory_;
};

TEST_F(BlobStoreTest, FindsAfterReopeningWhatWasPut) {
  const Digest digest = *Open().Put("hello");
  BlobStore store = Open();
  EXPECT_EQ(*store.Read(digest, 1, 3), "ell");
  EXPECT_EQ(std::filesystem::file_size(*store.Path(digest)), 5u);
  EXPECT_THAT(store.Read(digest, 6, 1).status().message(), HasSubstr("offset 6, size is 5"));
}

TEST_F(BlobStoreTest, GivesANameOnlyToCheckedContent) {
  BlobStore store = Open();
  const Digest digest = Sha256("abcdef");
  EXPECT_FALSE(*store.Append(digest, 0, "abc", 6));
  EXPECT_EQ(store.Path(digest).code(), StatusCode::kNotFound);
  EXPECT_TRUE(*store.Append(digest, 3, "def", 6));
  EXPECT_EQ(*store.Read(digest, 0, 100), "abcdef");
  const Digest other = Sha256("other");
  EXPECT_THAT(store.Append(other, 0, "wrong", 5).status().message(), HasSubstr("fetch it again"));
  EXPECT_EQ(store.PartialSize(other), 0);
}

TEST_F(BlobStoreTest, ResumesAPartAfterReopening) {
  const Digest digest = Sha256("abcdef");
  EXPECT_FALSE(*Open().Append(digest, 0, "abcd", 6));
  BlobStore store = Open();
  EXPECT_EQ(store.PartialSize(digest), 4);
  EXPECT_THAT(store.Append(digest, 3, "def", 6).status().message(), HasSubstr("offset 3, 4 bytes are held"));
  EXPECT_TRUE(*store.Append(digest, 4, "ef", 6));
}

TEST_F(BlobStoreTest, EvictsTheLeastRecentlyUsedUnlessPinned) {
  BlobStore store = Open(10);
  const Digest a = *store.Put("aaaa"), b = *store.Put("bbbb");
  ASSERT_TRUE(store.Path(a).ok());  // Now b is the older one.
  const Digest c = *store.Put("cccc");
  EXPECT_TRUE(store.Contains(a));
  EXPECT_FALSE(store.Contains(b));
  store.Pin(a);
  store.Pin(c);
  EXPECT_THAT(store.Put("dddd").status().message(), HasSubstr("4 bytes asked for, 8 of 10 are in use"));
  store.Unpin(a);
  EXPECT_TRUE(store.Put("dddd").ok());
  EXPECT_FALSE(store.Contains(a));
  EXPECT_EQ(store.bytes(), 8);
}

TEST_F(BlobStoreTest, CountsPartsAndDropsThoseThatNobodyFetches) {
  const Digest abandoned = Sha256("abandoned"), fetched = Sha256("0123456789"), other = Sha256("other");
  EXPECT_FALSE(*Open(20).Append(abandoned, 0, "abandon", 9));
  BlobStore store = Open(20);
  store.Pin(fetched);
  EXPECT_FALSE(*store.Append(fetched, 0, "01234", 10));
  EXPECT_EQ(store.PartialSize(abandoned), 7) << "there is room";
  ASSERT_TRUE(store.Put("ten bytes.").ok());
  EXPECT_EQ(store.PartialSize(abandoned), 0);
  EXPECT_EQ(store.PartialSize(fetched), 5) << "somebody is about to use it";
  EXPECT_TRUE(*store.Append(fetched, 5, "56789", 10));
  EXPECT_THAT(store.Append(other, 0, "other", 500).status().message(), HasSubstr("500 bytes asked for"));
}

TEST_F(BlobStoreTest, KnowsAfterReopeningWhichBlobWasUsedLast) {
  Digest a, b;
  {
    BlobStore store = Open();
    a = *store.Put("aaaa");
    b = *store.Put("bbbb");
    for (const Digest& digest : {a, b}) SetUse(digest, digest == a ? 1000 : 2000);
  }
  {
    BlobStore store = Open();
    EXPECT_EQ(store.List().front().digest, a);
    EXPECT_EQ(store.List().front().last_used_unix_ns, 1000 * kSecond);
    ASSERT_TRUE(store.Path(a).ok());
    EXPECT_GT(store.List().back().last_used_unix_ns, 2000 * kSecond);
  }
  EXPECT_EQ(Open().List().front().digest, b);
}

TEST_F(BlobStoreTest, DeletesOnlyWhatWasNotUsedSinceItWasListed) {
  const Digest digest = *Open().Put("module");
  SetUse(digest, 1000);
  BlobStore store = Open();
  const StoredBlob listed = store.List().front();
  store.Pin(digest);
  EXPECT_TRUE(store.List().front().is_pinned);
  EXPECT_FALSE(store.DeleteUnused(listed));
  store.Unpin(digest);
  ASSERT_TRUE(store.Put("module").ok());  // Uploaded again: somebody is about to refer to it.
  EXPECT_FALSE(store.DeleteUnused(listed));
  EXPECT_TRUE(store.Contains(digest));
  EXPECT_TRUE(store.DeleteUnused(store.List().front()));
  EXPECT_FALSE(store.Contains(digest));
  EXPECT_EQ(store.bytes(), 0);
}

TEST_F(BlobStoreTest, FindsNothingInAFileWhoseContentIsNotWhatItsNameSays) {
  const Digest torn = *Open().Put("written whole"), flipped = *Open().Put("bits"), good = *Open().Put("good");
  std::filesystem::resize_file(directory_ + "/" + torn.ToHex(), 7);
  std::ofstream(directory_ + "/" + flipped.ToHex()) << "bitz";
  BlobStore store = Open();
  EXPECT_FALSE(store.Contains(torn));
  EXPECT_THAT(store.Path(flipped).status().message(), HasSubstr("not in"));
  EXPECT_EQ(store.Read(flipped, 0, 4).code(), StatusCode::kNotFound);
  EXPECT_EQ(*store.Read(good, 0, 4), "good");
  EXPECT_EQ(store.bytes(), 4);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/" + torn.ToHex()));
  EXPECT_TRUE(store.Append(torn, 0, "written whole", 13).ok()) << "it is fetched again";
}

TEST_F(BlobStoreTest, LooksAgainAtAFileThatChangedSinceItWasChecked) {
  BlobStore store = Open();
  const Digest digest = *store.Put("module");
  ASSERT_TRUE(store.Path(digest).ok());
  std::ofstream(directory_ + "/" + digest.ToHex()) << "another module";
  EXPECT_EQ(store.Path(digest).code(), StatusCode::kNotFound);
  EXPECT_EQ(*store.Put("module"), digest);
  EXPECT_EQ(*store.Read(digest, 0, 6), "module");
}

TEST_F(BlobStoreTest, RefusesMoreThanTheSizeAnnounced) {
  BlobStore store = Open();
  EXPECT_THAT(store.Append(Sha256("x"), 0, "xyz", 2).status().message(), HasSubstr("3 bytes, its size is 2"));
}

}  // namespace
}  // namespace lathe
