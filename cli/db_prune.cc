#include "cli/db_prune.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/database_path.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/verbs.h"
#include "support/status_macros.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/shared_blobs.h"

namespace lathe {
namespace {

constexpr int64_t kMostDays = 36'500;

struct PruneFlags {
  std::string database;
  int64_t older_than_days = 0;  // 0: as the policy says.
  bool is_dry_run = false;
};

RetentionPolicy PolicyOf(const PruneFlags& flags) {
  RetentionPolicy policy;
  if (flags.older_than_days == 0) return policy;
  const Duration kept_for = std::chrono::hours(24) * flags.older_than_days;
  for (Duration* kind : {&policy.events, &policy.leases, &policy.attempts, &policy.samples, &policy.blobs})
    *kind = kept_for;
  return policy;
}

StatusOr<PruneReport> PruneAt(const std::string& path, const PruneFlags& flags) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return NotFound(fmt::format("open {}: no database there; --db names another", path));
  const StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path);
  if (store.code() == StatusCode::kUnavailable)
    return store.status().WithContext("prune (a server does it by itself, once an hour)");
  RETURN_IF_ERROR(store.status());
  ASSIGN_OR_RETURN(BlobStore blobs, BlobStore::Open(path + ".files/blobs", /*limit_bytes=*/0));
  SharedBlobs files(std::move(blobs));
  return Prune(**store, files, {.policy = PolicyOf(flags), .is_dry_run = flags.is_dry_run});
}

int RunPrune(const PruneFlags& flags) {
  const std::string path = DatabasePath(flags.database);
  const StatusOr<PruneReport> report = PruneAt(path, flags);
  if (!report.ok()) return ReportError(report.status());
  fmt::print("{}: {} {}\n", path, flags.is_dry_run ? "would go:" : "gone:", report->ToString());
  return kExitOk;
}

}  // namespace

void AddDbPrune(CLI::App& db, int& exit_code) {
  const auto flags = std::make_shared<PruneFlags>();
  CLI::App* prune = db.add_subcommand(
      "prune", "Forget events, ended leases, attempts, samples and blobs that nobody needs any more; never a record");
  prune->add_option("--db", flags->database, "the database file");
  prune->add_option("--older-than", flags->older_than_days, "days that each of them is kept; default: 7 to 30, by kind")
      ->check(WholeNumber(1, kMostDays));
  prune->add_flag("--dry-run", flags->is_dry_run, "say what would go; nothing goes");
  prune->callback([flags, &exit_code] { exit_code = RunPrune(*flags); });
}

}  // namespace lathe
