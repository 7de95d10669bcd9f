// Trials: claims, what workers and devices report, and what follows. Every move goes through MoveTrial.
#include <fmt/core.h>

#include <algorithm>

#include "support/sqlite.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

#define LATHE_TRIAL_QUERY                                                                                       \
  "SELECT r.id, coalesce(t.parent_id, t.id), t.job_id, c.digest, c.json, r.predicted_score, r.seed, r.state, "  \
  "r.attempt, "                                                                                                 \
  "r.infra_failures, r.noisy_runs, "                                                                            \
  "r.not_before_unix_ns, r.worker, r.slot, r.device_id, r.epoch, r.module_digest, r.error, r.updated_unix_ns, " \
  "t.final_round "                                                                                              \
  "FROM trial r JOIN task t ON t.id = r.task_id JOIN trace c ON c.id = r.trace_id "

Status AddTrial(const Row& row, std::vector<TrialRow>& trials) {
  ASSIGN_OR_RETURN(const TrialState state, ReadTrialState(row, 7));
  trials.push_back({.id = row.Int(0),
                    .task_id = row.Int(1),
                    .job_id = row.Int(2),
                    .final_round = row.Int(19),
                    .trace_digest = row.Sha(3),
                    .trace_json = row.String(4),
                    .predicted_score = row.MaybeReal(5),
                    .seed = static_cast<uint64_t>(row.Int(6)),
                    .state = state,
                    .attempt = row.Int(8),
                    .infra_failures = row.Int(9),
                    .noisy_runs = row.Int(10),
                    .not_before_unix_ns = row.Int(11),
                    .worker = row.String(12),
                    .slot = row.Int(13),
                    .device_id = row.MaybeInt(14),
                    .epoch = row.MaybeInt(15),
                    .module_digest = row.MaybeSha(16),
                    .error = row.String(17),
                    .updated_unix_ns = row.Int(18)});
  return OkStatus();
}

// Pieces of a WHERE clause: ?1 job, ?2 task, ?3 trial. Only constants of this file end up in the text.
std::string FilterClause(const TrialFilter& filter) {
  std::string sql;
  sql += filter.job_id.has_value() ? " AND r.task_id IN (SELECT id FROM task WHERE job_id = ?1)" : " AND ?1 IS NULL";
  sql += filter.task_id.has_value() ? " AND r.task_id = ?2" : " AND ?2 IS NULL";
  sql += filter.trial_id.has_value() ? " AND r.id = ?3" : " AND ?3 IS NULL";
  return sql;
}

bool AreAll(const std::vector<TrialState>& states, std::initializer_list<TrialState> some) {
  return !states.empty() &&
         std::ranges::all_of(states, [&](TrialState state) { return std::ranges::find(some, state) != some.end(); });
}

// What is held has an index by its holder, small however many trials there have been; the states alone would be looked
// for among all rows.
std::string_view HolderClause(const TrialFilter& filter) {
  if (filter.device_id) return " AND r.device_id = ?6";
  if (AreAll(filter.states, {TrialState::kBuilding})) return " AND r.worker IS NOT NULL AND ?6 IS NULL";
  if (AreAll(filter.states, {TrialState::kAssigned, TrialState::kRunning}))
    return " AND r.device_id IS NOT NULL AND ?6 IS NULL";
  return "";
}

std::string StateClause(const std::vector<TrialState>& states) {
  std::string names;
  for (const TrialState state : states)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", TrialStateName(state));
  return states.empty() ? "" : fmt::format(" AND r.state IN ({})", names);
}

struct Counts {
  int64_t infra_failures, noisy_runs;
};

enum class AttemptEnd { kReported, kFailed, kReturned };

std::string_view AttemptEndName(AttemptEnd end) {
  static constexpr std::string_view kNames[] = {"REPORTED", "FAILED", "RETURNED"};
  return kNames[static_cast<size_t>(end)];
}

bool IsHeld(TrialState state) {
  return state == TrialState::kBuilding || state == TrialState::kAssigned || state == TrialState::kRunning;
}

bool IsUnder(const TrialRow& trial, const AttemptFence& fence) {
  return trial.attempt == fence.attempt && trial.device_id.value_or(0) == fence.device_id &&
         trial.epoch.value_or(0) == fence.epoch;
}

