// Finals: rounds in which the best candidates of a task are measured again, and their outcome. A round is a task of its
// own below the task, so that its trials live like any others and count for nothing else.
#include <fmt/core.h>

#include "support/sqlite.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;

StatusOr<int64_t> InternRound(Connection& db, int64_t task_id, int64_t round) {
  RETURN_IF_ERROR(
      db.Run("INSERT OR IGNORE INTO task (job_id, position, key_id, name, weight, trial_budget, state, parent_id, "
             "final_round) SELECT job_id, (SELECT max(position) + 1 FROM task o WHERE o.job_id = p.job_id), key_id, "
             "name, weight, 0, 'RUNNING', id, ?2 FROM task p WHERE id = ?1",
             task_id, round));
  ASSIGN_OR_RETURN(const auto id,
                   db.First<int64_t>("SELECT id FROM task WHERE parent_id = ? AND final_round = ?", task_id, round));
  return id.value_or(0);
}

// Nullopt: the round has it already.
StatusOr<std::optional<TrialRow>> AddFinalist(Connection& db, int64_t round_id, const NewFinalist& finalist,
                                              int64_t now) {
  std::optional<int64_t> blob;
  if (finalist.module_digest) {
    ASSIGN_OR_RETURN(blob, db.First<int64_t>("SELECT 1 FROM blob WHERE digest = ?", *finalist.module_digest));
  }
  ASSIGN_OR_RETURN(const int64_t trace_id, InternTrace(db, finalist.trace_digest, finalist.trace_json));
  const TrialState state = blob ? TrialState::kMeasureQueued : TrialState::kBuildQueued;
  RETURN_IF_ERROR(
      db.Run("INSERT OR IGNORE INTO trial (task_id, trace_id, predicted_score, seed, state, attempt, infra_failures, "
             "noisy_runs, not_before_unix_ns, module_digest, error, updated_unix_ns) VALUES (?, ?, NULL, ?, ?, 0, 0, "
             "?, 0, ?, '', ?)",
             round_id, trace_id, finalist.seed, TrialStateName(state), kMaxNoisyRuns - 1,
             blob ? finalist.module_digest : std::nullopt, now));
  if (db.changes() == 0) return std::optional<TrialRow>();
  const int64_t id = db.last_insert_id();
  if (blob) {
    RETURN_IF_ERROR(db.Run("UPDATE blob SET refs = refs + 1 WHERE digest = ?", *finalist.module_digest));
    RETURN_IF_ERROR(EndIfPoison(db, id, now));
  }
  ASSIGN_OR_RETURN(TrialRow trial, ReadTrial(db, id));
  return std::optional(std::move(trial));
}

}  // namespace

StatusOr<std::vector<TrialRow>> SqliteStore::BeginFinalRound(int64_t task_id, int64_t round,
                                                             std::span<const NewFinalist> finalists) {
  const int64_t now = time_.Now();
  CHECK(round > 0) << round;
  return Write([&](Connection& db) -> StatusOr<std::vector<TrialRow>> {
    RETURN_IF_ERROR(CheckTakesTrials(db, task_id));
    ASSIGN_OR_RETURN(const int64_t round_id, InternRound(db, task_id, round));
    std::vector<TrialRow> added;
    for (const NewFinalist& finalist : finalists) {
      ASSIGN_OR_RETURN(std::optional<TrialRow> trial, AddFinalist(db, round_id, finalist, now));
      if (trial) added.push_back(*std::move(trial));
    }
    return added;
  });
}

StatusOr<bool> SqliteStore::DecideFinals(int64_t task_id) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<bool> {
    ASSIGN_OR_RETURN(const TaskKey key, ReadTaskKey(db, task_id));
    ASSIGN_OR_RETURN(const auto winner, DecideBest(db, key.key_id, task_id));
    if (!winner) return false;
    ASSIGN_OR_RETURN(const auto job_id, db.First<int64_t>("SELECT job_id FROM task WHERE id = ?", task_id));
    RETURN_IF_ERROR(AddEvent(db, now, "best", job_id, *winner, fmt::format("task {}", task_id)));
    return true;
  });
}

}  // namespace lathe
