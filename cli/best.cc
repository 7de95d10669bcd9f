// lathe best: what the database knows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/database_path.h"
#include "cli/report_error.h"
#include "cli/table.h"
#include "cli/tune_workloads.h"
#include "cli/verbs.h"
#include "support/status_macros.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

constexpr int kPage = 1000;

struct BestOptions {
  TuneFile file;
  std::string target = "auto", workload, database;
  bool is_json = false;
};

struct Wanted {
  Digest workload;
  std::string name;
};

StatusOr<std::vector<Wanted>> FromFile(const BestOptions& options) {
  ASSIGN_OR_RETURN(const Target target, Target::Parse(options.target));
  ASSIGN_OR_RETURN(const Workloads workloads, ReadWorkloads(options.file, target));
  std::vector<Wanted> wanted;
  for (const Function& function : workloads.functions) wanted.push_back({function.workload, function.func.name});
  return wanted;
}

StatusOr<std::vector<Wanted>> FromPrefix(Store& store, const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::vector<Digest> found, store.FindWorkloads(prefix));
  if (found.size() > 1) {
    return InvalidArgument(fmt::format("--workload {}: {} workloads begin with it, {} and {} among them; write more digits", prefix, found.size(),
                                       found[0].ToHex(), found[1].ToHex()));
  }
  std::vector<Wanted> wanted;
  for (const Digest& digest : found) {
    ASSIGN_OR_RETURN(const Workload workload, store.GetWorkload(digest));
    wanted.push_back({digest, workload.name});
  }
  return wanted;
}

StatusOr<std::vector<Wanted>> AllOf(Store& store) {
  std::vector<Wanted> wanted;
  for (std::optional<Digest> after;;) {
    ASSIGN_OR_RETURN(const std::vector<Workload> page, store.ListWorkloads(after, kPage));
    for (const Workload& workload : page) wanted.push_back({workload.digest, workload.name});
    if (page.size() < kPage) return wanted;
    after = page.back().digest;
  }
}

nlohmann::json ToJson(const Wanted& wanted, const TuningRecord& record) {
  return {{"name", wanted.name},
          {"workload", wanted.workload.ToHex()},
          {"target", record.key.target},
          {"device_class", record.key.device_class},
          {"cache_regime", record.key.cache_regime},
          {"codegen_version", record.key.codegen_version.ToString()},
          {"policy_version", record.key.policy_version},
          {"status", TrialStateName(record.status)},
          {"best_ms", record.timings->median_ns / 1e6},
          {"trace", nlohmann::json::parse(record.trace_json, nullptr, false)}};
}

StatusOr<int> Run(const BestOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::OpenReadOnly(DatabasePath(options.database)));
  StatusOr<std::vector<Wanted>> found = !options.file.path.empty()  ? FromFile(options)
                                        : !options.workload.empty() ? FromPrefix(*store, options.workload)
                                                                    : AllOf(*store);
  ASSIGN_OR_RETURN(const std::vector<Wanted> wanted, std::move(found));
  nlohmann::json json = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> missing;
  for (const Wanted& item : wanted) {
    ASSIGN_OR_RETURN(const std::vector<TuningRecord> records, store->ListBest(item.workload));
    if (records.empty()) missing.push_back(fmt::format("MISS {} {}: no record; tune it", item.name, item.workload.ToHex().substr(0, 12)));
    for (const TuningRecord& record : records) {
      json.push_back(ToJson(item, record));
      rows.push_back({item.name, item.workload.ToHex().substr(0, 12), FormatTime(record.timings->median_ns), std::string(TrialStateName(record.status)),
                      record.key.device_class, record.key.target});
    }
  }
  if (options.is_json) std::fputs((json.dump(2) + "\n").c_str(), stdout);
  else if (!rows.empty()) std::fputs(RenderTable({"task", "workload", "best", "status", "device", "target"}, rows).c_str(), stdout);
  for (const std::string& line : missing) std::fprintf(stderr, "%s\n", line.c_str());
  if (wanted.empty()) std::fprintf(stderr, "MISS %s: not in the database; tune it\n", options.workload.empty() ? "any workload" : options.workload.c_str());
  return wanted.empty() || !missing.empty() ? kExitMiss : kExitOk;
}

}  // namespace

void AddBest(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App* verb = app.add_subcommand("best", "Show the best known schedules");
  auto* file = verb->add_option("FILE", options->file.path, "MODEL.onnx: its tasks; FUNC.py: its functions; default: all that the database knows");
  verb->add_option("--target", options->target, "Of MODEL.onnx, whose weights are laid out for it; auto asks this machine")->capture_default_str();
  verb->add_option("--input-shape", options->file.input_shapes, "NAME=1,3,224,224: for inputs whose shape the model leaves open");
  verb->add_option("--workload", options->workload, "64 hex digits, or a unique beginning of 8 or more")->excludes(file);
  verb->add_option("--db", options->database, "Database file (default $LATHE_DB or ~/.local/share/lathe/lathe.db)");
  verb->add_flag("--json", options->is_json, "Print as JSON");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
