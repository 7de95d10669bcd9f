// lathe doctor: what is missing here, and what disturbs measuring.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/database_path.h"
#include "cli/golden_kernel.h"
#include "cli/machine_checks.h"
#include "cli/message_json.h"
#include "cli/place.h"
#include "cli/program_folder.h"
#include "cli/report_error.h"
#include "cli/text_table.h"
#include "cli/verbs.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/service/unix_socket.h"

namespace lathe {
namespace {

Check CheckPrograms() {
  std::string missing;
  for (const char* program : {"lathe-builder", "lathe-runner", "lathe-evaluate"}) {
    if (access((ProgramFolder() + "/" + program).c_str(), X_OK) != 0)
      missing += (missing.empty() ? "" : ", ") + std::string(program);
  }
  if (missing.empty())
    return {"programs", Verdict::kOk, "lathe-builder, lathe-runner and lathe-evaluate are in " + ProgramFolder(), ""};
  return {"programs", Verdict::kProblem, "not in " + ProgramFolder() + ": " + missing,
          "install them beside this program"};
}

Check CheckDatabase(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return {"database", Verdict::kOk, path + ": none yet; `lathe tune` makes it", ""};
  const auto store = SqliteStore::OpenReadOnly(path);
  if (!store.ok()) return {"database", Verdict::kProblem, store.status().message(), "choose another file with --db"};
  const auto stats = (*store)->Stats();
  if (!stats.ok()) return {"database", Verdict::kProblem, stats.status().message(), "choose another file with --db"};
  return {"database", Verdict::kOk,
          fmt::format("{}: {} workloads, {} records, {} jobs, {:.1f} MiB", path, stats->workloads, stats->records,
                      stats->jobs, static_cast<double>(stats->file_bytes + stats->wal_bytes) / (1 << 20)),
          ""};
}

Check CheckOwner(const std::string& path) {
  const StatusOr<Endpoint> owner = OwnerEndpoint(path);
  if (!owner.ok())
    return {"server", Verdict::kWarning, owner.status().message(),
            "a second process cannot attach to the owner of this database"};
  if (SomebodyListens(owner->unix_path))
    return {"server", Verdict::kOk, "one owns the database and listens on " + owner->ToString(), ""};
  return {"server", Verdict::kOk, "none owns the database now", ""};
}

nlohmann::ordered_json ChecksJson(const std::vector<Check>& checks) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    constexpr const char* kNames[] = {"ok", "warning", "problem"};
    json.push_back({{"name", check.name},
                    {"verdict", kNames[static_cast<int>(check.verdict)]},
                    {"finding", check.finding},
                    {"advice", check.advice}});
  }
  return {{"checks", json}};
}

void Print(const std::vector<Check>& checks) {
  constexpr const char* kMarks[] = {"ok", "WARNING", "PROBLEM"};
  for (const Check& check : checks) {
    fmt::print("{:<8} {:<9} {}\n", kMarks[static_cast<int>(check.verdict)], check.name, check.finding);
    if (!check.advice.empty()) fmt::print("{:<18} -> {}\n", "", check.advice);
  }
}

struct DoctorOptions {
  std::string database;
  bool as_json = false, is_quick = false;
};

int Run(const DoctorOptions& options) {
  const std::string database = DatabasePath(options.database);
  std::vector<Check> checks = {CheckPrograms()};
  for (Check& check : JudgeMachine(ReadMachine("/", std::filesystem::path(database).parent_path().string())))
    checks.push_back(std::move(check));
  checks.push_back(CheckDatabase(database));
  checks.push_back(CheckOwner(database));
  if (!options.is_quick && checks.front().verdict == Verdict::kOk) checks.push_back(CheckGoldenKernel(ProgramFolder()));
  if (options.as_json) {
    PrintJson(ChecksJson(checks));
  } else {
    Print(checks);
  }
  for (const Check& check : checks) {
    if (check.verdict == Verdict::kProblem) return kExitFailed;
  }
  return kExitOk;
}

}  // namespace

void AddDoctor(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = app.add_subcommand("doctor", "Say what is missing here and what disturbs measuring");
  verb->add_option("--db", options->database, "the database file");
  verb->add_flag("--quick", options->is_quick, "without building and running a kernel");
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
