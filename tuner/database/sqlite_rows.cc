#include "tuner/database/sqlite_rows.h"

#include <fmt/core.h>

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

constexpr int64_t kCodegenScale = 1'000'000;

Status CheckKey(const TuningKey& key) {
  const bool complete = !key.target.empty() && !key.device_class.empty() && !key.cache_regime.empty();
  const bool in_range = key.codegen_version.llvm_major >= 0 && key.codegen_version.revision >= 0 &&
                        key.codegen_version.revision < kCodegenScale;
  if (complete && in_range) return OkStatus();
  return InvalidArgument(
      fmt::format("store key of workload {}: target \"{}\", device class \"{}\", cache regime \"{}\", codegen {}; "
                  "all of them are required",
                  key.workload.ToHex().substr(0, 12), key.target, key.device_class, key.cache_regime,
                  key.codegen_version.ToString()));
}

// The row's id, adding it first when it is missing.
template <typename Value>
StatusOr<int64_t> Intern(Connection& db, std::string_view select, std::string_view insert, const Digest& digest,
                         const Value& value) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> id, db.First<int64_t>(select, digest));
  if (id.has_value()) return *id;
  RETURN_IF_ERROR(db.Run(insert, digest, value));
  return db.last_insert_id();
}

}  // namespace

int64_t PackCodegen(CodegenVersion version) { return version.llvm_major * kCodegenScale + version.revision; }
CodegenVersion UnpackCodegen(int64_t packed) {
  return {static_cast<int32_t>(packed / kCodegenScale), static_cast<int32_t>(packed % kCodegenScale)};
}

TuningKey ReadKey(const Row& row, int first) {
  return {row.Sha(first),
          row.String(first + 1),
          row.String(first + 2),
          row.String(first + 3),
          UnpackCodegen(row.Int(first + 4)),
          row.Int(first + 5)};
}

StatusOr<std::optional<int64_t>> FindKey(Connection& db, const TuningKey& key) {
  return db.First<int64_t>("SELECT k.id FROM tuning_key k" LATHE_KEY_JOINS
                           "WHERE w.digest = ? AND g.canonical = ? AND k.device_class = ? AND k.cache_regime = ? AND "
                           "k.codegen_version = ? AND k.policy_version = ?",
                           key.workload, key.target, key.device_class, key.cache_regime,
                           PackCodegen(key.codegen_version), key.policy_version);
}

StatusOr<int64_t> InternKey(Connection& db, const TuningKey& key) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> known, FindKey(db, key));
  if (known.has_value()) return *known;
  RETURN_IF_ERROR(CheckKey(key));
  ASSIGN_OR_RETURN(const auto workload, db.First<int64_t>("SELECT id FROM workload WHERE digest = ?", key.workload));
  if (!workload.has_value()) {
    return NotFound(fmt::format("store key: workload {} has no text in the database; put the workload first",
                                key.workload.ToHex()));
  }
  RETURN_IF_ERROR(db.Run("INSERT OR IGNORE INTO target (canonical) VALUES (?)", key.target));
  RETURN_IF_ERROR(db.Run(
      "INSERT INTO tuning_key (workload_id, target_id, device_class, cache_regime, codegen_version, policy_version) "
      "VALUES (?, (SELECT id FROM target WHERE canonical = ?), ?, ?, ?, ?)",
      *workload, key.target, key.device_class, key.cache_regime, PackCodegen(key.codegen_version), key.policy_version));
  return db.last_insert_id();
}

StatusOr<int64_t> InternTrace(Connection& db, const Digest& digest, std::string_view json) {
  return Intern(db, "SELECT id FROM trace WHERE digest = ?", "INSERT INTO trace (digest, json) VALUES (?, ?)", digest,
                json);
}

StatusOr<int64_t> InternEnvironment(Connection& db, std::string_view facts) {
  return Intern(db, "SELECT id FROM environment WHERE digest = ?",
                "INSERT INTO environment (digest, facts) VALUES (?, ?)", Sha256(facts), facts);
}

Status AddEvent(Connection& db, int64_t now, std::string_view kind, std::optional<int64_t> job_id, int64_t subject_id,
                std::string_view detail) {
  return db.Run("INSERT INTO event (at_unix_ns, kind, job_id, subject_id, detail) VALUES (?, ?, ?, ?, ?)", now, kind,
                job_id, subject_id, detail);
}

