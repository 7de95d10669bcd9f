// What a database may forget. Decided here and nowhere else; pure.
//
// Records stay, and so does whatever `best` or a final needs. What goes is what nobody asks for any more: it has been
// of no use for as long as the policy says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "support/clock.h"
#include "support/digest.h"

namespace lathe {

enum class RetentionKind : uint8_t { kEvents, kLeases, kAttempts, kSamples, kBlobs };
inline constexpr RetentionKind kRetentionKinds[] = {RetentionKind::kEvents, RetentionKind::kLeases,
                                                    RetentionKind::kAttempts, RetentionKind::kSamples,
                                                    RetentionKind::kBlobs};
std::string_view RetentionKindName(RetentionKind kind);  // "events", ...

// How long each kind is kept, since it began to be of no use.
struct RetentionPolicy {
  Duration events = std::chrono::hours(24 * 30);  // Since they happened;
  int64_t most_events = 1'000'000;                // and of all of them only the latest.
  Duration leases = std::chrono::hours(24 * 7);   // Since they ran out.
  // Since their job ended. What a device that was away for longer measured under one is refused.
  Duration attempts = std::chrono::hours(24 * 30);
  Duration samples = std::chrono::hours(24 * 30);  // Since their record was committed; its statistics stay.
  Duration blobs = std::chrono::hours(24 * 7);     // Rows and files, since the last use.
};

// A row that may go one day. Its kind says which fields name it.
struct RetentionFact {
  int64_t id = 0;       // Of the event (its cursor), the lease, the attempt's trial or the record.
  int64_t attempt = 0;  // Of an attempt.
  Digest blob;          // Of a blob.
  int64_t since_unix_ns = 0;
  bool is_needed = false;  // By somebody, however old it is.
  int64_t later = 0;       // Of an event: how many were written after it.
};
// A page of them, in the order in which they are walked through, and the Store's time when it was read.
struct RetentionFacts {
  int64_t now_unix_ns = 0;
  std::vector<RetentionFact> rows;
};

struct RetentionVerdict {
  std::vector<RetentionFact> goes;
  size_t judged = 0;     // Rows of the page that need not be looked at again before they are older.
  bool is_over = false;  // What comes after this page is too young.
};
RetentionVerdict JudgeRetention(RetentionKind kind, const RetentionFacts& facts, const RetentionPolicy& policy);

// A file of the blob store.
struct BlobFile {
  Digest digest;
  int64_t size_bytes = 0, last_used_unix_ns = 0;
  bool is_pinned = false;  // By this process, which is about to use it.
};
// `has_row`: the database knows it, so a trial may refer to it at any moment.
bool MayFileGo(const BlobFile& file, bool has_row, const RetentionPolicy& policy, int64_t now_unix_ns);

}  // namespace lathe