Status EndAttempt(Connection& db, const TrialRow& trial, AttemptEnd end, std::string_view error, int64_t now) {
  if (!IsHeld(trial.state)) return OkStatus();
  return db.Run(
      "UPDATE attempt SET state = ?, error = ?, ended_unix_ns = ? WHERE trial_id = ? AND attempt = ? AND "
      "state = 'HELD'",
      AttemptEndName(end), error, now, trial.id, trial.attempt);
}

// Leaves the holder, if any, whose attempt ended so. A trial that ends lets go of its module; a record is the caller's
// business. No trial comes to wait for a device with a module that is poison: it ends instead.
Status MoveTrial(Connection& db, const TrialRow& trial, AttemptEnd end, TrialState to, Counts counts,
                 int64_t not_before, std::string_view error, int64_t now) {
  CHECK(CanMove(trial.state, to)) << TrialStateName(trial.state) << " to " << TrialStateName(to);
  RETURN_IF_ERROR(EndAttempt(db, trial, end, error, now));
  RETURN_IF_ERROR(
      db.Run("UPDATE trial SET state = ?, infra_failures = ?, noisy_runs = ?, not_before_unix_ns = ?, error = ?, "
             "worker = NULL, "
             "slot = NULL, device_id = NULL, epoch = NULL, updated_unix_ns = ? WHERE id = ?",
             TrialStateName(to), counts.infra_failures, counts.noisy_runs, not_before, error, now, trial.id));
  if (to == TrialState::kMeasureQueued) return EndIfPoison(db, trial.id, now);
  if (!IsTerminal(to)) return OkStatus();
  RETURN_IF_ERROR(
      db.Run("UPDATE blob SET refs = refs - 1, last_used_unix_ns = max(last_used_unix_ns, ?) "
             "WHERE digest = (SELECT module_digest FROM trial WHERE id = ?) AND refs > 0",
             now, trial.id));
  return AddEvent(db, now, "trial", trial.job_id, trial.id, TrialStateName(to));
}

// The record of `trial` with the parts that every record of a trial has.
TuningRecord RecordOf(const TrialRow& trial, const Digest& result_key, TrialState status, std::string_view error,
                      int64_t now) {
  TuningRecord record;
  record.result_key = result_key;
  record.trace_digest = trial.trace_digest;
  record.trace_json = trial.trace_json;
  record.trial_id = trial.id;
  record.final_round = trial.final_round;
  record.attempt = trial.attempt;
  record.module_digest = trial.module_digest;
  record.status = status;
  record.seed = trial.seed;
  record.error = error;
  record.committed_unix_ns = now;
  return record;
}

// Ends a trial in a way that no device measured (build failure, poison): record and move.
StatusOr<CommitAnswer> EndWithoutDevice(Connection& db, const TrialRow& trial, AttemptEnd end, TrialState status,
                                        std::string_view environment, std::string_view error, int64_t infra_failures,
                                        int64_t now) {
  ASSIGN_OR_RETURN(const TaskKey key, ReadTaskKey(db, trial.task_id));
  ASSIGN_OR_RETURN(const Digest result_key, ResultKey(db, trial.id, trial.attempt, 0, 0,
                                                      trial.module_digest.value_or(Digest()), key.policy_version));
  TuningRecord record = RecordOf(trial, result_key, status, error, now);
  record.environment = environment;
  ASSIGN_OR_RETURN(const InsertedRecord inserted, InsertRecord(db, key.key_id, record));
  RETURN_IF_ERROR(MoveTrial(db, trial, end, status, {infra_failures, trial.noisy_runs}, 0, error, now));
  return CommitAnswer{Ack::kAccepted, inserted.id, status};
}

StatusOr<bool> IsPoison(Connection& db, const Digest& module_digest) {
  ASSIGN_OR_RETURN(const auto devices,
                   db.First<int64_t>("SELECT count(*) FROM device_loss WHERE module_digest = ?", module_digest));
  return devices.value_or(0) >= kPoisonDevices;
}

