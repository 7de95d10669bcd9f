// What searches say of their cost models.
#include <fmt/core.h>

#include "support/sqlite.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

ModelRound ReadModelRound(const Row& row) {
  return {.trials = row.Int(0),
          .at_unix_ns = row.Int(1),
          .batch = row.Int(2),
          .rows = row.Int(3),
          .pairs = row.Int(4),
          .pairs_right = row.Int(5),
          .regret_at_1 = row.Real(6),
          .regret_at_8 = row.Real(7),
          .refitted = row.Int(8) != 0,
          .trees = row.Int(9),
          .draft_weight = row.Real(10)};
}

}  // namespace

Status SqliteStore::RecordModelRound(int64_t task_id, const ModelRound& round) {
  const int64_t now = time_.Now();
  return WriteSoft([&](Connection& db) -> Status {
    ASSIGN_OR_RETURN(const auto task, db.First<int64_t>("SELECT id FROM task WHERE id = ?", task_id));
    if (!task) return NotFound(fmt::format("record a model round of task {}: no such task", task_id));
    return db.Run(
        "INSERT OR REPLACE INTO model_round (task_id, trials, at_unix_ns, batch, rows, pairs, pairs_right, "
        "regret_at_1, regret_at_8, refitted, trees, draft_weight) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        task_id, round.trials, now, round.batch, round.rows, round.pairs, round.pairs_right, round.regret_at_1,
        round.regret_at_8, int64_t{round.refitted}, round.trees, round.draft_weight);
  });
}

StatusOr<std::vector<ModelRound>> SqliteStore::ListModelRounds(int64_t task_id) {
  return Read([&](Connection& db) -> StatusOr<std::vector<ModelRound>> {
    std::vector<ModelRound> rounds;
    RETURN_IF_ERROR(db.Each(
        "SELECT trials, at_unix_ns, batch, rows, pairs, pairs_right, regret_at_1, regret_at_8, refitted, trees, "
        "draft_weight FROM model_round WHERE task_id = ? ORDER BY trials",
        [&](const Row& row) { rounds.push_back(ReadModelRound(row)); }, task_id));
    return rounds;
  });
}

}  // namespace lathe