StatusOr<TrialState> ReadTrialState(const Row& row, int column) {
  const std::optional<TrialState> state = ParseTrialState(row.Text(column));
  if (!state.has_value())
    return DataLoss(fmt::format("read trial state \"{}\": no such state; restore a copy", row.Text(column)));
  return *state;
}

StatusOr<JobState> ReadJobState(const Row& row, int column) {
  const std::optional<JobState> state = ParseJobState(row.Text(column));
  if (!state.has_value())
    return DataLoss(fmt::format("read job state \"{}\": no such state; restore a copy", row.Text(column)));
  return *state;
}

StatusOr<JobRow> ReadJob(Connection& db, int64_t job_id) {
  std::optional<JobRow> job;
  RETURN_IF_ERROR(db.Each(
      "SELECT id, request_id, name, spec, state, detail, created_unix_ns, updated_unix_ns, submitter FROM job WHERE id "
      "= ?",
      [&](const Row& row) -> Status {
        ASSIGN_OR_RETURN(const JobState state, ReadJobState(row, 4));
        job = JobRow{row.Int(0),    row.String(1), row.String(2), row.String(3), state,
                     row.String(5), row.Int(6),    row.Int(7),    row.String(8)};
        return OkStatus();
      },
      job_id));
  if (!job.has_value()) return NotFound(fmt::format("read job {}: no such job; list the jobs there are", job_id));
  return *std::move(job);
}

#define LATHE_DEVICE_QUERY                                                                                          \
  "SELECT id, name, device_class, facts, epoch, registered_unix_ns, last_seen_unix_ns, service, service_reason, "   \
  "service_unix_ns, health, health_words, golden_ns, golden_module, failed_checks, checked_unix_ns, probe_unix_ns " \
  "FROM device "

HealthRow ReadHealth(const Row& row, int column) {
  HealthRow health{.state = ParseHealthState(row.String(column)).value_or(HealthState::kUnknown),
                   .words = row.String(column + 1),
                   .golden_ns = row.Real(column + 2)};
  health.golden_module = row.MaybeSha(column + 3);
  health.failed_checks = row.Int(column + 4);
  health.checked_unix_ns = row.Int(column + 5);
  health.probe_unix_ns = row.Int(column + 6);
  return health;
}

StatusOr<std::vector<DeviceRow>> ReadDevices(Connection& db, std::optional<int64_t> device_id) {
  std::vector<DeviceRow> devices;
  const auto add = [&](const Row& row) {
    DeviceRow& device = devices.emplace_back(
        DeviceRow{row.Int(0), row.String(1), row.String(2), row.String(3), row.Int(4), row.Int(5), row.Int(6)});
    device.service = {ParseDeviceService(row.String(7)).value_or(DeviceService::kDrained), row.String(8)};
    device.service_unix_ns = row.Int(9);
    device.health = ReadHealth(row, 10);
  };
  if (device_id)
    RETURN_IF_ERROR(db.Each(LATHE_DEVICE_QUERY "WHERE id = ?", add, *device_id));
  else
    RETURN_IF_ERROR(db.Each(LATHE_DEVICE_QUERY "ORDER BY name", add));
  return devices;
}

StatusOr<DeviceRow> ReadDevice(Connection& db, int64_t device_id) {
  ASSIGN_OR_RETURN(std::vector<DeviceRow> devices, ReadDevices(db, device_id));
  if (devices.empty()) return NotFound(fmt::format("read device {}: no such device; register it first", device_id));
  return std::move(devices.front());
}

StatusOr<Digest> ResultKey(Connection& db, int64_t trial_id, int64_t attempt, int64_t device_id, int64_t epoch,
                           const Digest& module_digest, int64_t policy_version) {
  std::string store_id;
  RETURN_IF_ERROR(db.Each("SELECT store_id FROM meta", [&](const Row& row) { store_id = row.Blob(0); }));
  std::string text = "lathe.result/1\n" + store_id;
  for (const int64_t number : {trial_id, attempt, device_id, epoch, policy_version}) {
    for (int shift = 0; shift < 64; shift += 8) text += static_cast<char>(static_cast<uint64_t>(number) >> shift);
  }
  text += module_digest.raw();
  return Sha256(text);
}

}  // namespace lathe
