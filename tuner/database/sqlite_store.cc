#include "tuner/database/sqlite_store.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <filesystem>

#include "support/sqlite.h"
#include "tuner/database/group_writer.h"
#include "tuner/database/migrations.h"
#include "tuner/database/owner_lock.h"
#include "tuner/database/sqlite_rows.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

int64_t SizeOf(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

std::string NewStoreId() {
  std::string id(16, '\0');
  CHECK(getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size())) << "no random bytes";
  return id;
}

// synchronous FULL: what was answered survives power loss (group_writer.h says what need not). mmap stays off: an I/O
// error must be an error, not a signal.
constexpr const char* kWriterPragmas =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA mmap_size = 0;"
    "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16384; PRAGMA "
    "temp_store = MEMORY";
constexpr const char* kReaderPragmas =
    "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY";

StatusOr<std::unique_ptr<Connection>> OpenReader(const std::string& path, Connection::Mode mode) {
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> reader, Connection::Open(path, mode));
  RETURN_IF_ERROR(reader->Execute(kReaderPragmas));
  return reader;
}

}  // namespace

SqliteStore::SqliteStore(std::string path, Clock& clock)
    : path_(std::move(path)),
      time_(clock),
      readers_(
          [this] { return OpenReader(path_, immutable_ ? Connection::Mode::kImmutable : Connection::Mode::kReadOnly); },
          {}) {}

SqliteStore::~SqliteStore() {
  readers_.CloseIdle();  // Before the writer: the last connection to close folds the WAL into the file.
  writer_.reset();
}

StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, Clock& clock) {
  if (path.empty()) return InvalidArgument("open database: the path is empty; name a file");
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, clock));
  ASSIGN_OR_RETURN(OwnerLock lock, OwnerLock::Acquire(path));
  store->lock_ = std::make_unique<OwnerLock>(std::move(lock));
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> db, Connection::Open(path, Connection::Mode::kReadWrite));
  RETURN_IF_ERROR(db->Execute(kWriterPragmas));
  RETURN_IF_ERROR(store->StartWriting(std::move(db)));
  return store;
}

StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::OpenInMemory(Clock& clock, std::string_view image) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(Connection::kMemory, clock));
  store->in_memory_ = true;
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> db, Connection::Open(Connection::kMemory, Connection::Mode::kReadWrite));
  if (!image.empty()) RETURN_IF_ERROR(db->Restore(image));
  RETURN_IF_ERROR(db->Execute("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY"));
  RETURN_IF_ERROR(store->StartWriting(std::move(db)));
  return store;
}

Status SqliteStore::StartWriting(std::unique_ptr<Connection> db) {
  RETURN_IF_ERROR(Migrate(*db, Migrations(), NewStoreId(), time_.Now()));
  ASSIGN_OR_RETURN(const auto last_said,
                   db->First<int64_t>("SELECT at_unix_ns FROM event ORDER BY cursor DESC LIMIT 1"));
  time_.GoNoEarlierThan(last_said.value_or(0));
  writer_ = std::make_unique<GroupWriter>(std::move(db), GroupWriter::Limits{});
  return OkStatus();
}

StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::OpenReadOnly(const std::string& path) {
  return OpenReading(path, Migrations().back().version);
}

StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::OpenForMerge(const std::string& path) {
  return OpenReading(path, Migrations().back().version - 1);
}

StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::OpenReading(const std::string& path, int64_t oldest_schema) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, SystemClock()));
  const auto check = [&](Connection& db) { return CheckSchema(db, Migrations(), oldest_schema); };
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return NotFound(fmt::format("open {}: no such file; tune something first or check the path", path));
  const Status status = store->RunRead(check);
  if (status.ok()) return store;
  // On a read-only medium SQLite cannot make the files beside a WAL database. Nobody can write there either.
  const bool cannot_open = status.code() == StatusCode::kFailedPrecondition || status.code() == StatusCode::kNotFound;
  if (!cannot_open || SizeOf(path + "-wal") > 0) return status;
  store->immutable_ = true;
  store->readers_.CloseIdle();
  const Status immutable = store->RunRead(check);
  if (!immutable.ok()) return immutable;
  return store;
}

