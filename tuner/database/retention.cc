#include "tuner/database/retention.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr std::string_view kNames[] = {"events", "leases", "attempts", "samples", "blobs"};

Duration KeptFor(RetentionKind kind, const RetentionPolicy& policy) {
  switch (kind) {
    case RetentionKind::kEvents:
      return policy.events;
    case RetentionKind::kLeases:
      return policy.leases;
    case RetentionKind::kAttempts:
      return policy.attempts;
    case RetentionKind::kSamples:
      return policy.samples;
    case RetentionKind::kBlobs:
      return policy.blobs;
  }
  return Duration::max();
}

bool IsOld(const RetentionFact& row, Duration kept_for, int64_t now_unix_ns) {
  return row.since_unix_ns <= now_unix_ns - kept_for.count();
}

// Records are judged once, in the order of their ids, which is that of their times but for imported ones. The first
// that is young ends it; a time to come (of another machine's clock) never arrives here and is passed by.
RetentionVerdict JudgeSamples(const RetentionFacts& facts, Duration kept_for) {
  RetentionVerdict verdict;
  for (const RetentionFact& row : facts.rows) {
    const bool is_old = IsOld(row, kept_for, facts.now_unix_ns);
    verdict.is_over = !is_old && row.since_unix_ns <= facts.now_unix_ns;
    if (verdict.is_over) break;
    ++verdict.judged;
    if (is_old && !row.is_needed) verdict.goes.push_back(row);
  }
  return verdict;
}

}  // namespace

std::string_view RetentionKindName(RetentionKind kind) { return kNames[static_cast<size_t>(kind)]; }

RetentionVerdict JudgeRetention(RetentionKind kind, const RetentionFacts& facts, const RetentionPolicy& policy) {
  const Duration kept_for = KeptFor(kind, policy);
  if (kind == RetentionKind::kSamples) return JudgeSamples(facts, kept_for);
  RetentionVerdict verdict{.judged = facts.rows.size(), .is_over = true};
  for (const RetentionFact& row : facts.rows) {
    const bool is_too_many = kind == RetentionKind::kEvents && row.later >= policy.most_events;
    if (!is_too_many && !IsOld(row, kept_for, facts.now_unix_ns)) continue;
    verdict.is_over = false;  // Rows come about in the order of their age: after a page of young ones are none.
    if (!row.is_needed) verdict.goes.push_back(row);
  }
  return verdict;
}

bool MayFileGo(const BlobFile& file, bool has_row, const RetentionPolicy& policy, int64_t now_unix_ns) {
  return !file.is_pinned && !has_row && file.last_used_unix_ns <= now_unix_ns - policy.blobs.count();
}

}  // namespace lathe
