// What retention (retention.h) asks the database, and what it has it forget.
#include "support/sqlite.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

// Columns: id, attempt, blob, since, is needed, later. ?1, ?2, ?3: the row before the first one; ?4: how many.
#define LATHE_LAST_EVENT "(SELECT max(cursor) FROM event)"
constexpr std::string_view kEventFacts =
    "SELECT cursor, 0, NULL, at_unix_ns, cursor = " LATHE_LAST_EVENT ", " LATHE_LAST_EVENT
    " - cursor FROM event WHERE cursor > ?1 ORDER BY cursor LIMIT ?4";
constexpr std::string_view kLeaseFacts =
    "SELECT id, 0, NULL, expires_unix_ns, state = 'GRANTED', 0 FROM lease WHERE id > ?1 "
    "ORDER BY id LIMIT ?4";
// An attempt of an open job is as old as its claim, and needed.
constexpr std::string_view kAttemptFacts =
    "SELECT a.trial_id, a.attempt, NULL, iif(j.state IN ('QUEUED', 'RUNNING'), a.claimed_unix_ns, j.updated_unix_ns), "
    "a.state = 'HELD' OR j.state IN ('QUEUED', 'RUNNING'), 0 FROM attempt a CROSS JOIN trial r ON r.id = a.trial_id "
    "CROSS JOIN task t ON t.id = r.task_id CROSS JOIN job j ON j.id = t.job_id "
    "WHERE (a.trial_id, a.attempt) > (?1, ?2) ORDER BY a.trial_id, a.attempt LIMIT ?4";
#define LATHE_SAMPLES_ARE_NEEDED                                                                           \
  "(record.samples_ns IS NULL OR record.final_round > 0 OR EXISTS (SELECT 1 FROM best b WHERE b.key_id = " \
  "record.key_id AND b.record_id = record.id))"
constexpr std::string_view kSampleFacts = "SELECT id, 0, NULL, committed_unix_ns, " LATHE_SAMPLES_ARE_NEEDED
                                          ", 0 FROM record WHERE id > max(?1, (SELECT samples_judged_to FROM meta)) "
                                          "ORDER BY id LIMIT ?4";
constexpr std::string_view kBlobFacts =
    "SELECT 0, 0, digest, last_used_unix_ns, 0, 0 FROM blob WHERE refs = 0 AND (last_used_unix_ns, digest) > (?1, ?3) "
    "ORDER BY last_used_unix_ns, digest LIMIT ?4";
constexpr std::string_view kFacts[] = {kEventFacts, kLeaseFacts, kAttemptFacts, kSampleFacts, kBlobFacts};

// Asks again whether the row is needed by now.
Status ForgetOne(Connection& db, RetentionKind kind, const RetentionFact& row) {
  switch (kind) {
    case RetentionKind::kEvents:
      return db.Run("DELETE FROM event WHERE cursor = ? AND cursor < " LATHE_LAST_EVENT, row.id);
    case RetentionKind::kLeases:
      return db.Run("DELETE FROM lease WHERE id = ? AND state <> 'GRANTED'", row.id);
    case RetentionKind::kAttempts:
      return db.Run("DELETE FROM attempt WHERE trial_id = ? AND attempt = ? AND state <> 'HELD'", row.id, row.attempt);
    case RetentionKind::kSamples:
      return db.Run("UPDATE record SET samples_ns = NULL WHERE id = ? AND NOT " LATHE_SAMPLES_ARE_NEEDED, row.id);
    case RetentionKind::kBlobs:
      return db.Run("DELETE FROM blob WHERE digest = ? AND refs = 0 AND last_used_unix_ns = ?", row.blob,
                    row.since_unix_ns);
  }
  return OkStatus();
}

RetentionFact ReadFact(const Row& row) {
  return {row.Int(0), row.Int(1), row.Sha(2), row.Int(3), row.Int(4) != 0, row.Int(5)};
}

}  // namespace

StatusOr<RetentionFacts> SqliteStore::ListRetentionFacts(RetentionKind kind, const std::optional<RetentionFact>& after,
                                                         int limit) {
  RetentionFacts facts{time_.Now(), {}};
  return ReadList([&](Connection& db) -> StatusOr<RetentionFacts> {
    const RetentionFact from = after.value_or(RetentionFact{.since_unix_ns = -1});
    const int64_t first = kind == RetentionKind::kBlobs ? from.since_unix_ns : from.id;
    RETURN_IF_ERROR(db.Each(
        kFacts[static_cast<size_t>(kind)], [&](const Row& row) { facts.rows.push_back(ReadFact(row)); }, first,
        from.attempt, from.blob, limit));
    return std::move(facts);
  });
}

StatusOr<int64_t> SqliteStore::Forget(RetentionKind kind, std::span<const RetentionFact> rows,
                                      std::optional<int64_t> judged_to) {
  return WriteSoft([&](Connection& db) -> StatusOr<int64_t> {
    int64_t forgotten = 0;
    for (const RetentionFact& row : rows) {
      RETURN_IF_ERROR(ForgetOne(db, kind, row));
      forgotten += db.changes();
    }
    if (kind == RetentionKind::kSamples && judged_to)
      RETURN_IF_ERROR(db.Run("UPDATE meta SET samples_judged_to = max(samples_judged_to, ?)", *judged_to));
    return forgotten;
  });
}

StatusOr<std::vector<Digest>> SqliteStore::FindBlobs(std::span<const Digest> digests) {
  return Read([&](Connection& db) -> StatusOr<std::vector<Digest>> {
    std::vector<Digest> known;
    for (const Digest& digest : digests) {
      ASSIGN_OR_RETURN(const auto row, db.First<int64_t>("SELECT 1 FROM blob WHERE digest = ?", digest));
      if (row) known.push_back(digest);
    }
    return known;
  });
}

}  // namespace lathe
