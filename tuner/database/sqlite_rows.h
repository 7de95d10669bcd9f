// Single rows of the SQLite store, shared by the files that implement its verbs. Internal to this folder. Every
// function runs inside its caller's transaction.
#pragma once

#include "support/sqlite.h"
#include "tuner/database/rows.h"

namespace lathe {

int64_t PackCodegen(CodegenVersion version);
CodegenVersion UnpackCodegen(int64_t packed);

// Columns of a TuningKey, for a query that joins tuning_key k, workload w and target g.
#define LATHE_KEY_COLUMNS "w.digest, g.canonical, k.device_class, k.cache_regime, k.codegen_version, k.policy_version"
#define LATHE_KEY_JOINS " JOIN workload w ON w.id = k.workload_id JOIN target g ON g.id = k.target_id "
TuningKey ReadKey(const sqlite::Row& row, int first_column);

// kNotFound unless the workload is stored; kInvalidArgument for a key with empty parts.
StatusOr<int64_t> InternKey(sqlite::Connection& db, const TuningKey& key);
StatusOr<std::optional<int64_t>> FindKey(sqlite::Connection& db, const TuningKey& key);
StatusOr<int64_t> InternTrace(sqlite::Connection& db, const Digest& digest, std::string_view json);
StatusOr<int64_t> InternEnvironment(sqlite::Connection& db, std::string_view facts);

Status AddEvent(sqlite::Connection& db, int64_t now, std::string_view kind, std::optional<int64_t> job_id,
                int64_t subject_id, std::string_view detail);

StatusOr<TrialRow> ReadTrial(sqlite::Connection& db, int64_t trial_id);
StatusOr<JobRow> ReadJob(sqlite::Connection& db, int64_t job_id);
// One, or all by name.
StatusOr<std::vector<DeviceRow>> ReadDevices(sqlite::Connection& db, std::optional<int64_t> device_id);
StatusOr<DeviceRow> ReadDevice(sqlite::Connection& db, int64_t device_id);
StatusOr<TrialState> ReadTrialState(const sqlite::Row& row, int column);
StatusOr<JobState> ReadJobState(const sqlite::Row& row, int column);

struct TaskKey {
  int64_t key_id, policy_version;
};
StatusOr<TaskKey> ReadTaskKey(sqlite::Connection& db, int64_t task_id);
// Only an open task takes trials.
Status CheckTakesTrials(sqlite::Connection& db, int64_t task_id);
// A trial that came to wait for a device ends instead if its module is poison.
Status EndIfPoison(sqlite::Connection& db, int64_t trial_id, int64_t now);

// What follows when attempts end, sqlite_trials.cc; used by the leases too.
// Back to its queue at once, nothing counted.
Status ReturnToQueue(sqlite::Connection& db, const TrialRow& trial, int64_t now);
Status CancelTrial(sqlite::Connection& db, const TrialRow& trial, int64_t now);
// Counts one infrastructure failure and applies the retry table; blames the module when a device was lost running it.
StatusOr<TrialState> CountInfraFailure(sqlite::Connection& db, const TrialRow& trial, InfraFailure failure,
                                       std::string_view error, int64_t now);

struct InsertedRecord {
  std::optional<int64_t> id;  // None: that result key exists already.
  bool new_best = false;
};
// Adds the record and keeps `best` true. `record.key` is not read: `key_id` says it. A late record is never best; a
// round of finals changes nothing until they are decided.
StatusOr<InsertedRecord> InsertRecord(sqlite::Connection& db, int64_t key_id, const TuningRecord& record);
// The winner of the rounds of one task's finals or, without a task, of all of the key's becomes its best; returns its
// record. Nullopt: nobody won; a best that failed in a round gives way to the best screened candidate that did not.
StatusOr<std::optional<int64_t>> DecideBest(sqlite::Connection& db, int64_t key_id, std::optional<int64_t> task_id);
// Some of its records have become late: what is counted, and what is best, is what the others say.
Status DecideWithoutLate(sqlite::Connection& db, int64_t key_id);
// One counted result per (trial, attempt, device, epoch, module, policy) of this database.
StatusOr<Digest> ResultKey(sqlite::Connection& db, int64_t trial_id, int64_t attempt, int64_t device_id, int64_t epoch,
                           const Digest& module_digest, int64_t policy_version);
// What CheckTimings says, of a status that makes a record.
Status CheckImported(const TuningRecord& record);
// Timings exactly where the status has them, finite and in order.
Status CheckTimings(TrialState status, const std::optional<Timings>& timings);

}  // namespace lathe
