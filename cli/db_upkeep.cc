#include "cli/db_upkeep.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/database_path.h"
#include "cli/report_error.h"
#include "cli/verbs.h"
#include "tuner/database/upkeep.h"

namespace lathe {
namespace {

struct UpkeepOptions {
  std::string database, to;
};

int Verify(const UpkeepOptions& options) {
  const std::string path = DatabasePath(options.database);
  const StatusOr<VerifyReport> report = VerifyDatabase(path);
  if (!report.ok()) return ReportError(report.status());
  for (const std::string& problem : report->problems) fmt::print("{}\n", problem);
  if (!report->problems.empty()) {
    return ReportError(
        DataLoss(fmt::format("verify {}: {} problems; restore a copy, or keep what `lathe db export` reads", path,
                             report->problems.size())));
  }
  fmt::print(stderr, "lathe: {} is whole: {} records, {} trials\n", path, report->records, report->trials);
  return kExitOk;
}

int BackUp(const UpkeepOptions& options) {
  const StatusOr<int64_t> bytes = BackUpDatabase(DatabasePath(options.database), options.to);
  if (!bytes.ok()) return ReportError(bytes.status());
  fmt::print(stderr, "lathe: {} has {} bytes\n", options.to, *bytes);
  return kExitOk;
}

}  // namespace

void AddDbUpkeep(CLI::App& db, int& exit_code) {
  const auto options = std::make_shared<UpkeepOptions>();
  CLI::App* verify = db.add_subcommand("verify", "Read all of a database and name what is wrong; beside a server too");
  verify->add_option("--db", options->database, "the database file");
  verify->callback([options, &exit_code] { exit_code = Verify(*options); });
  CLI::App* backup = db.add_subcommand("backup", "Copy a database as it is now into a new file; beside a server too");
  backup->add_option("FILE", options->to, "the copy")->required();
  backup->add_option("--db", options->database, "the database file");
  backup->callback([options, &exit_code] { exit_code = BackUp(*options); });
}

}  // namespace lathe
