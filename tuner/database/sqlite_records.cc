// Records and what is asked of them. `best` changes only here, in the transaction that adds the record.
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "support/sqlite.h"
#include "tuner/database/finals.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

static_assert(std::endian::native == std::endian::little, "samples are stored as little-endian float64");

std::string PackSamples(const std::vector<double>& samples) {
  return std::string(reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(double));
}
std::vector<double> UnpackSamples(std::string_view bytes) {
  std::vector<double> samples(bytes.size() / sizeof(double));
  if (!samples.empty()) std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(double));
  return samples;
}

// `r` is the record. The last column is its samples, or NULL where nobody needs them.
#define LATHE_RECORD_QUERY(samples)                                                                                    \
  "SELECT r.id, r.result_key, c.digest, c.json, r.trial_id, r.attempt, r.device, r.epoch, r.module_digest, r.status, " \
  "r.late, r.median_ns, "                                                                                              \
  "r.min_ns, r.p90_ns, r.mad_ns, r.ci_low_ns, r.ci_high_ns, r.runs, e.facts, r.seed, r.error, "                        \
  "r.committed_unix_ns, " LATHE_KEY_COLUMNS ", r.max_error, r.final_round, " samples                                   \
  " FROM record r JOIN tuning_key k ON k.id = r.key_id" LATHE_KEY_JOINS                                                \
  "JOIN trace c ON c.id = r.trace_id JOIN environment e ON e.id = r.environment_id "

Status AddRecord(const Row& row, std::vector<TuningRecord>& records) {
  ASSIGN_OR_RETURN(const TrialState status, ReadTrialState(row, 9));
  TuningRecord record{.id = row.Int(0),
                      .result_key = row.Sha(1),
                      .key = ReadKey(row, 22),
                      .trace_digest = row.Sha(2),
                      .trace_json = row.String(3),
                      .trial_id = row.MaybeInt(4),
                      .attempt = row.Int(5),
                      .device = row.String(6),
                      .epoch = row.Int(7),
                      .module_digest = row.MaybeSha(8),
                      .status = status,
                      .late = row.Int(10) != 0,
                      .final_round = row.Int(29)};
  if (!row.IsNull(11)) {
    record.timings = Timings{row.Real(11),
                             row.Real(12),
                             row.Real(13),
                             row.Real(14),
                             row.Real(15),
                             row.Real(16),
                             row.Int(17),
                             UnpackSamples(row.Blob(30)),
                             row.IsNull(28) ? std::nullopt : std::optional(row.Real(28))};
  }
  record.environment = row.String(18);
  record.seed = static_cast<uint64_t>(row.Int(19));
  record.error = row.String(20);
  record.committed_unix_ns = row.Int(21);
  records.push_back(std::move(record));
  return OkStatus();
}

constexpr int64_t kManyTraces = 10'000, kRowsScannedPerLookUp = 20;  // In the same time.

// A NOISY record is better than none: it stands until the first OK one. What won a final stands until the next final.
// Ties keep the older record, so that the answer does not change without a reason.
StatusOr<bool> UpdateBest(Connection& db, int64_t key_id, int64_t record_id, TrialState status, double median_ns) {
  if (!IsTimed(status)) return false;
  RETURN_IF_ERROR(db.Run(
      "INSERT INTO best (key_id, record_id, status, median_ns) VALUES (?, ?, ?, ?) ON CONFLICT (key_id) DO UPDATE SET "
      "record_id = excluded.record_id, status = excluded.status, median_ns = excluded.median_ns WHERE "
      "best.final_round = 0 AND ((excluded.status = 'OK' AND best.status <> 'OK') OR (excluded.status = best.status "
      "AND excluded.median_ns < "
      "best.median_ns))",
      key_id, record_id, TrialStateName(status), median_ns));
  return db.changes() == 1;
}

constexpr std::string_view kBestSql = LATHE_RECORD_QUERY("NULL")
    "WHERE r.id = (SELECT b.record_id FROM tuning_key q JOIN best b ON b.key_id = q.id "
    "WHERE q.workload_id = (SELECT id FROM workload WHERE digest = ?1) "
    "AND q.target_id = (SELECT id FROM target WHERE canonical = ?2) "
    "AND q.device_class = ?3 AND q.cache_regime = ?4 AND q.codegen_version <= ?5 AND q.policy_version <= ?6 "
    "ORDER BY q.codegen_version DESC, q.policy_version DESC LIMIT 1)";

