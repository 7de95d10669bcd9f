// What is known of the health of devices, and what they measured while they were not well.
#include <fmt/core.h>

#include "support/sqlite.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {

using sqlite::Connection;
using sqlite::Row;

Status SqliteStore::SetDeviceHealth(int64_t device_id, const HealthRow& health) {
  return WriteSoft([&](Connection& db) -> Status {
    RETURN_IF_ERROR(ReadDevice(db, device_id).status());
    return db.Run(
        "UPDATE device SET health = ?, health_words = ?, golden_ns = ?, golden_module = ?, failed_checks = ?, "
        "checked_unix_ns = ?, probe_unix_ns = ? WHERE id = ?",
        HealthStateName(health.state), health.words, health.golden_ns, health.golden_module, health.failed_checks,
        health.checked_unix_ns, health.probe_unix_ns, device_id);
  });
}

namespace {

// The last record that was written before; 0: none. Rows are in the order of their time, but for what was imported.
StatusOr<int64_t> LastBefore(Connection& db, int64_t since) {
  ASSIGN_OR_RETURN(const auto last, db.First<int64_t>("SELECT id FROM record WHERE trial_id IS NOT NULL AND "
                                                      "committed_unix_ns <= ? ORDER BY id DESC LIMIT 1",
                                                      since));
  return last.value_or(0);
}

}  // namespace

StatusOr<int64_t> SqliteStore::DistrustRecords(int64_t device_id, int64_t since_unix_ns) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const DeviceRow device, ReadDevice(db, device_id));
    ASSIGN_OR_RETURN(const int64_t before, LastBefore(db, since_unix_ns));
    std::vector<int64_t> keys;
    RETURN_IF_ERROR(db.Each(
        "SELECT DISTINCT key_id FROM record WHERE id > ? AND device = ? AND late = 0 AND trial_id IS NOT NULL",
        [&](const Row& row) { keys.push_back(row.Int(0)); }, before, device.name));
    RETURN_IF_ERROR(
        db.Run("UPDATE record SET late = 1 WHERE id > ? AND device = ? AND late = 0 AND trial_id IS NOT NULL", before,
               device.name));
    const int64_t records = db.changes();
    for (const int64_t key : keys) RETURN_IF_ERROR(DecideWithoutLate(db, key));
    RETURN_IF_ERROR(AddEvent(db, now, "device", std::nullopt, device_id,
                             fmt::format("distrusted {}: {} records are not believed", device.name, records)));
    return records;
  });
}

}  // namespace lathe