StatusOr<CommitAnswer> EndAsPoison(Connection& db, const TrialRow& trial, int64_t infra_failures, int64_t now) {
  constexpr std::string_view kWords = "two devices were lost while they ran this module; it is not scheduled again";
  return EndWithoutDevice(db, trial, AttemptEnd::kFailed, TrialState::kPoison, "", kWords, infra_failures, now);
}

// The trials with this module that wait already; held ones end with their own attempts.
Status PoisonWaiting(Connection& db, const Digest& module_digest, int64_t now) {
  std::vector<TrialRow> trials;
  RETURN_IF_ERROR(db.Each(
      LATHE_TRIAL_QUERY "WHERE r.module_digest = ? AND r.state IN ('BUILT', 'MEAS_QUEUED')",
      [&](const Row& row) { return AddTrial(row, trials); }, module_digest));
  for (const TrialRow& trial : trials) RETURN_IF_ERROR(EndAsPoison(db, trial, trial.infra_failures, now).status());
  return OkStatus();
}

StatusOr<TrialState> StateOf(Connection& db, int64_t trial_id) {
  ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, trial_id));
  return trial.state;
}

// True once a second distinct device was lost.
StatusOr<bool> BlameModule(Connection& db, const TrialRow& trial, int64_t now) {
  if (trial.state != TrialState::kRunning || !trial.module_digest.has_value() || !trial.device_id.has_value())
    return false;
  RETURN_IF_ERROR(
      db.Run("INSERT OR IGNORE INTO device_loss VALUES (?, ?, ?)", *trial.module_digest, *trial.device_id, now));
  return IsPoison(db, *trial.module_digest);
}

StatusOr<std::optional<int64_t>> FindRecord(Connection& db, const Digest& result_key) {
  return db.First<int64_t>("SELECT id FROM record WHERE result_key = ?", result_key);
}

CommitAnswer Stale(const TrialRow& trial) { return {Ack::kStale, std::nullopt, trial.state}; }

StatusOr<CommitAnswer> CommitArtifact(Connection& db, const TrialRow& trial, const BuiltArtifact& artifact,
                                      TrialState next, int64_t now) {
  if (trial.module_digest.has_value()) {  // Built again after its artifact was lost.
    RETURN_IF_ERROR(db.Run("UPDATE blob SET refs = refs - 1 WHERE digest = ? AND refs > 0", *trial.module_digest));
  }
  RETURN_IF_ERROR(db.Run(
      "INSERT INTO blob (digest, size_bytes, kind, refs, last_used_unix_ns) VALUES (?, ?, 'artifact', 1, ?) ON "
      "CONFLICT "
      "(digest) DO UPDATE SET refs = refs + 1, last_used_unix_ns = max(last_used_unix_ns, excluded.last_used_unix_ns)",
      artifact.module_digest, artifact.size_bytes, now));
  RETURN_IF_ERROR(db.Run("UPDATE trial SET module_digest = ? WHERE id = ?", artifact.module_digest, trial.id));
  RETURN_IF_ERROR(
      MoveTrial(db, trial, AttemptEnd::kReported, next, {trial.infra_failures, trial.noisy_runs}, 0, "", now));
  ASSIGN_OR_RETURN(const TrialState state, StateOf(db, trial.id));
  return CommitAnswer{Ack::kAccepted, std::nullopt, state};
}

// A build report that is not current: was it ours, said twice?
StatusOr<CommitAnswer> AnswerOldBuild(Connection& db, const TrialRow& trial, const BuildReport& result) {
  if (const auto* artifact = std::get_if<BuiltArtifact>(&result.outcome)) {
    const bool same = trial.attempt == result.attempt && trial.module_digest == artifact->module_digest;
    return CommitAnswer{same ? Ack::kDuplicate : Ack::kStale, std::nullopt, trial.state};
  }
  ASSIGN_OR_RETURN(const TaskKey key, ReadTaskKey(db, trial.task_id));
  const Digest module = trial.module_digest.value_or(Digest());
  ASSIGN_OR_RETURN(const Digest result_key, ResultKey(db, trial.id, result.attempt, 0, 0, module, key.policy_version));
  ASSIGN_OR_RETURN(const std::optional<int64_t> record, FindRecord(db, result_key));
  return CommitAnswer{record.has_value() ? Ack::kDuplicate : Ack::kStale, record, trial.state};
}

