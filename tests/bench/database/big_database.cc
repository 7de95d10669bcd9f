#include "tests/bench/database/big_database.h"

#include <fmt/core.h>

#include "compiler/codegen/llvm/compile_module.h"
#include "support/check.h"
#include "support/sqlite.h"
#include "tuner/job/job_spec.h"

namespace lathe {
namespace {

using sqlite::Connection;

constexpr char kTarget[] = "llvm -mcpu=x86-64-v3 -num-cores=1";

void Must(const Status& status) { CHECK(status.ok()) << status.ToString(); }

// Row `i` of `n`, which is as long as it must be.
std::string Rows(int64_t from, int64_t to) {
  return fmt::format("WITH RECURSIVE n(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n WHERE i < {}) ", from, to);
}
// 32 bytes, spread over the range of digests as digests are.
constexpr char kDigestOfRow[] = "CAST(printf('%016x%016d', i * 2654435761 % 4294967296, i) AS BLOB)";

constexpr char kTrialColumns[] =
    "INSERT INTO trial (id, task_id, trace_id, predicted_score, seed, state, attempt, infra_failures, noisy_runs, "
    "not_before_unix_ns, device_id, epoch, module_digest, error, updated_unix_ns) SELECT i, ";
constexpr char kAttemptColumns[] =
    "INSERT INTO attempt (trial_id, attempt, worker, device_id, epoch, module_digest, state, claimed_unix_ns, "
    "ended_unix_ns) ";

void InsertTraces(Connection& db, const std::string& rows, const std::string& json) {
  Must(db.Execute(rows + fmt::format("INSERT INTO trace SELECT i, {}, {} FROM n", kDigestOfRow, json)));
}

// Counted at once and not by triggers, which would take as long as all the rest.
void InsertTrials(Connection& db, const BigDatabase& big, int64_t now) {
  std::string triggers;
  Must(db.Each("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'",
               [&](const sqlite::Row& row) { triggers += row.String(1) + ";"; }));
  Must(
      db.Execute("DROP TRIGGER trial_counted; DROP TRIGGER trial_moved; CREATE TEMP TABLE text (t INTEGER PRIMARY "
                 "KEY, json TEXT)"));
  for (size_t t = 0; t < big.traces.size(); ++t)
    Must(db.Run("INSERT INTO text VALUES (?, ?)", static_cast<int64_t>(t), big.traces[t]));
  const std::string rows = Rows(1, big.trials);
  InsertTraces(db, rows,
               big.traces.empty() ? "printf('%0300d', i)"
                                  : fmt::format("(SELECT json FROM text WHERE t = i % {})", big.traces.size()));
  Must(db.Execute(rows + kTrialColumns +
                  fmt::format("1 + i % {}, i, 0.5, i, 'OK', 2, 0, 0, 0, NULL, NULL, {}, '', {} FROM n", big.keys,
                              kDigestOfRow, now)));
  Must(db.Execute("INSERT INTO trial_count SELECT task_id, 'OK', count(*) FROM trial GROUP BY task_id; " + triggers));
}

void InsertRecords(Connection& db, const BigDatabase& big, int64_t now) {
  const std::string rows = Rows(1, big.trials);
  Must(db.Execute(
      rows +
      fmt::format(
          "INSERT INTO record (id, result_key, key_id, trace_id, trial_id, attempt, device, epoch, module_digest, "
          "status, late, median_ns, min_ns, p90_ns, mad_ns, ci_low_ns, ci_high_ns, runs, samples_ns, environment_id, "
          "seed, error, committed_unix_ns) SELECT i, {0}, 1 + i % {1}, i, i, 2, 'd', 1, {0}, 'OK', 0, m, m * 0.9, m * "
          "1.1, m * 0.01, m * 0.99, m * 1.01, 20, zeroblob(160), 1, i, '', {2} FROM (SELECT i, 1000 + i * 48271 % "
          "99991 AS m FROM n)",
          kDigestOfRow, big.keys, now)));
  Must(
      db.Execute("INSERT INTO best (key_id, record_id, status, median_ns) SELECT key_id, id, 'OK', min(median_ns) FROM "
                 "record GROUP BY key_id; UPDATE tuning_key SET measured = (SELECT count(*) FROM record WHERE key_id "
                 "= tuning_key.id)"));
}

// Two attempts, an event and an unreferenced blob for each.
void InsertLeftovers(Connection& db, const BigDatabase& big, int64_t now) {
  const std::string rows = Rows(1, big.trials);
  Must(db.Execute(rows + kAttemptColumns +
                  fmt::format("SELECT i, 1, 'w', NULL, NULL, NULL, 'REPORTED', {0}, {0} "
                              "FROM n UNION ALL SELECT i, 2, NULL, {1}, 1, {2}, 'REPORTED', {0}, {0} FROM n",
                              now, big.device_id, kDigestOfRow)));
  Must(db.Execute(rows + fmt::format("INSERT INTO event (at_unix_ns, kind, job_id, subject_id, detail) SELECT {}, "
                                     "'trial', {}, i, 'OK' FROM n",
                                     now, big.job_id)));
  Must(db.Execute(rows + fmt::format("INSERT INTO blob SELECT {}, 1000, 'artifact', 0, {} FROM n", kDigestOfRow, now)));
}

}  // namespace

Timings BigTimings(double median) {
  return {median,        median * 0.9,  median * 1.1, median * 0.01,
          median * 0.99, median * 1.01, 20,           std::vector<double>(20, median)};
}

TuningKey BigDatabase::KeyOf(int64_t n) const {
  const Digest made_up = Sha256(fmt::format("big {}", n));
  return {n == 0 && workload != Digest() ? workload : made_up, kTarget, "rpi4", "warm-weights",
          {kCodegenVersion / 1000, kCodegenVersion % 1000},    1};
}

Digest BigDatabase::ModuleOf(int64_t trial) const {
  const std::string text = fmt::format("{:016x}{:016}", trial * 2654435761 % 4294967296, trial);
  Digest digest;
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(digest.bytes.data()));
  return digest;
}

