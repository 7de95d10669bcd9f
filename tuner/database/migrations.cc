#include "tuner/database/migrations.h"

#include <fmt/core.h>

#include <cctype>

namespace lathe {
namespace {

constexpr std::string_view kSchemaSql =
#include "schema_sql.inc"
    ;
constexpr std::string_view kForeignSql =
#include "foreign_sql.inc"
    ;
constexpr std::string_view kMaxErrorSql =
#include "max_error_sql.inc"
    ;
constexpr std::string_view kFinalSql =
#include "final_sql.inc"
    ;
constexpr std::string_view kModelRoundSql =
#include "model_round_sql.inc"
    ;
constexpr std::string_view kAttemptSql =
#include "attempt_sql.inc"
    ;
constexpr std::string_view kCountSql =
#include "count_sql.inc"
    ;
constexpr std::string_view kRetainSql =
#include "retain_sql.inc"
    ;
constexpr std::string_view kIdentitySql =
#include "identity_sql.inc"
    ;
constexpr std::string_view kAskedSql =
#include "asked_sql.inc"
    ;
constexpr std::string_view kOperatingSql =
#include "operating_sql.inc"
    ;
constexpr std::string_view kHealthSql =
#include "health_sql.inc"
    ;
constexpr Migration kMigrations[] = {{1, kSchemaSql},     {2, kForeignSql}, {3, kMaxErrorSql},   {4, kFinalSql},
                                     {5, kModelRoundSql}, {6, kAttemptSql}, {7, kCountSql},      {8, kRetainSql},
                                     {9, kIdentitySql},   {10, kAskedSql},  {11, kOperatingSql}, {12, kHealthSql}};

struct FileState {
  int64_t application_id = 0, version = 0, tables = 0;
};

StatusOr<FileState> ReadFileState(sqlite::Connection& db) {
  FileState state;
  RETURN_IF_ERROR(db.Each("PRAGMA application_id", [&](const sqlite::Row& row) { state.application_id = row.Int(0); }));
  RETURN_IF_ERROR(db.Each("PRAGMA user_version", [&](const sqlite::Row& row) { state.version = row.Int(0); }));
  RETURN_IF_ERROR(
      db.Each("SELECT count(*) FROM sqlite_schema", [&](const sqlite::Row& row) { state.tables = row.Int(0); }));
  return state;
}

Status CheckApplied(sqlite::Connection& db, std::span<const Migration> migrations) {
  Status status;
  RETURN_IF_ERROR(db.Each("SELECT version, checksum FROM migration", [&](const sqlite::Row& row) {
    const int64_t version = row.Int(0);
    if (version < 1 || version > static_cast<int64_t>(migrations.size())) return;
    if (MigrationChecksum(migrations[version - 1].sql) == row.Sha(1)) return;
    status = FailedPrecondition(
        fmt::format("open {}: schema step {} was applied with other statements than this build has; use "
                    "the build that wrote the file",
                    db.path(), version));
  }));
  return status;
}

Status CheckOurs(sqlite::Connection& db, const FileState& state, std::span<const Migration> migrations) {
  if (state.application_id != kApplicationId) {
    return FailedPrecondition(
        fmt::format("open {}: not a Lathe database (application id {:#x}, {:#x} required); choose another "
                    "file",
                    db.path(), state.application_id, kApplicationId));
  }
  const int64_t newest = migrations.back().version;
  if (state.version > newest) {
    return FailedPrecondition(
        fmt::format("open {}: schema version {}, this build reads up to {}; upgrade or choose another file", db.path(),
                    state.version, newest));
  }
  return CheckApplied(db, migrations);
}

Status Apply(sqlite::Connection& db, const Migration& migration, std::string_view store_id, int64_t now) {
  ASSIGN_OR_RETURN(sqlite::Transaction transaction, sqlite::Transaction::Begin(db, sqlite::Transaction::Kind::kWrite));
  RETURN_IF_ERROR(db.Execute(std::string(migration.sql)));
  if (migration.version == 1) {
    RETURN_IF_ERROR(db.Run("INSERT INTO meta VALUES (?, ?)", sqlite::Bytes{store_id}, now));
    RETURN_IF_ERROR(db.Execute(fmt::format("PRAGMA application_id = {}", kApplicationId)));
  }
  RETURN_IF_ERROR(
      db.Run("INSERT INTO migration VALUES (?, ?, ?)", migration.version, MigrationChecksum(migration.sql), now));
  RETURN_IF_ERROR(db.Execute(fmt::format("PRAGMA user_version = {}", migration.version)));
  return transaction.Commit();
}

}  // namespace

std::span<const Migration> Migrations() { return kMigrations; }

Digest MigrationChecksum(std::string_view sql) {
  std::string statements;
  for (size_t i = 0; i < sql.size(); ++i) {
    if (sql.substr(i, 2) == "--") i = std::min(sql.find('\n', i), sql.size() - 1);
    const bool space = std::isspace(static_cast<unsigned char>(sql[i])) != 0;
    if (!space)
      statements += sql[i];
    else if (!statements.empty() && statements.back() != ' ')
      statements += ' ';
  }
  while (!statements.empty() && statements.back() == ' ') statements.pop_back();
  return Sha256(statements);
}

Status Migrate(sqlite::Connection& db, std::span<const Migration> migrations, std::string_view store_id, int64_t now) {
  ASSIGN_OR_RETURN(const FileState state, ReadFileState(db));
  const bool empty = state.tables == 0 && state.application_id == 0 && state.version == 0;
  if (!empty) RETURN_IF_ERROR(CheckOurs(db, state, migrations));
  for (const Migration& migration : migrations) {
    if (migration.version <= state.version) continue;
    RETURN_IF_ERROR(Apply(db, migration, store_id, now));
  }
  return OkStatus();
}

Status CheckSchema(sqlite::Connection& db, std::span<const Migration> migrations, int64_t oldest) {
  ASSIGN_OR_RETURN(const FileState state, ReadFileState(db));
  if (state.tables == 0)
    return FailedPrecondition(fmt::format("open {}: the database is empty; tune something first", db.path()));
  RETURN_IF_ERROR(CheckOurs(db, state, migrations));
  if (state.version < oldest) {
    return FailedPrecondition(
        fmt::format("open {}: schema version {}, this build needs {}; open it once for writing to upgrade it",
                    db.path(), state.version, oldest));
  }
  return OkStatus();
}

}  // namespace lathe