Status CheckBuildResult(const BuildReport& result, TrialState after_success) {
  CHECK(after_success == TrialState::kBuilt || after_success == TrialState::kMeasureQueued)
      << TrialStateName(after_success);
  if (const auto* failure = std::get_if<BuildFailure>(&result.outcome);
      failure != nullptr && !IsBuildFailure(failure->outcome)) {
    return InvalidArgument(fmt::format("commit build of trial {}: {} is no outcome of a build", result.trial_id,
                                       TrialStateName(failure->outcome)));
  }
  return OkStatus();
}

Status CheckMeasureResult(const RunResult& result) {
  const Status status = [&] {
    if (IsMeasureOutcome(result.outcome)) return CheckTimings(result.outcome, result.timings);
    return InvalidArgument(fmt::format("{} is no outcome of a measurement", TrialStateName(result.outcome)));
  }();
  return status.WithContext(fmt::format("commit result of trial {}", result.trial_id));
}

// Was this asked for: that attempt, of that device, under that epoch, of that module?
StatusOr<bool> WasClaimed(Connection& db, const RunResult& result) {
  ASSIGN_OR_RETURN(
      const auto claimed,
      db.First<int64_t>("SELECT 1 FROM attempt WHERE trial_id = ? AND attempt = ? AND device_id = ? AND "
                        "epoch = ? AND module_digest = ?",
                        result.trial_id, result.attempt, result.device_id, result.epoch, result.module_digest));
  return claimed.has_value();
}

// Answers a result that nobody asked for. The attempt's own device is told what is wrong with it.
StatusOr<CommitAnswer> RefuseUnclaimed(const TrialRow& trial, const RunResult& result) {
  const bool is_holders = IsHeld(trial.state) && trial.attempt == result.attempt &&
                          trial.device_id == result.device_id && trial.epoch == result.epoch;
  if (!is_holders) return Stale(trial);
  return FailedPrecondition(fmt::format(
      "commit result of trial {}: measured module {}, the trial's is {}; measure that one", trial.id,
      result.module_digest.ToHex().substr(0, 12), trial.module_digest.value_or(Digest()).ToHex().substr(0, 12)));
}

StatusOr<CommitAnswer> CommitMeasurement(Connection& db, const RunResult& result, int64_t now) {
  ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, result.trial_id));
  ASSIGN_OR_RETURN(const DeviceRow device, ReadDevice(db, result.device_id));
  ASSIGN_OR_RETURN(const TaskKey key, ReadTaskKey(db, trial.task_id));
  ASSIGN_OR_RETURN(const Digest result_key, ResultKey(db, trial.id, result.attempt, result.device_id, result.epoch,
                                                      result.module_digest, key.policy_version));
  ASSIGN_OR_RETURN(const std::optional<int64_t> known, FindRecord(db, result_key));
  if (known.has_value()) return CommitAnswer{Ack::kDuplicate, known, trial.state};

  ASSIGN_OR_RETURN(const bool was_claimed, WasClaimed(db, result));
  if (!was_claimed) return RefuseUnclaimed(trial, result);
  const bool current = IsHeld(trial.state) && trial.attempt == result.attempt;

  TuningRecord record = RecordOf(trial, result_key, result.outcome, result.error, now);
  record.attempt = result.attempt;
  record.device = device.name;
  record.epoch = result.epoch;
  record.late = !current;
  record.timings = result.timings;
  record.environment = result.environment;
  ASSIGN_OR_RETURN(const InsertedRecord inserted, InsertRecord(db, key.key_id, record));
  if (inserted.new_best)
    RETURN_IF_ERROR(AddEvent(db, now, "best", trial.job_id, *inserted.id, fmt::format("task {}", trial.task_id)));
  CommitAnswer answer{current ? Ack::kAccepted : Ack::kStale, inserted.id, trial.state, inserted.new_best};
  if (!current) return answer;
  const int64_t noisy_runs = trial.noisy_runs + (result.outcome == TrialState::kNoisy ? 1 : 0);
  const NextStep next = AfterMeasurement(result.outcome, static_cast<int>(noisy_runs));
  RETURN_IF_ERROR(MoveTrial(db, trial, AttemptEnd::kReported, next.state, {trial.infra_failures, noisy_runs},
                            now + next.backoff.count(), result.error, now));
  ASSIGN_OR_RETURN(answer.trial_state, StateOf(db, trial.id));
  return answer;
}