std::string VersionWords(const TuningKey& key) {
  return fmt::format("codegen {}, policy {}", key.codegen_version.ToString(), key.policy_version);
}

// What the database holds for this workload instead, so that a MISS tells its reason.
StatusOr<std::string> ExplainMiss(Connection& db, const TuningKey& key) {
  std::vector<std::string> others;
  RETURN_IF_ERROR(db.Each(
      "SELECT " LATHE_KEY_COLUMNS " FROM best b JOIN tuning_key k ON k.id = b.key_id" LATHE_KEY_JOINS
      "WHERE w.digest = ? ORDER BY k.id LIMIT 4",
      [&](const Row& row) {
        const TuningKey other = ReadKey(row, 0);
        others.push_back(fmt::format("target \"{}\" on {} ({}, {})", other.target, other.device_class,
                                     other.cache_regime, VersionWords(other)));
      },
      key.workload));
  const std::string wanted =
      fmt::format("target \"{}\" on {} ({}, {})", key.target, key.device_class, key.cache_regime, VersionWords(key));
  if (others.empty()) return fmt::format("no record of workload {}; tune it", key.workload.ToHex().substr(0, 12));
  std::string held = others[0];
  for (size_t i = 1; i < others.size(); ++i) held += i == 3 ? ", ..." : ", " + others[i];
  return fmt::format("no record of workload {} for {}; there is one for {}", key.workload.ToHex().substr(0, 12), wanted,
                     held);
}

StatusOr<BestAnswer> LookUp(Connection& db, const TuningKey& key) {
  std::vector<TuningRecord> found;
  RETURN_IF_ERROR(db.Each(
      kBestSql, [&](const Row& row) { return AddRecord(row, found); }, key.workload, key.target, key.device_class,
      key.cache_regime, PackCodegen(key.codegen_version), key.policy_version));
  if (found.empty()) {
    ASSIGN_OR_RETURN(std::string why, ExplainMiss(db, key));
    return BestAnswer{Lookup::kMiss, std::nullopt, std::move(why)};
  }
  if (found.front().key == key) return BestAnswer{Lookup::kHit, std::move(found.front()), ""};
  std::string why = fmt::format("measured with {}; asked for {}; tune again to confirm it",
                                VersionWords(found.front().key), VersionWords(key));
  return BestAnswer{Lookup::kStale, std::move(found.front()), std::move(why)};
}

}  // namespace

Status CheckImported(const TuningRecord& record) {
  if (HasRecord(record.status)) return CheckTimings(record.status, record.timings);
  return InvalidArgument(fmt::format("status {} makes no record", TrialStateName(record.status)));
}

Status CheckTimings(TrialState status, const std::optional<Timings>& timings) {
  if (!HasTimings(status)) {
    return timings.has_value()
               ? InvalidArgument(fmt::format("{} comes with timings; a failure has none", TrialStateName(status)))
               : OkStatus();
  }
  if (!timings.has_value()) return InvalidArgument(fmt::format("{} comes without timings", TrialStateName(status)));
  const Timings& t = *timings;
  bool finite = true;
  for (const double value : {t.median_ns, t.min_ns, t.p90_ns, t.mad_ns, t.ci_low_ns, t.ci_high_ns})
    finite &= std::isfinite(value) && value >= 0;
  for (const double value : t.samples_ns) finite &= std::isfinite(value) && value >= 0;
  if (t.max_error && !(std::isfinite(*t.max_error) && *t.max_error >= 0))
    return InvalidArgument(fmt::format("largest error {}: a finite number from 0 on required", *t.max_error));
  const bool ordered = t.median_ns > 0 && t.min_ns <= t.median_ns && t.median_ns <= t.p90_ns &&
                       t.ci_low_ns <= t.ci_high_ns && t.runs > 0;
  if (finite && ordered) return OkStatus();
  return InvalidArgument(fmt::format(
      "timings min {} <= median {} <= p90 {}, interval {} to {}, mad {}, {} runs: finite numbers in that order, a "
      "median above 0 and at least one run required",
      t.min_ns, t.median_ns, t.p90_ns, t.ci_low_ns, t.ci_high_ns, t.mad_ns, t.runs));
}

