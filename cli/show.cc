// lathe show: a workload, from a file or by its hash, and what is known about it.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/report_error.h"
#include "cli/message_json.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct Shown {
  v1::Workload workload;
  std::vector<v1::Record> best;
};

bool IsHash(const std::string& what) {
  return what.size() >= 8 && what.size() <= 64 && what.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("read " + path + ": no such file, and no hash of 8 to 64 hex digits");
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return InvalidArgument("read " + path + ": a folder; name a TVMScript file");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

StatusOr<std::vector<Shown>> ShownOfFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(const IRModule module, ParseModule(text, path));
  std::vector<Shown> shown;
  for (const PrimFunc& func : module.prim_funcs) {
    v1::Workload& workload = shown.emplace_back().workload;
    workload.set_digest(std::string(WorkloadDigest(func).raw()));
    workload.set_name(func.name);
    workload.set_text(Print(func));
  }
  return shown;
}

StatusOr<std::vector<Shown>> ShownOfHash(const std::string& hash, ScheduleApi& schedules) {
  v1::FindWorkloadRequest request;
  request.set_hex_prefix(hash);
  ASSIGN_OR_RETURN(const v1::FindWorkloadResponse response, schedules.FindWorkload(request));
  return std::vector<Shown>{{response.workload(), {}}};
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

StatusOr<std::vector<Shown>> Collect(const std::string& what, const Place& place) {
  const bool is_file = access(what.c_str(), F_OK) == 0 || !IsHash(what);
  std::vector<Shown> shown;
  if (is_file) {
    ASSIGN_OR_RETURN(shown, ShownOfFile(what));
  }
  StatusOr<Session> session = Session::Open(place, Access::kRead);
  if (is_file && session.code() == StatusCode::kNotFound && !session.ok()) return shown;  // No database yet: nothing is known.
  if (!session.ok()) return session.status();
  if (!is_file) {
    ASSIGN_OR_RETURN(shown, ShownOfHash(what, session->schedules()));
  }
  RETURN_IF_ERROR(AddBest(shown, session->schedules()));
  return shown;
}

void Print(const Shown& shown) {
  std::printf("%s  %s\n\n%s\n", shown.workload.name().c_str(), HexOf(shown.workload.digest()).c_str(), shown.workload.text().c_str());
  TextTable table({"DEVICE", ">BEST", "STATUS", "CODEGEN", "TARGET"});
  for (const v1::Record& record : shown.best) {
    table.Add({record.key().device_key(), FormatNs(record.timings().median_ns()), record.status(), record.key().codegen_version(),
               record.key().target()});
  }
  std::printf("%s\n", table.empty() ? "no schedule is known" : table.Render().c_str());
}

struct ShowOptions {
  Place place;
  std::string what;
  bool as_json = false;
};

int Run(const ShowOptions& options) {
  const StatusOr<std::vector<Shown>> all = Collect(options.what, options.place);
  if (!all.ok()) return ReportError(all.status());
  nlohmann::ordered_json json = {{"workloads", nlohmann::ordered_json::array()}};
  for (const Shown& shown : *all) {
    nlohmann::ordered_json best = nlohmann::ordered_json::array();
    for (const v1::Record& record : shown.best) best.push_back(ToJson(record));
    json["workloads"].push_back({{"name", shown.workload.name()}, {"workload", HexOf(shown.workload.digest())},
                                 {"text", shown.workload.text()}, {"best", std::move(best)}});
    if (!options.as_json) Print(shown);
  }
  if (options.as_json) PrintJson(json);
  return kExitOk;
}

}  // namespace

void AddShow(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* verb = app.add_subcommand("show", "Show the workloads of a file, or one by its hash, and the best schedules known");
  verb->add_option("WHAT", options->what, "FUNC.py (TVMScript), or the first 8 or more digits of a workload's hash")->required();
  verb->add_flag("--json", options->as_json, "machine-readable, with the schedule traces (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