Status SqliteStore::RunDurable(const Operation& operation) { return RunWrite(operation, Durability::kPowerLoss); }
Status SqliteStore::RunDurableAfter(const Operation& operation) {
  return RunWrite(operation, Durability::kPowerLossAfter);
}
Status SqliteStore::RunSoft(const Operation& operation) { return RunWrite(operation, Durability::kProcess); }

Status SqliteStore::RunWrite(const Operation& operation, Durability durability) {
  if (writer_ == nullptr) {
    return FailedPrecondition(fmt::format("write {}: opened read-only; use the process that owns the file", path_));
  }
  return writer_->Run(operation, durability);
}

std::vector<Status> SqliteStore::RunEach(std::span<const Operation> operations, Durability durability) {
  if (writer_ == nullptr)
    return std::vector(operations.size(), RunWrite(operations.front(), durability));  // All alike.
  return writer_->RunEach(operations, durability);
}

Status SqliteStore::RunReadOf(ReadKind kind, const Operation& operation) {
  if (in_memory_) return writer_->Run(operation, Durability::kProcess);
  ASSIGN_OR_RETURN(const ReaderPool::Loan reader, readers_.Borrow(kind));
  ASSIGN_OR_RETURN(sqlite::Transaction snapshot, sqlite::Transaction::Begin(*reader, sqlite::Transaction::Kind::kRead));
  RETURN_IF_ERROR(operation(*reader));
  return snapshot.Commit();
}

Status SqliteStore::RunRead(const Operation& operation) { return RunReadOf(ReadKind::kLookUp, operation); }
Status SqliteStore::RunReadList(const Operation& operation) { return RunReadOf(ReadKind::kList, operation); }

StatusOr<std::string> SqliteStore::Image() {
  return Read([](Connection& db) { return db.Image(); });
}

StatusOr<std::vector<EventRow>> SqliteStore::ReadEvents(int64_t after_cursor, std::optional<int64_t> job_id,
                                                        int limit) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<EventRow>> {
    std::vector<EventRow> events;
    const auto add = [&](const Row& row) {
      events.push_back({row.Int(0), row.Int(1), row.String(2), row.MaybeInt(3), row.Int(4), row.String(5)});
    };
    const char* sql = job_id.has_value() ? "SELECT cursor, at_unix_ns, kind, job_id, subject_id, detail FROM event "
                                           "WHERE cursor > ?1 AND job_id = ?3 ORDER BY cursor LIMIT ?2"
                                         : "SELECT cursor, at_unix_ns, kind, job_id, subject_id, detail FROM event "
                                           "WHERE cursor > ?1 AND ?3 IS NULL ORDER BY cursor LIMIT ?2";
    RETURN_IF_ERROR(db.Each(sql, add, after_cursor, limit, job_id));
    return events;
  });
}

StatusOr<StoreStats> SqliteStore::Stats() {
  const auto counters = writer_ == nullptr ? GroupWriter::Counters{} : writer_->counters();
  return ReadList([&](Connection& db) -> StatusOr<StoreStats> {
    StoreStats stats;
    RETURN_IF_ERROR(
        db.Each("SELECT (SELECT count(*) FROM workload), (SELECT count(*) FROM job), (SELECT count(*) FROM trial), "
                "(SELECT count(*) FROM record),"
                " (SELECT count(*) FROM best), (SELECT count(*) FROM device), (SELECT count(*) FROM event)",
                [&](const Row& row) {
                  stats = {row.Int(0), row.Int(1), row.Int(2), row.Int(3), row.Int(4), row.Int(5), row.Int(6)};
                }));
    stats.file_bytes = SizeOf(path_);
    stats.wal_bytes = SizeOf(path_ + "-wal");
    stats.operations = counters.operations;
    stats.commits = counters.commits;
    return stats;
  });
}

}  // namespace lathe
