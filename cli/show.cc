// lathe show: a network, its workloads, or one by its hash, and what is known about them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/message_json.h"
#include "cli/network.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/tune_workloads.h"
#include "cli/verbs.h"
#include "compiler/relax/printer.h"
#include "compiler/schedule/trace.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct Shown {
  v1::Workload workload;
  int64_t weight = 1;  // Calls per inference of the network.
  std::vector<v1::Record> best;
};

bool IsHash(const std::string& what) {
  return what.size() >= 8 && what.size() <= 64 && what.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

struct ShowOptions {
  Place place;
  TuneFile file;  // Or a hash.
  std::string target = "auto";
  bool as_json = false, as_schedules = false;
};

struct Everything {
  std::string network;  // Relax text; empty: it is none.
  std::vector<Shown> workloads;
};

StatusOr<Everything> ReadShown(const ShowOptions& options) {
  ASSIGN_OR_RETURN(const Target target, Target::Parse(options.target));
  ASSIGN_OR_RETURN(const Workloads workloads, ReadWorkloads(options.file, target));
  Everything all;
  if (workloads.network) all.network = relax::Print(*workloads.network->FindFunction(relax::kMainFunction));
  for (const Function& function : workloads.functions) {
    Shown& shown = all.workloads.emplace_back();
    shown.weight = function.weight;
    shown.workload.set_digest(std::string(function.workload.raw()));
    shown.workload.set_name(function.func.name);
    shown.workload.set_text(Print(function.func));
  }
  return all;
}

StatusOr<std::vector<Shown>> ShownOfHash(const std::string& hash, ScheduleApi& schedules) {
  v1::FindWorkloadRequest request;
  request.set_hex_prefix(hash);
  ASSIGN_OR_RETURN(const v1::FindWorkloadResponse response, schedules.FindWorkload(request));
  return std::vector<Shown>{{.workload = response.workload()}};
}

Status AddBest(std::vector<Shown>& all, ScheduleApi& schedules) {
  for (Shown& shown : all) {
    v1::ListBestRequest request;
    request.set_workload(shown.workload.digest());
    ASSIGN_OR_RETURN(const v1::ListBestResponse response, schedules.ListBest(request));
    shown.best.assign(response.records().begin(), response.records().end());
  }
  return OkStatus();
}

StatusOr<Everything> Collect(const ShowOptions& options) {
  const std::string& what = options.file.path;
  const bool is_file = access(what.c_str(), F_OK) == 0;
  if (!is_file && !IsHash(what)) return NotFound("read " + what + ": no such file, and no hash of 8 to 64 hex digits");
  Everything all;
  if (is_file) {
    ASSIGN_OR_RETURN(all, ReadShown(options));
  }
  StatusOr<Session> session = Session::Open(options.place, Access::kRead);
  if (is_file && session.code() == StatusCode::kNotFound) return all;  // No database yet: nothing is known.
  if (!session.ok()) return session.status();
  if (!is_file) {
    ASSIGN_OR_RETURN(all.workloads, ShownOfHash(what, session->schedules()));
  }
  RETURN_IF_ERROR(AddBest(all.workloads, session->schedules()));
  return all;
}

void PrintAsComment(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) std::printf("# %s\n", line.c_str());
}

// A text that can be tuned: what is no part of the program is a comment.
void Print(const Shown& shown) {
  const std::string calls = shown.weight > 1 ? fmt::format("  ({} calls)", shown.weight) : "";
  PrintAsComment(fmt::format("{}  {}{}", shown.workload.name(), HexOf(shown.workload.digest()), calls));
  std::printf("%s\n", shown.workload.text().c_str());
  TextTable table({"DEVICE", ">BEST", "STATUS", "CODEGEN", "TARGET"});
  for (const v1::Record& record : shown.best) {
    table.Add({record.key().device_key(), FormatNs(record.timings().median_ns()), record.status(),
               record.key().codegen_version(), record.key().target()});
  }
  PrintAsComment(table.empty() ? "no schedule is known" : table.Render());
  std::printf("\n");
}

// The fastest one for the target as a Python function; a comment where none is known.
StatusOr<std::string> ScheduleText(const Shown& shown, const std::string& target) {
  const v1::Record* best = nullptr;
  for (const v1::Record& record : shown.best) {
    if (record.key().target() != target || !record.has_timings()) continue;
    if (best == nullptr || record.timings().median_ns() < best->timings().median_ns()) best = &record;
  }
  if (best == nullptr) return fmt::format("# {}: no schedule is known for \"{}\"\n", shown.workload.name(), target);
  ASSIGN_OR_RETURN(const ScheduleTrace trace, ScheduleTrace::FromJson(best->trace_json()));
  return ToPythonFunction(shown.workload.name(), trace);
}

StatusOr<int> PrintSchedules(const Everything& all, const std::string& target_text) {
  ASSIGN_OR_RETURN(const Target target, Target::Parse(target_text));
  for (const Shown& shown : all.workloads) {
    ASSIGN_OR_RETURN(const std::string text, ScheduleText(shown, target.ToString()));
    std::printf("%s%s", &shown == &all.workloads.front() ? "" : "\n", text.c_str());
  }
  return kExitOk;
}

int Run(const ShowOptions& options) {
  const StatusOr<Everything> all = Collect(options);
  if (!all.ok()) return ReportError(all.status());
  if (options.as_schedules) {
    const StatusOr<int> code = PrintSchedules(*all, options.target);
    return code.ok() ? *code : ReportError(code.status());
  }
  nlohmann::ordered_json json = {{"network", nullptr}, {"workloads", nlohmann::ordered_json::array()}};
  if (!all->network.empty()) json["network"] = all->network;
  if (!all->network.empty() && !options.as_json) std::printf("%s\n", all->network.c_str());
  for (const Shown& shown : all->workloads) {
    nlohmann::ordered_json best = nlohmann::ordered_json::array();
    for (const v1::Record& record : shown.best) best.push_back(ToJson(record));
    json["workloads"].push_back({{"name", shown.workload.name()},
                                 {"workload", HexOf(shown.workload.digest())},
                                 {"weight", shown.weight},
                                 {"text", shown.workload.text()},
                                 {"best", std::move(best)}});
    if (!options.as_json) Print(shown);
  }
  if (options.as_json) PrintJson(json);
  return kExitOk;
}

}  // namespace

void AddShow(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* verb = app.add_subcommand("show",
                                      "Show a network after its graph passes, the workloads of a file, or one by its "
                                      "hash, and the best schedules known");
  verb->add_option("WHAT", options->file.path,
                   "MODEL.onnx, FUNC.py (TVMScript), or the first 8 or more digits of a workload's hash")
      ->required();
  AddNetworkFlags(*verb, options->target, options->file.network);
  verb->add_flag("--json", options->as_json, "machine-readable, with the schedule traces (docs/formats/cli_json.md)");
  verb->add_flag("--schedules", options->as_schedules,
                 "only the best schedules known for the target, as Python functions for `lathe compile --schedules`")
      ->excludes("--json");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
