// lathe compile: a network into one shared object, with the best schedules that the database knows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/database_path.h"
#include "cli/given_schedules.h"
#include "cli/message_json.h"
#include "cli/network.h"
#include "cli/report_error.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/database/pack.h"

namespace lathe {
namespace {

struct CompileOptions {
  std::string file, output, target = "auto", database, schedules;
  NetworkFlags network;
  int opt_level = 3;
  bool is_json = false;
};

void Print(const CompiledNetwork& network, const CompileOptions& options) {
  nlohmann::ordered_json json = {{"output", network.artifact.path},
                                 {"size_bytes", network.artifact.size_bytes},
                                 {"digest", network.artifact.digest.ToHex()},
                                 {"kernels", nlohmann::ordered_json::array()}};
  TextTable table({"KERNEL", ">WORKLOAD", ">CALLS", ">SCHEDULE", ">KNOWN TIME"});
  int known = 0;
  for (const NetworkKernel& kernel : network.kernels) {
    const std::string source(ScheduleSourceName(kernel.source));
    known += kernel.source != ScheduleSource::kMiss;
    json["kernels"].push_back(
        {{"name", kernel.name}, {"workload", kernel.workload.ToHex()}, {"calls", kernel.calls}, {"schedule", source}});
    if (kernel.source == ScheduleSource::kMiss)
      json["kernels"].back()[kernel.is_refused ? "refused" : "why"] = kernel.why;
    table.Add({kernel.name, kernel.workload.ToHex().substr(0, 12), std::to_string(kernel.calls), source,
               FormatNs(kernel.best_ns)});
  }
  if (options.is_json)
    PrintJson(json);
  else
    std::fputs(table.Render().c_str(), stdout);
  std::map<std::string, int> misses;
  for (const NetworkKernel& kernel : network.kernels) {
    if (kernel.is_refused)
      std::fprintf(stderr, "%s: the known schedule does not build any more: %s; tune again for a new one\n",
                   kernel.name.c_str(), kernel.why.c_str());
    else if (kernel.source == ScheduleSource::kMiss)
      ++misses[kernel.why];
  }
  for (const auto& [why, count] : misses) std::fprintf(stderr, "%d MISS: %s\n", count, why.c_str());
  std::fprintf(stderr,
               "%s: %d of %zu kernels with known schedules, the others by default ones; %.1f MiB\nnext: lathe run %s\n",
               network.artifact.path.c_str(), known, network.kernels.size(),
               static_cast<double>(network.artifact.size_bytes) / (1 << 20), network.artifact.path.c_str());
}

StatusOr<int> Run(const CompileOptions& options) {
  ASSIGN_OR_RETURN(const Target target, Target::Parse(options.target));
  ASSIGN_OR_RETURN(const std::string output, OutputFile(AbsolutePath(options.output)));
  std::error_code error;
  if (std::filesystem::equivalent(output, options.file, error))
    return InvalidArgument(fmt::format("write {}: it is the model itself; name another file", options.output));
  ASSIGN_OR_RETURN(const relax::IRModule module, LoadNetwork(options.file, options.network, target, options.opt_level));
  std::unique_ptr<SqliteStore> store;
  const std::string database = DatabasePath(options.database);
  if (std::filesystem::exists(database)) {
    ASSIGN_OR_RETURN(store, OpenSchedules(database));
  } else if (!options.database.empty()) {
    return NotFound(fmt::format("open {}: no such file; tune something first or check the path", database));
  }
  ScheduleLookup lookup = LookupIn(store.get(), target);
  if (!options.schedules.empty()) {
    ASSIGN_OR_RETURN(lookup, LookupGiven(module, options.schedules, std::move(lookup)));
  }
  ASSIGN_OR_RETURN(const CompiledNetwork network, BuildNetwork(module, target, lookup, output));
  Print(network, options);
  return kExitOk;
}

}  // namespace

void AddCompile(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CompileOptions>();
  CLI::App* verb = app.add_subcommand("compile", "Compile a network with the best known schedules");
  verb->add_option("MODEL", options->file, "MODEL.onnx")->required();
  verb->add_option("-o,--output", options->output, "The shared object to write")->required();
  AddNetworkFlags(*verb, options->target, options->network);
  verb->add_option("--opt-level", options->opt_level, "0: operators on their own ... 3: fused, weights laid out")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  verb->add_option("--db", options->database,
                   "Database file, or a pack (default $LATHE_DB or ~/.local/share/lathe/lathe.db)");
  verb->add_option("--schedules", options->schedules,
                   "FILE.py: schedules to take for the kernels that it names, as `lathe show --schedules` prints them");
  verb->add_flag("--json", options->is_json, "Print the kernels as JSON");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
