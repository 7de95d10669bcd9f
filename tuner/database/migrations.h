// Brings a database file to the schema of this build, one transaction per step.
#pragma once

#include <span>
#include <string_view>

#include "support/sqlite.h"

namespace lathe {

struct Migration {
  int64_t version = 0;   // 1, 2, 3, ... without gaps.
  std::string_view sql;  // Never changed once released.
};

// The steps of this build; the first is schema.sql.
std::span<const Migration> Migrations();

inline constexpr int64_t kApplicationId = 0x4c415448;  // "LATH": what `file` and we recognise a tuning database by.

// SHA-256 of the statements without comments and extra white space: remarks may be improved after a release.
Digest MigrationChecksum(std::string_view sql);

// Applies what is missing. Refuses, without a change: a file of another program, a newer schema, a step that was
// applied with other statements. `store_id` (16 random bytes) names a database that is created now.
Status Migrate(sqlite::Connection& db, std::span<const Migration> migrations, std::string_view store_id, int64_t now);
// For a connection that may not write: every check of Migrate, and kFailedPrecondition where it would have to act.
// `oldest`: a version from which on that does not matter.
Status CheckSchema(sqlite::Connection& db, std::span<const Migration> migrations, int64_t oldest);
inline Status CheckSchema(sqlite::Connection& db, std::span<const Migration> migrations) {
  return CheckSchema(db, migrations, migrations.back().version);
}

}  // namespace lathe