StatusOr<InsertedRecord> InsertRecord(Connection& db, int64_t key_id, const TuningRecord& record) {
  ASSIGN_OR_RETURN(const int64_t trace_id, InternTrace(db, record.trace_digest, record.trace_json));
  ASSIGN_OR_RETURN(const int64_t environment_id, InternEnvironment(db, record.environment));
  ASSIGN_OR_RETURN(const auto known, db.First<int64_t>("SELECT 1 FROM record WHERE key_id = ? AND trace_id = ? AND "
                                                       "late = 0 LIMIT 1",
                                                       key_id, trace_id));
  const auto timing = [&](double Timings::* field) {
    return record.timings.has_value() ? std::optional((*record.timings).*field) : std::nullopt;
  };
  const std::string samples = record.timings.has_value() ? PackSamples(record.timings->samples_ns) : "";
  const auto samples_bytes = record.timings.has_value() ? std::optional(sqlite::Bytes{samples}) : std::nullopt;
  RETURN_IF_ERROR(
      db.Run("INSERT OR IGNORE INTO record (result_key, key_id, trace_id, trial_id, attempt, device, epoch, "
             "module_digest, status, late, median_ns, min_ns, "
             "p90_ns, mad_ns, ci_low_ns, ci_high_ns, runs, samples_ns, environment_id, seed, error, committed_unix_ns, "
             "max_error, final_round) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
             record.result_key, key_id, trace_id, record.trial_id, record.attempt, record.device, record.epoch,
             record.module_digest, TrialStateName(record.status), record.late, timing(&Timings::median_ns),
             timing(&Timings::min_ns), timing(&Timings::p90_ns), timing(&Timings::mad_ns), timing(&Timings::ci_low_ns),
             timing(&Timings::ci_high_ns), record.timings.has_value() ? record.timings->runs : 0, samples_bytes,
             environment_id, record.seed, record.error, record.committed_unix_ns,
             record.timings.has_value() ? record.timings->max_error : std::nullopt, record.final_round));
  if (db.changes() == 0) return InsertedRecord{};
  const int64_t id = db.last_insert_id();
  if (!known && !record.late)
    RETURN_IF_ERROR(db.Run("UPDATE tuning_key SET measured = measured + 1 WHERE id = ?", key_id));
  if (record.final_round > 0 || record.late) return InsertedRecord{id, false};
  const double median_ns = record.timings.has_value() ? record.timings->median_ns : 0;
  ASSIGN_OR_RETURN(const bool new_best, UpdateBest(db, key_id, id, record.status, median_ns));
  return InsertedRecord{id, new_best};
}

namespace {

StatusOr<std::optional<int64_t>> SetBestOfFinals(Connection& db, int64_t key_id, std::span<const TuningRecord> rounds) {
  const std::optional<size_t> winner = BestOfFinals(rounds);
  if (!winner) return std::optional<int64_t>();
  const TuningRecord& best = rounds[*winner];
  RETURN_IF_ERROR(
      db.Run("INSERT OR REPLACE INTO best (key_id, record_id, status, median_ns, final_round) VALUES (?, ?, ?, ?, ?)",
             key_id, best.id, TrialStateName(best.status), best.timings->median_ns, best.final_round));
  return std::optional(best.id);
}

StatusOr<std::vector<TuningRecord>> ReadFinals(Connection& db, int64_t key_id, std::optional<int64_t> task_id) {
  std::vector<TuningRecord> records;
  RETURN_IF_ERROR(db.Each(
      LATHE_RECORD_QUERY(
          "NULL") "WHERE r.id IN (SELECT id FROM record INDEXED BY record_final WHERE key_id = ?1 AND final_round > 0) "
                  "AND (?2 IS NULL OR r.trial_id IN (SELECT f.id "
                  "FROM trial f JOIN task t ON t.id = f.task_id WHERE t.parent_id = ?2)) ORDER BY r.id",
      [&](const Row& row) { return AddRecord(row, records); }, key_id, task_id));
  return records;
}

// Traces of the key ?1 that a round of finals found wrong, or that died there.
#define LATHE_FAILED_IN_FINALS                                                                                   \
  "(SELECT trace_id FROM record INDEXED BY record_final WHERE key_id = ?1 AND final_round > 0 AND late = 0 AND " \
  "status "                                                                                                      \
  "NOT IN ('OK', 'NOISY', 'CENSORED'))"

// Of a key that has no best.
Status ChooseAmongScreened(Connection& db, int64_t key_id) {
  return db.Run(
      "INSERT INTO best (key_id, record_id, status, median_ns, final_round) SELECT key_id, id, status, median_ns, 0 "
      "FROM "
      "record WHERE key_id = ?1 AND final_round = 0 AND late = 0 AND status IN ('OK', 'NOISY') AND trace_id NOT "
      "IN " LATHE_FAILED_IN_FINALS " ORDER BY status <> 'OK', median_ns, id LIMIT 1",
      key_id);
}

// A best that a final found wrong, or that died there, gives way.
Status WithdrawFailed(Connection& db, int64_t key_id) {
  RETURN_IF_ERROR(
      db.Run("DELETE FROM best WHERE key_id = ?1 AND (SELECT trace_id FROM record WHERE id = best.record_id) "
             "IN " LATHE_FAILED_IN_FINALS,
             key_id));
  return db.changes() == 0 ? OkStatus() : ChooseAmongScreened(db, key_id);
}

}  // namespace

