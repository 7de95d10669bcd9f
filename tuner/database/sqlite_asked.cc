// What builds asked for and did not get.
#include "support/sqlite.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

Status AddAsked(Connection& db, const AskedWorkload& asked, int64_t now) {
  return db.Run(
      "INSERT INTO asked (workload, target, name, text, network, weight, times, first_unix_ns, last_unix_ns) "
      "VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT (workload, target) DO UPDATE SET times = times + 1, "
      "network = excluded.network, weight = excluded.weight, last_unix_ns = excluded.last_unix_ns",
      asked.workload.digest, asked.target, asked.workload.name, asked.workload.text, asked.network, asked.weight, now,
      now);
}

AskedRow ReadAsked(const Row& row) {
  return {.id = row.Int(0),
          .asked = {.workload = {row.Sha(1), row.String(3), row.String(4)},
                    .target = row.String(2),
                    .network = row.String(5),
                    .weight = row.Int(6)},
          .times = row.Int(7),
          .first_unix_ns = row.Int(8),
          .last_unix_ns = row.Int(9)};
}

}  // namespace

Status SqliteStore::RecordAsked(std::span<const AskedWorkload> asked) {
  const int64_t now = time_.Now();
  return WriteSoft([&](Connection& db) -> Status {
    for (const AskedWorkload& one : asked) RETURN_IF_ERROR(AddAsked(db, one, now));
    return db.Run(
        "DELETE FROM asked WHERE id IN (SELECT id FROM asked ORDER BY last_unix_ns, id "
        "LIMIT max(0, (SELECT count(*) FROM asked) - ?))",
        kMostAsked);
  });
}

StatusOr<std::vector<AskedRow>> SqliteStore::ListAsked(std::string_view target, const Page& page) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<AskedRow>> {
    std::vector<AskedRow> rows;
    RETURN_IF_ERROR(db.Each(
        "SELECT id, workload, target, name, text, network, weight, times, first_unix_ns, last_unix_ns FROM asked a "
        "WHERE id > ?1 AND (?2 = '' OR target = ?2) AND NOT EXISTS (SELECT 1 FROM workload w JOIN tuning_key q ON "
        "q.workload_id = w.id JOIN best b ON b.key_id = q.id WHERE w.digest = a.workload AND q.target_id = "
        "(SELECT id FROM target WHERE canonical = a.target)) ORDER BY id LIMIT ?3",
        [&](const Row& row) { rows.push_back(ReadAsked(row)); }, page.after_id, target, page.limit));
    return rows;
  });
}

}  // namespace lathe
