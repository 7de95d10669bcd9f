// Devices and leases: the epoch rises in the transaction that writes the lease, and never falls.
#include <fmt/core.h>

#include "support/sqlite.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

std::string_view LeaseStateName(LeaseState state) {
  static constexpr std::string_view kNames[] = {"GRANTED", "RELEASED", "EXPIRED", "REVOKED"};
  return kNames[static_cast<size_t>(state)];
}

StatusOr<std::vector<TrialRow>> HeldTrials(Connection& db, int64_t device_id, int64_t epoch) {
  std::vector<int64_t> ids;
  RETURN_IF_ERROR(db.Each(
      "SELECT id FROM trial WHERE device_id = ? AND epoch = ? ORDER BY id",
      [&](const Row& row) { ids.push_back(row.Int(0)); }, device_id, epoch));
  std::vector<TrialRow> trials;
  for (const int64_t id : ids) {
    ASSIGN_OR_RETURN(TrialRow trial, ReadTrial(db, id));
    trials.push_back(std::move(trial));
  }
  return trials;
}

// Over the index of those in force, however many there have been.
#define LATHE_LEASE_QUERY                                                                                      \
  "SELECT id, device_id, epoch, holder, granted_unix_ns, expires_unix_ns FROM lease INDEXED BY lease_granted " \
  "WHERE state = 'GRANTED' AND "

StatusOr<std::vector<LeaseRow>> GrantedLeases(Connection& db, std::optional<int64_t> device_id, int64_t now) {
  std::vector<LeaseRow> leases;
  RETURN_IF_ERROR(db.Each(
      device_id ? LATHE_LEASE_QUERY "device_id = ?1" : LATHE_LEASE_QUERY "?1 IS NULL ORDER BY id",
      [&](const Row& row) {
        leases.push_back({row.Int(0), row.Int(1), row.Int(2), row.String(3), LeaseState::kGranted, row.Int(4),
                          row.Int(5), Duration(row.Int(5) - now)});
      },
      device_id));
  return leases;
}

// `failure`: what the trials that are still held count; none when the holder gave them back in order.
StatusOr<std::vector<int64_t>> EndOne(Connection& db, const LeaseRow& lease, LeaseState end,
                                      std::optional<InfraFailure> failure, int64_t now) {
  RETURN_IF_ERROR(db.Run("UPDATE lease SET state = ? WHERE id = ?", LeaseStateName(end), lease.id));
  ASSIGN_OR_RETURN(const std::vector<TrialRow> trials, HeldTrials(db, lease.device_id, lease.epoch));
  std::vector<int64_t> ids;
  for (const TrialRow& trial : trials) {
    if (failure.has_value())
      RETURN_IF_ERROR(CountInfraFailure(db, trial, *failure, "", now).status());
    else
      RETURN_IF_ERROR(ReturnToQueue(db, trial, now));
    ids.push_back(trial.id);
  }
  RETURN_IF_ERROR(AddEvent(db, now, "lease", std::nullopt, lease.id, LeaseStateName(end)));
  return ids;
}

StatusOr<LeaseRow> LeaseNotEnded(Connection& db, int64_t device_id, int64_t epoch, int64_t now) {
  ASSIGN_OR_RETURN(const std::vector<LeaseRow> leases, GrantedLeases(db, device_id, now));
  if (!leases.empty() && leases.front().epoch == epoch) return leases.front();
  return FailedPrecondition(
      fmt::format("renew lease of device {} epoch {}: it has ended; ask for a new one", device_id, epoch));
}

}  // namespace

StatusOr<DeviceRow> SqliteStore::RegisterDevice(const NewDevice& device) {
  const int64_t now = time_.Now();
  if (device.name.empty() || device.device_class.empty() || device.epoch_seen < 0) {
    return InvalidArgument(fmt::format(
        "register device \"{}\": class \"{}\", epoch {}; a name, a class and an epoch of 0 or more are required",
        device.name, device.device_class, device.epoch_seen));
  }
  return WriteSoft([&](Connection& db) -> StatusOr<DeviceRow> {
    RETURN_IF_ERROR(
        db.Run("INSERT INTO device (name, device_class, facts, epoch, registered_unix_ns, last_seen_unix_ns) VALUES "
               "(?, ?, ?, ?, ?, ?) "
               "ON CONFLICT (name) DO UPDATE SET device_class = excluded.device_class, facts = excluded.facts, "
               "epoch = max(epoch, excluded.epoch), last_seen_unix_ns = excluded.last_seen_unix_ns",
               device.name, device.device_class, device.facts, device.epoch_seen, now, now));
    ASSIGN_OR_RETURN(const auto id, db.First<int64_t>("SELECT id FROM device WHERE name = ?", device.name));
    RETURN_IF_ERROR(AddEvent(db, now, "device", std::nullopt, *id, "registered " + device.name));
    return ReadDevice(db, *id);
  });
}

Status SqliteStore::Heartbeat(int64_t device_id) {
  const int64_t now = time_.Now();
  return WriteSoft([&](Connection& db) -> Status {
    RETURN_IF_ERROR(ReadDevice(db, device_id).status());
    return db.Run("UPDATE device SET last_seen_unix_ns = max(last_seen_unix_ns, ?) WHERE id = ?", now, device_id);
  });
}