StatusOr<std::optional<int64_t>> DecideBest(Connection& db, int64_t key_id, std::optional<int64_t> task_id) {
  ASSIGN_OR_RETURN(const std::vector<TuningRecord> rounds, ReadFinals(db, key_id, task_id));
  ASSIGN_OR_RETURN(const std::optional<int64_t> winner, SetBestOfFinals(db, key_id, rounds));
  if (!winner) RETURN_IF_ERROR(WithdrawFailed(db, key_id));
  return winner;
}

Status DecideWithoutLate(Connection& db, int64_t key_id) {
  RETURN_IF_ERROR(
      db.Run("UPDATE tuning_key SET measured = (SELECT count(DISTINCT trace_id) FROM record WHERE key_id = ?1 "
             "AND late = 0) WHERE id = ?1",
             key_id));
  RETURN_IF_ERROR(
      db.Run("DELETE FROM best WHERE key_id = ? AND record_id IN (SELECT id FROM record WHERE id = best.record_id AND "
             "late = 1)",
             key_id));
  if (db.changes() == 0) return OkStatus();
  ASSIGN_OR_RETURN(const std::optional<int64_t> winner, DecideBest(db, key_id, std::nullopt));
  return winner ? OkStatus() : ChooseAmongScreened(db, key_id);
}

StatusOr<std::vector<BestAnswer>> SqliteStore::QueryBest(std::span<const TuningKey> keys) {
  return Read([&](Connection& db) -> StatusOr<std::vector<BestAnswer>> {
    std::vector<BestAnswer> answers;
    for (const TuningKey& key : keys) {
      ASSIGN_OR_RETURN(BestAnswer answer, LookUp(db, key));
      answers.push_back(std::move(answer));
    }
    return answers;
  });
}

StatusOr<std::vector<TuningRecord>> SqliteStore::ListBest(const Digest& workload) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<TuningRecord>> {
    std::vector<TuningRecord> records;
    RETURN_IF_ERROR(db.Each(
        LATHE_RECORD_QUERY(
            "NULL") "WHERE r.id IN (SELECT b.record_id FROM tuning_key q JOIN best b ON b.key_id = q.id "
                    "WHERE q.workload_id = (SELECT id FROM workload WHERE digest = ?)) ORDER BY r.key_id",
        [&](const Row& row) { return AddRecord(row, records); }, workload));
    return records;
  });
}

StatusOr<std::vector<TuningRecord>> SqliteStore::History(const TuningKey& key, const Page& page) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<TuningRecord>> {
    std::vector<TuningRecord> records;
    ASSIGN_OR_RETURN(const std::optional<int64_t> key_id, FindKey(db, key));
    if (!key_id.has_value()) return records;
    RETURN_IF_ERROR(db.Each(
        LATHE_RECORD_QUERY("NULL") "WHERE r.key_id = ? AND r.id > ? ORDER BY r.id LIMIT ?",
        [&](const Row& row) { return AddRecord(row, records); }, *key_id, page.after_id, page.limit));
    return records;
  });
}

StatusOr<std::vector<RecordOutcome>> SqliteStore::ListOutcomes(const TuningKey& key, const Page& page) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<RecordOutcome>> {
    std::vector<RecordOutcome> outcomes;
    ASSIGN_OR_RETURN(const std::optional<int64_t> key_id, FindKey(db, key));
    if (!key_id.has_value()) return outcomes;
    const auto add = [&](const Row& row) -> Status {
      ASSIGN_OR_RETURN(const TrialState status, ReadTrialState(row, 2));
      outcomes.push_back({row.Int(0), row.MaybeInt(1), status, row.Int(3) != 0, row.Int(4), row.MaybeReal(5)});
      return OkStatus();
    };
    RETURN_IF_ERROR(db.Each(
        "SELECT id, trial_id, status, late, final_round, median_ns FROM record INDEXED BY record_in_order WHERE "
        "key_id = ? AND id > ? ORDER BY id LIMIT ?",
        add, *key_id, page.after_id, page.limit));
    return outcomes;
  });
}

