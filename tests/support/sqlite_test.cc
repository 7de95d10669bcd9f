#include "support/sqlite.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lathe::sqlite {
namespace {

using testing::HasSubstr;

class SqliteTest : public testing::Test {
 protected:
  std::unique_ptr<Connection> OpenMemory() {
    return *Connection::Open(Connection::kMemory, Connection::Mode::kReadWrite);
  }
  ~SqliteTest() override { std::filesystem::remove_all(folder_); }
  std::string PathOf(const std::string& name) { return (folder_ / name).string(); }

 private:
  static std::filesystem::path MakeFolder() {
    std::string name = testing::TempDir() + "lathe_sqlite_XXXXXX";
    return mkdtemp(name.data());
  }
  const std::filesystem::path folder_ = MakeFolder();
};

TEST_F(SqliteTest, GivesBackEachTypeThatWasBound) {
  auto db = OpenMemory();
  ASSERT_TRUE(db->Execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB, n INTEGER) STRICT").ok());
  const Digest digest = Sha256("x");
  const std::string text("nul\0inside", 10);
  ASSERT_TRUE(
      db->Run("INSERT INTO t VALUES (?, ?, ?, ?, ?)", int64_t{-5}, 0.25, text, digest, std::optional<int64_t>()).ok());
  int rows = 0;
  ASSERT_TRUE(db->Each("SELECT * FROM t", [&](const Row& row) {
                  ++rows;
                  EXPECT_EQ(row.Int(0), -5);
                  EXPECT_EQ(row.Real(1), 0.25);
                  EXPECT_EQ(row.Text(2), text);
                  EXPECT_EQ(row.Sha(3), digest);
                  EXPECT_EQ(row.MaybeInt(4), std::nullopt);
                }).ok());
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(**db->First<std::string>("SELECT s FROM t WHERE s = ?", text), text);
}

TEST_F(SqliteTest, StoresEmptyTextAndBytesAsSuchAndNotAsNull) {
  auto db = OpenMemory();
  ASSERT_TRUE(db->Execute("CREATE TABLE t (s TEXT NOT NULL, b BLOB NOT NULL) STRICT").ok());
  EXPECT_TRUE(db->Run("INSERT INTO t VALUES (?, ?)", std::string_view(), Bytes{}).ok());
}

TEST_F(SqliteTest, IsReadyAgainAfterAFailedRun) {
  auto db = OpenMemory();
  ASSERT_TRUE(db->Execute("CREATE TABLE t (i INTEGER PRIMARY KEY CHECK (i > 0)) STRICT").ok());
  auto insert = *Statement::Prepare(*db, "INSERT INTO t VALUES (?)");
  EXPECT_EQ(insert->Run(-1).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(insert->Run(1).ok());
}

TEST_F(SqliteTest, TakesBackATransactionThatIsNotCommitted) {
  auto db = OpenMemory();
  ASSERT_TRUE(db->Execute("CREATE TABLE t (i INTEGER) STRICT").ok());
  {
    auto transaction = Transaction::Begin(*db, Transaction::Kind::kWrite);
    ASSERT_TRUE(db->Run("INSERT INTO t VALUES (1)").ok());
  }
  EXPECT_EQ(**db->First<int64_t>("SELECT count(*) FROM t"), 0);
}

TEST_F(SqliteTest, SaysWhichFileIsNoDatabase) {
  const std::string path = PathOf("letter.txt");
  std::ofstream(path) << std::string(4096, 'x');
  auto db = *Connection::Open(path, Connection::Mode::kReadWrite);
  const Status status = db->First<int64_t>("SELECT count(*) FROM sqlite_schema").status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "open " + path + ": file is not a database; restore a copy or choose another file");
}

TEST_F(SqliteTest, SaysThatAFolderIsMissing) {
  const auto db = Connection::Open(PathOf("none/x.db"), Connection::Mode::kReadWrite);
  EXPECT_EQ(db.code(), StatusCode::kNotFound);
  EXPECT_THAT(db.status().message(), HasSubstr("No such file or directory"));
}

TEST_F(SqliteTest, RefusesToWriteThroughAReadOnlyConnection) {
  const std::string path = PathOf("x.db");
  ASSERT_TRUE((*Connection::Open(path, Connection::Mode::kReadWrite))->Execute("CREATE TABLE t (i INTEGER)").ok());
  auto db = *Connection::Open(path, Connection::Mode::kReadOnly);
  const Status status = db->Run("INSERT INTO t VALUES (1)");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("attempt to write a readonly database; make the file"));
}

TEST_F(SqliteTest, CallsAFullDatabaseExhausted) {
  auto db = OpenMemory();
  ASSERT_TRUE(db->Execute("CREATE TABLE t (b BLOB); PRAGMA max_page_count = 4").ok());
  const Status status = db->Run("INSERT INTO t VALUES (zeroblob(100000))");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("database or disk is full; free some space"));
}

}  // namespace
}  // namespace lathe::sqlite
