#include "tuner/database/reader_pool.h"

#include <gmock/gmock.h>

#include <future>

#include "support/sqlite.h"

namespace lathe {
namespace {

using sqlite::Connection;

StatusOr<std::unique_ptr<Connection>> OpenOne() {
  return Connection::Open(Connection::kMemory, Connection::Mode::kReadWrite);
}

TEST(ReaderPool, ListsNeverTakeTheLastReaders) {
  ReaderPool pool(OpenOne, {.readers = 3, .lists = 2});
  std::vector<ReaderPool::Loan> lists;
  for (int i = 0; i < 2; ++i) lists.push_back(*pool.Borrow(ReadKind::kList));
  // Ten clients that ask for long lists wait in line...
  std::vector<std::future<bool>> waiting;
  for (int i = 0; i < 10; ++i)
    waiting.push_back(std::async(std::launch::async, [&] { return pool.Borrow(ReadKind::kList).ok(); }));
  // ... and the loop looks up what it needs, as often as it likes.
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(pool.Borrow(ReadKind::kLookUp).ok());
  for (const auto& client : waiting) EXPECT_NE(client.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  lists.clear();
  for (auto& client : waiting) EXPECT_TRUE(client.get());
}

TEST(ReaderPool, KeepsConnectionsAndGivesThePlaceOfAFailedOneBack) {
  int opened = 0;
  bool works = false;
  ReaderPool pool(
      [&]() -> StatusOr<std::unique_ptr<Connection>> {
        ++opened;
        if (!works) return Unavailable("open: not today");
        return OpenOne();
      },
      {.readers = 2, .lists = 1});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pool.Borrow(ReadKind::kList).status().message(), "open: not today");
  works = true;
  opened = 0;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pool.Borrow(ReadKind::kList).ok());
  EXPECT_EQ(opened, 1);
  pool.CloseIdle();
  EXPECT_TRUE(pool.Borrow(ReadKind::kLookUp).ok());
  EXPECT_EQ(opened, 2);
}

}  // namespace
}  // namespace lathe