StatusOr<std::vector<TuningRecord>> SqliteStore::ReadRecords(std::span<const int64_t> ids) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<TuningRecord>> {
    std::vector<TuningRecord> records;
    for (const int64_t id : ids) {
      RETURN_IF_ERROR(db.Each(
          LATHE_RECORD_QUERY("NULL") "WHERE r.id = ?", [&](const Row& row) { return AddRecord(row, records); }, id));
    }
    return records;
  });
}

StatusOr<std::vector<TuningRecord>> SqliteStore::RecordsOf(const TuningKey& key, const Digest& trace) {
  return Read([&](Connection& db) -> StatusOr<std::vector<TuningRecord>> {
    std::vector<TuningRecord> records;
    ASSIGN_OR_RETURN(const std::optional<int64_t> key_id, FindKey(db, key));
    if (!key_id.has_value()) return records;
    RETURN_IF_ERROR(db.Each(
        LATHE_RECORD_QUERY("NULL") "WHERE r.key_id = ? AND r.trace_id = (SELECT id FROM trace WHERE digest = ?) "
                                   "ORDER BY r.id",
        [&](const Row& row) { return AddRecord(row, records); }, *key_id, trace));
    return records;
  });
}

StatusOr<std::vector<TuningRecord>> SqliteStore::RecordsOfTrial(int64_t trial_id) {
  return Read([&](Connection& db) -> StatusOr<std::vector<TuningRecord>> {
    std::vector<TuningRecord> records;
    RETURN_IF_ERROR(db.Each(
        LATHE_RECORD_QUERY("NULL") "WHERE r.trial_id = ? ORDER BY r.id",
        [&](const Row& row) { return AddRecord(row, records); }, trial_id));
    return records;
  });
}

StatusOr<std::vector<std::optional<double>>> SqliteStore::MediansOf(std::span<const int64_t> trial_ids) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<std::optional<double>>> {
    std::vector<std::optional<double>> medians;
    for (const int64_t id : trial_ids) {
      ASSIGN_OR_RETURN(const auto median,
                       db.First<double>("SELECT median_ns FROM record WHERE trial_id = ? AND late = 0", id));
      medians.push_back(median);
    }
    return medians;
  });
}

StatusOr<std::vector<Digest>> SqliteStore::MeasuredTraces(const TuningKey& key) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<Digest>> {
    std::vector<Digest> traces;
    ASSIGN_OR_RETURN(const std::optional<int64_t> key_id, FindKey(db, key));
    if (!key_id.has_value()) return traces;
    ASSIGN_OR_RETURN(const auto are_most,
                     db.First<int64_t>("SELECT measured > ? AND measured * ? > (SELECT max(id) FROM trace) FROM "
                                       "tuning_key WHERE id = ?",
                                       kManyTraces, kRowsScannedPerLookUp, *key_id));
    // Of most traces: along their digests, which is an index of its own, instead of by their rows with long texts.
    RETURN_IF_ERROR(db.Each(
        are_most.value_or(0) != 0
            ? "SELECT digest FROM trace WHERE +id IN (SELECT trace_id FROM record WHERE key_id = ? AND late = 0) ORDER "
              "BY digest"
            : "SELECT digest FROM trace WHERE id IN (SELECT trace_id FROM record WHERE key_id = ? AND late = 0) ORDER "
              "BY digest",
        [&](const Row& row) { traces.push_back(row.Sha(0)); }, *key_id));
    return traces;
  });
}

StatusOr<int64_t> SqliteStore::CountMeasured(const TuningKey& key) {
  return Read([&](Connection& db) -> StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const std::optional<int64_t> key_id, FindKey(db, key));
    if (!key_id.has_value()) return int64_t{0};
    ASSIGN_OR_RETURN(const auto count, db.First<int64_t>("SELECT measured FROM tuning_key WHERE id = ?", *key_id));
    return count.value_or(0);
  });
}

StatusOr<std::vector<TuningRecord>> SqliteStore::ListRecords(const Page& page) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<TuningRecord>> {
    std::vector<TuningRecord> records;
    RETURN_IF_ERROR(db.Each(
        LATHE_RECORD_QUERY("r.samples_ns") "WHERE r.id > ? ORDER BY r.id LIMIT ?",
        [&](const Row& row) { return AddRecord(row, records); }, page.after_id, page.limit));
    return records;
  });
}

