#include "tuner/database/prune.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "support/status_macros.h"

namespace lathe {
namespace {

StatusOr<int64_t> PruneKind(Store& store, RetentionKind kind, const PruneOptions& options) {
  int64_t gone = 0;
  for (std::optional<RetentionFact> after; options.go_on();) {
    ASSIGN_OR_RETURN(const RetentionFacts facts, store.ListRetentionFacts(kind, after, options.rows_at_once));
    const RetentionVerdict verdict = JudgeRetention(kind, facts, options.policy);
    if (options.is_dry_run) {
      gone += static_cast<int64_t>(verdict.goes.size());
    } else if (!verdict.goes.empty() || (kind == RetentionKind::kSamples && verdict.judged > 0)) {
      ASSIGN_OR_RETURN(const int64_t forgotten, store.Forget(kind, verdict.goes, facts.rows[verdict.judged - 1].id));
      gone += forgotten;
    }
    if (verdict.is_over || facts.rows.size() < static_cast<size_t>(options.rows_at_once)) break;
    after = facts.rows.back();
  }
  return gone;
}

Status PruneFiles(Store& store, std::span<const BlobFile> files, BlobFiles& folder, int64_t now_unix_ns,
                  const PruneOptions& options, PruneReport& report) {
  std::vector<Digest> digests;
  for (const BlobFile& file : files) digests.push_back(file.digest);
  ASSIGN_OR_RETURN(const std::vector<Digest> found, store.FindBlobs(digests));
  const std::unordered_set<Digest, DigestHash> known(found.begin(), found.end());
  for (const BlobFile& file : files) {
    if (!MayFileGo(file, known.contains(file.digest), options.policy, now_unix_ns)) continue;
    if (!options.is_dry_run && !folder.DeleteUnused(file)) continue;
    ++report.files;
    report.file_bytes += file.size_bytes;
  }
  return OkStatus();
}

}  // namespace

int64_t PruneReport::total() const { return std::accumulate(rows.begin(), rows.end(), files); }

std::string PruneReport::ToString() const {
  std::vector<std::string> parts;
  for (const RetentionKind kind : kRetentionKinds) {
    const int64_t count = rows[static_cast<size_t>(kind)];
    const std::string_view end = kind == RetentionKind::kSamples ? " of records" : "";
    if (count > 0) parts.push_back(fmt::format("{} {}{}", count, RetentionKindName(kind), end));
  }
  if (files > 0) parts.push_back(fmt::format("{} files ({} bytes)", files, file_bytes));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

StatusOr<PruneReport> Prune(Store& store, BlobFiles& folder, const PruneOptions& options) {
  PruneReport report;
  for (const RetentionKind kind : kRetentionKinds) {
    ASSIGN_OR_RETURN(report.rows[static_cast<size_t>(kind)], PruneKind(store, kind, options));
  }
  ASSIGN_OR_RETURN(const RetentionFacts no_rows, store.ListRetentionFacts(RetentionKind::kEvents, std::nullopt, 0));
  const std::vector<BlobFile> files = folder.ListFiles();
  const auto at_once = static_cast<size_t>(options.rows_at_once);
  for (size_t first = 0; first < files.size() && options.go_on(); first += at_once) {
    const auto page = std::span(files).subspan(first, std::min(at_once, files.size() - first));
    RETURN_IF_ERROR(PruneFiles(store, page, folder, no_rows.now_unix_ns, options, report));
  }
  return report;
}

}  // namespace lathe