void BigDatabase::Make() const {
  {
    auto store = *SqliteStore::Open(path);
    NewJob job{"big", "big", JobSpec{.total_trials = 0}.ToJson(), {}};
    for (int64_t n = 0; n < keys; ++n) {
      const TuningKey key = KeyOf(n);
      Must(store->PutWorkload({key.workload, fmt::format("f{}", n), workload_text}).status());
      job.tasks.push_back({key, fmt::format("f{}", n), 1, 2 * (trials + 1)});
    }
    CHECK(store->CreateJob(job)->job.id == job_id) << "job";
    CHECK(store->RegisterDevice({"d", "rpi4", "{}", 0})->id == device_id) << "device";
    CHECK(store->GrantLease(device_id, "job", std::chrono::hours(100), 0)->epoch == epoch) << "lease";
  }
  const int64_t now = SystemClock().UnixNanos();
  auto db = *Connection::Open(path, Connection::Mode::kReadWrite);
  Must(
      db->Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA "
                  "temp_store = MEMORY; BEGIN; INSERT INTO environment VALUES (1, zeroblob(32), '{}')"));
  InsertTrials(*db, *this, now);
  InsertRecords(*db, *this, now);
  if (has_leftovers) InsertLeftovers(*db, *this, now);
  Must(db->Execute("COMMIT; PRAGMA journal_mode = WAL"));
}

int64_t BigDatabase::AddRunning(int64_t count) const {
  const int64_t now = SystemClock().UnixNanos();
  auto db = *Connection::Open(path, Connection::Mode::kReadWrite);
  const int64_t first = (*db->First<int64_t>("SELECT max(id) + 1 FROM trace")).value_or(1);
  const std::string rows = Rows(first, first + count - 1);
  Must(db->Execute("BEGIN"));
  InsertTraces(*db, rows, "printf('%0300d', i)");
  Must(db->Execute(rows + kTrialColumns +
                   fmt::format("1, i, 0.5, i, 'RUNNING', 2, 0, 0, 0, {}, {}, {}, '', {} FROM n", device_id, epoch,
                               kDigestOfRow, now)));
  Must(db->Execute(
      rows + kAttemptColumns +
      fmt::format("SELECT i, 2, NULL, {}, {}, {}, 'HELD', {}, NULL FROM n", device_id, epoch, kDigestOfRow, now)));
  Must(
      db->Execute(rows + fmt::format("INSERT INTO blob SELECT {}, 1000, 'artifact', 1, {} FROM n", kDigestOfRow, now)));
  Must(db->Execute("COMMIT"));
  return first;
}

}  // namespace lathe