StatusOr<int64_t> SqliteStore::ImportRecords(std::span<const TuningRecord> records) {
  if (records.empty()) return int64_t{0};
  const int64_t now = time_.Now();
  for (const TuningRecord& record : records) {
    const Status status = CheckImported(record);
    if (!status.ok()) return status.WithContext("import record " + record.result_key.ToHex().substr(0, 12));
  }
  return Write([&](Connection& db) -> StatusOr<int64_t> {
    int64_t added = 0;
    std::set<int64_t> decided;  // Keys whose finals came along.
    for (const TuningRecord& record : records) {
      ASSIGN_OR_RETURN(const int64_t key_id, InternKey(db, record.key));
      TuningRecord imported = record;
      imported.trial_id.reset();  // It names a trial of the other database.
      ASSIGN_OR_RETURN(const InsertedRecord inserted, InsertRecord(db, key_id, imported));
      added += inserted.id.has_value() ? 1 : 0;
      if (inserted.id.has_value() && record.final_round > 0) decided.insert(key_id);
    }
    for (const int64_t key_id : decided) RETURN_IF_ERROR(DecideBest(db, key_id, std::nullopt).status());
    if (added > 0)
      RETURN_IF_ERROR(AddEvent(db, now, "best", std::nullopt, 0, fmt::format("imported {} records", added)));
    return added;
  });
}

namespace {

Status InsertForeign(Connection& db, const ForeignTrace& foreign, int64_t now) {
  ASSIGN_OR_RETURN(const auto workload,
                   db.First<int64_t>("SELECT id FROM workload WHERE digest = ?", foreign.workload));
  if (!workload.has_value()) {
    return NotFound(fmt::format("import foreign schedules: workload {} has no text in the database; put it first",
                                foreign.workload.ToHex().substr(0, 12)));
  }
  ASSIGN_OR_RETURN(const int64_t trace_id, InternTrace(db, foreign.trace_digest, foreign.trace_json));
  return db.Run(
      "INSERT OR IGNORE INTO foreign_trace (workload_id, trace_id, source, target, median_ns, added_unix_ns) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      *workload, trace_id, foreign.source, foreign.target, foreign.median_ns, now);
}

Status CheckForeign(const ForeignTrace& foreign) {
  const char* why = nullptr;
  if (foreign.trace_json.empty()) why = "its trace is empty";
  if (foreign.source.empty()) why = "it names no source";
  if (foreign.median_ns && !(std::isfinite(*foreign.median_ns) && *foreign.median_ns > 0)) why = "its time is no time";
  if (why == nullptr) return OkStatus();
  return InvalidArgument(fmt::format("import foreign schedule {} of workload {}: {}",
                                     foreign.trace_digest.ToHex().substr(0, 12), foreign.workload.ToHex().substr(0, 12),
                                     why));
}

}  // namespace

StatusOr<int64_t> SqliteStore::ImportForeign(std::span<const ForeignTrace> traces) {
  const int64_t now = time_.Now();
  for (const ForeignTrace& foreign : traces) RETURN_IF_ERROR(CheckForeign(foreign));
  return Write([&](Connection& db) -> StatusOr<int64_t> {
    int64_t added = 0;
    for (const ForeignTrace& foreign : traces) {
      RETURN_IF_ERROR(InsertForeign(db, foreign, now));
      added += db.changes();
    }
    return added;
  });
}

StatusOr<std::vector<ForeignTrace>> SqliteStore::ListForeign(const Digest& workload, int limit) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<ForeignTrace>> {
    std::vector<ForeignTrace> traces;
    RETURN_IF_ERROR(db.Each(
        "SELECT c.digest, c.json, f.source, f.target, f.median_ns FROM foreign_trace f JOIN trace c ON c.id = "
        "f.trace_id WHERE f.workload_id = (SELECT id FROM workload WHERE digest = ?) "
        "ORDER BY f.median_ns IS NULL, f.median_ns, f.id LIMIT ?",
        [&](const Row& row) {
          traces.push_back({workload, row.Sha(0), row.String(1), row.String(2), row.String(3),
                            row.IsNull(4) ? std::nullopt : std::optional(row.Real(4))});
        },
        workload, limit));
    return traces;
  });
}

}  // namespace lathe
