#include "cli/db_merge.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/database_path.h"
#include "cli/report_error.h"
#include "cli/verbs.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"
#include "tuner/database/merge.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/measure/parse_workload.h"

namespace lathe {
namespace {

struct MergeFlags {
  std::string from, database;
};

// What traces find their way by.
class BlockNames : public StmtExprVisitor {
 public:
  static std::vector<std::string> Of(const PrimFunc& func) {
    BlockNames names;
    names(func.body);
    return std::move(names.names_);
  }

 protected:
  void VisitBlock(const Block& block) override {
    names_.push_back(block->name);
    StmtExprVisitor::VisitBlock(block);
  }

 private:
  std::vector<std::string> names_;
};

// The same digest does not promise the same names, and their schedules name their blocks.
Status CheckFits(const Workload& theirs, const std::optional<Workload>& ours) {
  ASSIGN_OR_RETURN(const PrimFunc their_func, ParseWorkload(theirs.digest, theirs.name, theirs.text));
  if (!ours || ours->text == theirs.text) return OkStatus();
  ASSIGN_OR_RETURN(const PrimFunc our_func, ParseWorkload(ours->digest, ours->name, ours->text));
  if (BlockNames::Of(their_func) == BlockNames::Of(our_func)) return OkStatus();
  return FailedPrecondition(
      "it is here under other names of blocks, by which schedules find them; tune it here, or merge the other way "
      "round");
}

StatusOr<MergeReport> Merge(const std::string& from, const std::string& into) {
  std::error_code error;
  if (std::filesystem::equivalent(from, into, error))
    return InvalidArgument(fmt::format("merge {}: it is the database itself; name another", from));
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> theirs, SqliteStore::OpenForMerge(from));
  RETURN_IF_ERROR(CreateFolderOf(into));
  StatusOr<std::unique_ptr<SqliteStore>> ours = SqliteStore::Open(into);
  if (ours.code() == StatusCode::kUnavailable) {
    return ours.status().WithContext(
        fmt::format("merge (a server takes records too: `lathe db export --db {} | lathe db import -`)", from));
  }
  RETURN_IF_ERROR(ours.status());
  StatusOr<MergeReport> report = MergeDatabase(**ours, *theirs, CheckFits);
  if (!report.ok()) return report.status().WithContext(fmt::format("merge {}", from));
  return report;
}

void Say(std::string_view what, const MergeCounts& counts) {
  if (counts.read == 0) return;
  fmt::print(stderr, "lathe: {} {}: {} new, {} known, {} refused\n", counts.read, what, counts.added, counts.known(),
             counts.refused);
}

int RunMerge(const MergeFlags& flags) {
  const StatusOr<MergeReport> report = Merge(flags.from, DatabasePath(flags.database));
  if (!report.ok()) return ReportError(report.status());
  for (const std::string& words : report->refusals) fmt::print("{}\n", words);
  Say("workloads", report->workloads);
  Say("records", report->records);
  Say("schedules of other tuners", report->foreign);
  const int64_t refused = report->workloads.refused + report->records.refused + report->foreign.refused;
  if (const int64_t more = refused - static_cast<int64_t>(report->refusals.size()); more > 0)
    fmt::print("and {} more\n", more);
  return refused > 0 ? kExitFailed : kExitOk;
}

}  // namespace

void AddDbMerge(CLI::App& db, int& exit_code) {
  const auto flags = std::make_shared<MergeFlags>();
  CLI::App* merge = db.add_subcommand("merge", "Take in what another database holds; twice is harmless");
  merge->add_option("OTHER", flags->from, "the other database; it is only read")->required();
  merge->add_option("--db", flags->database, "the database file that takes it in");
  merge->callback([flags, &exit_code] { exit_code = RunMerge(*flags); });
}

}  // namespace lathe