StatusOr<std::vector<int64_t>> OldestWaiting(Connection& db, std::string_view select, const TrialFilter& filter,
                                             int64_t now, std::string_view device_class, int64_t most) {
  const std::string sql = std::string(select) + FilterClause(filter) + " ORDER BY r.id LIMIT ?6";
  std::vector<int64_t> ids;
  RETURN_IF_ERROR(db.Each(
      sql, [&](const Row& row) { ids.push_back(row.Int(0)); }, filter.job_id, filter.task_id, filter.trial_id, now,
      device_class, most));
  return ids;
}

Status CheckLeaseInForce(Connection& db, int64_t device_id, int64_t epoch) {
  ASSIGN_OR_RETURN(const auto lease,
                   db.First<int64_t>("SELECT id FROM lease WHERE device_id = ? AND epoch = ? AND state = 'GRANTED'",
                                     device_id, epoch));
  if (lease.has_value()) return OkStatus();
  return FailedPrecondition(
      fmt::format("claim for device {} epoch {}: this lease has ended; ask for a new one", device_id, epoch));
}

}  // namespace

StatusOr<TrialRow> ReadTrial(Connection& db, int64_t trial_id) {
  std::vector<TrialRow> trials;
  RETURN_IF_ERROR(
      db.Each(LATHE_TRIAL_QUERY "WHERE r.id = ?", [&](const Row& row) { return AddTrial(row, trials); }, trial_id));
  if (trials.empty()) return NotFound(fmt::format("read trial {}: no such trial", trial_id));
  return std::move(trials.front());
}

Status ReturnToQueue(Connection& db, const TrialRow& trial, int64_t now) {
  const TrialState queue = trial.state == TrialState::kBuilding ? TrialState::kBuildQueued : TrialState::kMeasureQueued;
  return MoveTrial(db, trial, AttemptEnd::kReturned, queue, {trial.infra_failures, trial.noisy_runs}, 0, trial.error,
                   now);
}

Status EndIfPoison(Connection& db, int64_t trial_id, int64_t now) {
  ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, trial_id));
  if (!trial.module_digest.has_value()) return OkStatus();
  ASSIGN_OR_RETURN(const bool poison, IsPoison(db, *trial.module_digest));
  return poison ? EndAsPoison(db, trial, trial.infra_failures, now).status() : OkStatus();
}

Status CancelTrial(Connection& db, const TrialRow& trial, int64_t now) {
  return MoveTrial(db, trial, AttemptEnd::kReturned, TrialState::kCancelled, {trial.infra_failures, trial.noisy_runs},
                   0, "", now);
}

StatusOr<TrialState> CountInfraFailure(Connection& db, const TrialRow& trial, InfraFailure failure,
                                       std::string_view error, int64_t now) {
  const std::string words =
      error.empty() ? std::string(InfraFailureName(failure)) : fmt::format("{}: {}", InfraFailureName(failure), error);
  const int64_t failures = trial.infra_failures + 1;
  if (failure == InfraFailure::kDeviceLost) {
    ASSIGN_OR_RETURN(const bool poison, BlameModule(db, trial, now));
    if (poison) {
      RETURN_IF_ERROR(EndAsPoison(db, trial, failures, now).status());
      RETURN_IF_ERROR(PoisonWaiting(db, *trial.module_digest, now));
      return TrialState::kPoison;
    }
  }
  const NextStep next = AfterInfraFailure(trial.state, failure, static_cast<int>(failures));
  RETURN_IF_ERROR(MoveTrial(db, trial, AttemptEnd::kFailed, next.state, {failures, trial.noisy_runs},
                            now + next.backoff.count(), words, now));
  return StateOf(db, trial.id);
}

