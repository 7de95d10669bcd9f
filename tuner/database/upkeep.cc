#include "tuner/database/upkeep.h"

#include <fmt/core.h>

#include <filesystem>

#include "support/file.h"
#include "support/sqlite.h"
#include "tuner/database/migrations.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

constexpr int kMostOfAKind = 20;

// Whatever a statement answers is a problem; its first column is the words.
struct Check {
  const char* what;
  const char* sql;
};
constexpr Check kChecks[] = {
    {"best",
     "SELECT 'of key ' || b.key_id || ': record ' || b.record_id || ' is of another key or late' FROM best b "
     "LEFT JOIN record r ON r.id = b.record_id WHERE r.id IS NULL OR r.key_id <> b.key_id OR r.late = 1"},
    {"key",
     "SELECT 'number ' || id || ': ' || measured || ' measured traces are counted, it has ' || n FROM (SELECT "
     "k.id, k.measured, (SELECT count(DISTINCT trace_id) FROM record WHERE key_id = k.id AND late = 0) AS n FROM "
     "tuning_key k) WHERE measured <> n"},
    {"task",
     "SELECT 'number ' || t.id || ': trials are counted as ' || coalesce((SELECT sum(trials) FROM trial_count "
     "WHERE task_id = t.id), 0) || ' in states that they are not in' FROM task t WHERE EXISTS (SELECT 1 FROM "
     "(SELECT state, count(*) AS n FROM trial WHERE task_id = t.id GROUP BY state) s WHERE s.n <> coalesce("
     "(SELECT trials FROM trial_count c WHERE c.task_id = t.id AND c.state = s.state), 0)) OR (SELECT "
     "count(*) FROM trial WHERE task_id = t.id) <> coalesce((SELECT sum(trials) FROM trial_count WHERE task_id "
     "= t.id), 0)"},
    {"blob",
     "SELECT hex(digest) || ': ' || refs || ' references are counted, it has ' || n FROM (SELECT b.digest, b.refs, "
     "(SELECT count(*) FROM trial r WHERE r.module_digest = b.digest AND r.state IN ('PROPOSED', 'BUILD_QUEUED', "
     "'BUILDING', 'BUILT', 'MEAS_QUEUED', 'ASSIGNED', 'RUNNING')) AS n FROM blob b) WHERE refs <> n"},
    {"trial",
     "SELECT 'number ' || r.id || ': ' || r.state || ', but its attempt ' || r.attempt || ' is not held' FROM "
     "trial r WHERE r.state IN ('BUILDING', 'ASSIGNED', 'RUNNING') AND NOT EXISTS (SELECT 1 FROM attempt a "
     "WHERE a.trial_id = r.id AND a.attempt = r.attempt AND a.state = 'HELD')"},
    {"attempt",
     "SELECT trial_id || '/' || attempt || ': held, but its trial is not' FROM attempt a WHERE state = 'HELD' "
     "AND NOT EXISTS (SELECT 1 FROM trial r WHERE r.id = a.trial_id AND r.attempt = a.attempt AND r.state IN "
     "('BUILDING', 'ASSIGNED', 'RUNNING'))"},
    {"invitation",
     "SELECT 'number ' || i.id || ': taken by ' || c.role || ' ' || c.name || ', it was for ' || i.role || ' ' || "
     "i.name FROM invitation i JOIN certificate c ON c.id = i.certificate_id WHERE i.role <> c.role OR (i.name <> '' "
     "AND i.name <> c.name)"},
};

void Add(VerifyReport& report, std::string_view what, std::string_view words) {
  report.problems.push_back(fmt::format("{}: {}", what, words));
}

// The first kMostOfAKind rows; damage that ends the walk is a problem, too.
template <typename Visit>
void Walk(Connection& db, const std::string& sql, std::string_view what, VerifyReport& report,
          const Visit& problem_of) {
  int found = 0;
  const Status status = db.Each(sql, [&](const Row& row) -> Status {
    const std::string words = problem_of(row);
    if (words.empty()) return OkStatus();
    Add(report, what, words);
    return ++found < kMostOfAKind ? OkStatus() : Cancelled("enough");
  });
  if (!status.ok() && status.code() != StatusCode::kCancelled) Add(report, what, status.message());
}

std::string FirstColumn(const Row& row) { return row.String(0); }

void CheckPages(Connection& db, VerifyReport& report) {
  Walk(db, fmt::format("PRAGMA integrity_check({})", kMostOfAKind), "file", report, [](const Row& row) {
    const std::string words = row.String(0);
    return words == "ok" ? "" : words;
  });
  Walk(db, "PRAGMA foreign_key_check", "reference", report, [](const Row& row) {
    return fmt::format("row {} of {} refers to nothing in {}", row.Int(1), row.Text(0), row.Text(2));
  });
}

void CheckTexts(Connection& db, VerifyReport& report) {
  Walk(db, "SELECT id, digest, json FROM trace", "trace", report, [](const Row& row) {
    return Sha256(row.Text(2)) == row.Sha(1) ? "" : fmt::format("number {}: its text has another digest", row.Int(0));
  });
}

StatusOr<std::unique_ptr<Connection>> OpenBesideOwner(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return NotFound(fmt::format("open {}: no database there; --db names another", path));
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> db, Connection::Open(path, Connection::Mode::kReadOnly));
  RETURN_IF_ERROR(CheckSchema(*db, Migrations()));
  return db;
}

int64_t CountRows(Connection& db, std::string_view sql) {
  const auto count = db.First<int64_t>(sql);
  return count.ok() ? count->value_or(0) : 0;
}

}  // namespace

StatusOr<VerifyReport> VerifyDatabase(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> db, OpenBesideOwner(path));
  ASSIGN_OR_RETURN(const sqlite::Transaction snapshot,
                   sqlite::Transaction::Begin(*db, sqlite::Transaction::Kind::kRead));
  VerifyReport report;
  CheckPages(*db, report);
  CheckTexts(*db, report);
  for (const Check& check : kChecks) Walk(*db, check.sql, check.what, report, FirstColumn);
  report.records = CountRows(*db, "SELECT count(*) FROM record");
  report.trials = CountRows(*db, "SELECT count(*) FROM trial");
  return report;
}

StatusOr<int64_t> BackUpDatabase(const std::string& path, const std::string& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> db, OpenBesideOwner(path));
  ASSIGN_OR_RETURN(const std::string file, OutputFile(to));
  const std::string part = file + ".part";
  std::error_code error, ignored;
  std::filesystem::remove(part, ignored);
  const Status copied = db->CopyTo(part);
  if (copied.ok()) std::filesystem::rename(part, file, error);
  if (copied.ok() && !error) return static_cast<int64_t>(std::filesystem::file_size(file, ignored));
  std::filesystem::remove(part, ignored);
  if (!copied.ok()) return copied.WithContext("back up " + path);
  return FailedPrecondition(
      fmt::format("back up {}: {}: {}; name a file in a folder that can be written", path, to, error.message()));
}

}  // namespace lathe