StatusOr<std::vector<DeviceRow>> SqliteStore::ListDevices() {
  return Read([&](Connection& db) { return ReadDevices(db, std::nullopt); });
}

Status SqliteStore::SetDeviceService(int64_t device_id, const ServiceState& service, std::string_view by) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> Status {
    ASSIGN_OR_RETURN(const DeviceRow device, ReadDevice(db, device_id));
    if (device.service == service) return OkStatus();
    const std::string_view name = DeviceServiceName(service.service);
    RETURN_IF_ERROR(db.Run("UPDATE device SET service = ?, service_reason = ?, service_unix_ns = ? WHERE id = ?", name,
                           service.reason, now, device_id));
    return AddEvent(
        db, now, "device", std::nullopt, device_id,
        fmt::format("{} {}, by {}{}{}", name, device.name, by, service.reason.empty() ? "" : ": ", service.reason));
  });
}

StatusOr<LeaseRow> SqliteStore::GrantLease(int64_t device_id, std::string_view holder, Duration ttl,
                                           int64_t epoch_floor) {
  if (ttl <= Duration(0))
    return InvalidArgument(
        fmt::format("grant lease of device {}: for {} ns; ask for more than 0", device_id, ttl.count()));
  const int64_t now = time_.Now(), expires = now + ttl.count();
  return WriteAfter([&](Connection& db) -> StatusOr<LeaseRow> {
    ASSIGN_OR_RETURN(const DeviceRow device, ReadDevice(db, device_id));
    ASSIGN_OR_RETURN(const std::vector<LeaseRow> leases, GrantedLeases(db, device_id, now));
    for (const LeaseRow& lease : leases) {
      const bool has_run_out = lease.expires_unix_ns <= now;
      RETURN_IF_ERROR(EndOne(db, lease, has_run_out ? LeaseState::kExpired : LeaseState::kRevoked,
                             has_run_out ? std::optional(InfraFailure::kLeaseExpired) : std::nullopt, now)
                          .status());
    }
    LeaseRow granted{
        0,       device_id, std::max(device.epoch, epoch_floor) + 1, std::string(holder), LeaseState::kGranted, now,
        expires, ttl};
    RETURN_IF_ERROR(db.Run("UPDATE device SET epoch = ? WHERE id = ?", granted.epoch, device_id));
    RETURN_IF_ERROR(
        db.Run("INSERT INTO lease (device_id, epoch, holder, state, granted_unix_ns, expires_unix_ns) VALUES (?, ?, ?, "
               "'GRANTED', ?, ?)",
               device_id, granted.epoch, holder, now, expires));
    granted.id = db.last_insert_id();
    RETURN_IF_ERROR(AddEvent(db, now, "lease", std::nullopt, granted.id,
                             fmt::format("GRANTED {} epoch {}", device.name, granted.epoch)));
    return granted;
  });
}

StatusOr<LeaseRow> SqliteStore::RenewLease(int64_t device_id, int64_t epoch, Duration ttl) {
  const int64_t now = time_.Now(), expires = now + ttl.count();
  return WriteSoft([&](Connection& db) -> StatusOr<LeaseRow> {
    ASSIGN_OR_RETURN(LeaseRow lease, LeaseNotEnded(db, device_id, epoch, now));
    lease.expires_unix_ns = std::max(lease.expires_unix_ns, expires);  // A delayed renewal never shortens.
    lease.remaining = Duration(lease.expires_unix_ns - now);
    RETURN_IF_ERROR(db.Run("UPDATE lease SET expires_unix_ns = ? WHERE id = ?", lease.expires_unix_ns, lease.id));
    return lease;
  });
}

Status SqliteStore::EndLease(int64_t device_id, int64_t epoch, LeaseState end) {
  const int64_t now = time_.Now();
  CHECK(end != LeaseState::kGranted) << "a lease ends in another state";
  return WriteSoft([&](Connection& db) -> Status {
    ASSIGN_OR_RETURN(const std::vector<LeaseRow> leases, GrantedLeases(db, device_id, now));
    if (leases.empty() || leases.front().epoch != epoch) return OkStatus();
    const auto failure = end == LeaseState::kExpired ? std::optional(InfraFailure::kLeaseExpired) : std::nullopt;
    return EndOne(db, leases.front(), end, failure, now).status();
  });
}

StatusOr<std::vector<int64_t>> SqliteStore::LoseDevice(int64_t device_id) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<std::vector<int64_t>> {
    ASSIGN_OR_RETURN(const DeviceRow device, ReadDevice(db, device_id));
    RETURN_IF_ERROR(AddEvent(db, now, "device", std::nullopt, device_id, "lost " + device.name));
    ASSIGN_OR_RETURN(const std::vector<LeaseRow> leases, GrantedLeases(db, device_id, now));
    if (leases.empty()) return std::vector<int64_t>();
    return EndOne(db, leases.front(), LeaseState::kRevoked, InfraFailure::kDeviceLost, now);
  });
}

StatusOr<std::vector<LeaseRow>> SqliteStore::ListGrantedLeases() {
  const int64_t now = time_.Now();
  return Read([&](Connection& db) { return GrantedLeases(db, std::nullopt, now); });
}

}  // namespace lathe