StatusOr<TaskKey> ReadTaskKey(Connection& db, int64_t task_id) {
  TaskKey key{};
  RETURN_IF_ERROR(db.Each(
      "SELECT k.id, k.policy_version FROM task t JOIN tuning_key k ON k.id = t.key_id WHERE t.id = ?",
      [&](const Row& row) { key = {row.Int(0), row.Int(1)}; }, task_id));
  return key;
}

Status CheckTakesTrials(Connection& db, int64_t task_id) {
  ASSIGN_OR_RETURN(const auto state, db.First<std::string>("SELECT state FROM task WHERE id = ?", task_id));
  if (!state.has_value()) return NotFound(fmt::format("propose trials for task {}: no such task", task_id));
  if (*state == "QUEUED" || *state == "RUNNING") return OkStatus();
  return FailedPrecondition(
      fmt::format("propose trials for task {}: it is {}; only an open task takes trials", task_id, *state));
}

StatusOr<std::vector<std::optional<int64_t>>> SqliteStore::ProposeTrials(int64_t task_id,
                                                                         std::span<const NewTrial> trials,
                                                                         TrialState initial) {
  const int64_t now = time_.Now();
  CHECK(initial == TrialState::kProposed || initial == TrialState::kBuildQueued) << TrialStateName(initial);
  return WriteAfter([&](Connection& db) -> StatusOr<std::vector<std::optional<int64_t>>> {
    RETURN_IF_ERROR(CheckTakesTrials(db, task_id));
    std::vector<std::optional<int64_t>> ids;
    for (const NewTrial& trial : trials) {
      ASSIGN_OR_RETURN(const int64_t trace_id, InternTrace(db, trial.trace_digest, trial.trace_json));
      RETURN_IF_ERROR(
          db.Run("INSERT OR IGNORE INTO trial (task_id, trace_id, predicted_score, seed, state, attempt, "
                 "infra_failures, noisy_runs, "
                 "not_before_unix_ns, error, updated_unix_ns) VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, '', ?)",
                 task_id, trace_id, trial.predicted_score, trial.seed, TrialStateName(initial), now));
      ids.push_back(db.changes() == 1 ? std::optional(db.last_insert_id()) : std::nullopt);
    }
    return ids;
  });
}

std::vector<StatusOr<bool>> SqliteStore::AdvanceTrials(std::span<const AttemptFence> fences, TrialState to) {
  const int64_t now = time_.Now();
  CHECK(to == TrialState::kBuildQueued || to == TrialState::kMeasureQueued || to == TrialState::kRunning)
      << TrialStateName(to);
  const TrialState from = to == TrialState::kBuildQueued ? TrialState::kProposed
                          : to == TrialState::kRunning   ? TrialState::kAssigned
                                                         : TrialState::kBuilt;
  const auto advance = [&](Connection& db, const AttemptFence& fence) -> StatusOr<bool> {
    ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, fence.trial_id));
    if (!IsUnder(trial, fence)) return false;
    if (trial.state == to) return true;  // Said twice.
    if (trial.state != from) return false;
    RETURN_IF_ERROR(
        db.Run("UPDATE trial SET state = ?, updated_unix_ns = ? WHERE id = ?", TrialStateName(to), now, trial.id));
    if (to == TrialState::kMeasureQueued) RETURN_IF_ERROR(EndIfPoison(db, trial.id, now));
    return true;
  };
  return WriteEach(fences, Durability::kProcess, advance);
}

StatusOr<std::vector<TrialRow>> SqliteStore::ClaimBuilds(std::string_view worker, int64_t slot,
                                                         const TrialFilter& filter, int64_t most) {
  const int64_t now = time_.Now();
  if (worker.empty()) return InvalidArgument("claim for build: the worker's name is empty");
  return WriteSoft([&](Connection& db) -> StatusOr<std::vector<TrialRow>> {
    ASSIGN_OR_RETURN(
        const std::vector<int64_t> ids,
        OldestWaiting(db,
                      "SELECT r.id FROM trial r WHERE r.state = 'BUILD_QUEUED' AND r.not_before_unix_ns <= ?4 "
                      "AND ?5 = ''",
                      filter, now, "", most));
    std::vector<TrialRow> trials;
    for (const int64_t id : ids) {
      RETURN_IF_ERROR(db.Run(
          "UPDATE trial SET state = 'BUILDING', attempt = attempt + 1, worker = ?, slot = ?, updated_unix_ns = ? "
          "WHERE id = ?",
          worker, slot, now, id));
      RETURN_IF_ERROR(
          db.Run("INSERT INTO attempt (trial_id, attempt, worker, state, claimed_unix_ns) SELECT id, attempt, worker, "
                 "'HELD', ?2 FROM trial WHERE id = ?1",
                 id, now));
      ASSIGN_OR_RETURN(TrialRow trial, ReadTrial(db, id));
      trials.push_back(std::move(trial));
    }
    return trials;
  });
}

std::vector<StatusOr<CommitAnswer>> SqliteStore::CommitBuilds(std::span<const BuildReport> results,
                                                              TrialState after_success) {
  const int64_t now = time_.Now();
  const auto commit = [&](Connection& db, const BuildReport& result) -> StatusOr<CommitAnswer> {
    RETURN_IF_ERROR(CheckBuildResult(result, after_success));
    ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, result.trial_id));
    if (trial.state != TrialState::kBuilding || trial.attempt != result.attempt)
      return AnswerOldBuild(db, trial, result);
    if (const auto* artifact = std::get_if<BuiltArtifact>(&result.outcome))
      return CommitArtifact(db, trial, *artifact, after_success, now);
    const auto& failure = std::get<BuildFailure>(result.outcome);
    return EndWithoutDevice(db, trial, AttemptEnd::kReported, failure.outcome, result.environment, failure.error,
                            trial.infra_failures, now);
  };
  // An artifact can be built again; a failure is a record.
  const bool are_artifacts = std::ranges::all_of(
      results, [](const BuildReport& result) { return std::holds_alternative<BuiltArtifact>(result.outcome); });
  return WriteEach(results, are_artifacts ? Durability::kProcess : Durability::kPowerLossAfter, commit);
}

std::vector<StatusOr<std::optional<TrialRow>>> SqliteStore::ClaimMeasurements(std::span<const MeasureClaim> claims) {
  const int64_t now = time_.Now();
  const auto claim_one = [&](Connection& db, const MeasureClaim& claim) -> StatusOr<std::optional<TrialRow>> {
    const auto& [device_id, epoch, filter] = claim;
    ASSIGN_OR_RETURN(const DeviceRow device, ReadDevice(db, device_id));
    RETURN_IF_ERROR(CheckLeaseInForce(db, device_id, epoch));
    ASSIGN_OR_RETURN(
        const std::vector<int64_t> ids,
        OldestWaiting(db,
                      "SELECT r.id FROM trial r JOIN task t ON t.id = r.task_id JOIN tuning_key k ON k.id = t.key_id "
                      "WHERE r.state = 'MEAS_QUEUED' AND r.not_before_unix_ns <= ?4 AND k.device_class = ?5",
                      filter, now, device.device_class, 1));
    if (ids.empty()) return std::optional<TrialRow>();
    const int64_t id = ids.front();
    RETURN_IF_ERROR(
        db.Run("UPDATE trial SET state = 'ASSIGNED', attempt = attempt + 1, device_id = ?, epoch = ?, updated_unix_ns "
               "= ? WHERE id = ?",
               device_id, epoch, now, id));
    RETURN_IF_ERROR(
        db.Run("INSERT INTO attempt (trial_id, attempt, device_id, epoch, module_digest, state, claimed_unix_ns) "
               "SELECT id, attempt, device_id, epoch, module_digest, 'HELD', ?2 FROM trial WHERE id = ?1",
               id, now));
    ASSIGN_OR_RETURN(TrialRow trial, ReadTrial(db, id));
    return std::optional(std::move(trial));
  };
  return WriteEach(claims, Durability::kProcess, claim_one);
}

StatusOr<CommitAnswer> SqliteStore::CommitResult(const RunResult& result) {
  const int64_t now = time_.Now();
  RETURN_IF_ERROR(CheckMeasureResult(result));
  return WriteAfter([&](Connection& db) { return CommitMeasurement(db, result, now); });
}

StatusOr<CommitAnswer> SqliteStore::FailAttempt(const AttemptFence& fence, InfraFailure failure,
                                                std::string_view error) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<CommitAnswer> {
    ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, fence.trial_id));
    if (!IsHeld(trial.state) || !IsUnder(trial, fence)) return Stale(trial);
    ASSIGN_OR_RETURN(const TrialState next, CountInfraFailure(db, trial, failure, error, now));
    return CommitAnswer{Ack::kAccepted, std::nullopt, next};
  });
}

StatusOr<std::vector<int64_t>> SqliteStore::LoseWorker(std::string_view worker) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<std::vector<int64_t>> {
    std::vector<TrialRow> trials;
    RETURN_IF_ERROR(db.Each(
        LATHE_TRIAL_QUERY "WHERE r.worker = ? ORDER BY r.id", [&](const Row& row) { return AddTrial(row, trials); },
        worker));
    std::vector<int64_t> ids;
    for (const TrialRow& trial : trials) {
      RETURN_IF_ERROR(CountInfraFailure(db, trial, InfraFailure::kWorkerLost, worker, now).status());
      ids.push_back(trial.id);
    }
    return ids;
  });
}

StatusOr<std::vector<AttemptRow>> SqliteStore::ListAttempts(int64_t trial_id) {
  return Read([&](Connection& db) -> StatusOr<std::vector<AttemptRow>> {
    std::vector<AttemptRow> attempts;
    RETURN_IF_ERROR(db.Each(
        "SELECT a.attempt, ifnull(a.worker, ''), ifnull(d.name, ''), ifnull(a.epoch, 0), a.state, a.error, "
        "a.claimed_unix_ns, ifnull(a.ended_unix_ns, 0) FROM attempt a LEFT JOIN device d ON d.id = a.device_id "
        "WHERE a.trial_id = ? ORDER BY a.attempt",
        [&](const Row& row) {
          attempts.push_back({row.Int(0), row.String(1), row.String(2), row.Int(3), row.String(4), row.String(5),
                              row.Int(6), row.Int(7)});
        },
        trial_id));
    return attempts;
  });
}

StatusOr<TrialRow> SqliteStore::GetTrial(int64_t trial_id) {
  return Read([&](Connection& db) { return ReadTrial(db, trial_id); });
}

StatusOr<std::vector<TrialRow>> SqliteStore::ListTrials(const TrialFilter& filter, const Page& page) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<TrialRow>> {
    const std::string_view holder = HolderClause(filter);
    // A plus keeps the planner from walking along the ids instead.
    const std::string sql = std::string(holder.empty() ? LATHE_TRIAL_QUERY "WHERE r.id > ?4 AND ?6 IS NULL"
                                                       : LATHE_TRIAL_QUERY "WHERE +r.id > ?4") +
                            StateClause(filter.states) + std::string(holder) +
                            (filter.only_finals ? " AND t.final_round > 0" : "") + FilterClause(filter) +
                            (holder.empty() ? " ORDER BY r.id LIMIT ?5" : " ORDER BY +r.id LIMIT ?5");
    std::vector<TrialRow> trials;
    RETURN_IF_ERROR(db.Each(
        sql, [&](const Row& row) { return AddTrial(row, trials); }, filter.job_id, filter.task_id, filter.trial_id,
        page.after_id, page.limit, filter.device_id));
    return trials;
  });
}

StatusOr<TaskCounts> SqliteStore::CountTrials(int64_t task_id) {
  return Read([&](Connection& db) -> StatusOr<TaskCounts> {
    TaskCounts counts;
    RETURN_IF_ERROR(db.Each(
        "SELECT state, trials FROM trial_count WHERE task_id = ?",
        [&](const Row& row) -> Status {
          ASSIGN_OR_RETURN(const TrialState state, ReadTrialState(row, 0));
          counts.by_state[static_cast<size_t>(state)] = row.Int(1);
          if (SpendsBudget(state)) counts.trials_done += row.Int(1);
          if (!IsTerminal(state)) counts.trials_open += row.Int(1);
          return OkStatus();
        },
        task_id));
    return counts;
  });
}

}  // namespace lathe
