// lathe best: what the database knows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/message_json.h"
#include "cli/network.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/target_names.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/tune_workloads.h"
#include "cli/verbs.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kPage = 1000;

struct BestOptions {
  Place place;
  TuneFile file;
  std::string target = "auto", workload;
  bool is_json = false, is_long = false;
};

struct Wanted {
  std::string digest, name;
};

StatusOr<std::vector<Wanted>> FromFile(const BestOptions& options) {
  ASSIGN_OR_RETURN(const Target target, Target::Parse(options.target));
  ASSIGN_OR_RETURN(const Workloads workloads, ReadWorkloads(options.file, target));
  std::vector<Wanted> wanted;
  for (const Function& function : workloads.functions)
    wanted.push_back({std::string(function.workload.raw()), function.func.name});
  return wanted;
}

StatusOr<std::vector<Wanted>> FromPrefix(ScheduleApi& schedules, const std::string& prefix) {
  v1::FindWorkloadRequest request;
  request.set_hex_prefix(prefix);
  const StatusOr<v1::FindWorkloadResponse> found = schedules.FindWorkload(request);
  if (found.code() == StatusCode::kNotFound) return std::vector<Wanted>{};
  if (!found.ok()) return found.status();
  return std::vector<Wanted>{{found->workload().digest(), found->workload().name()}};
}

StatusOr<std::vector<Wanted>> AllOf(ScheduleApi& schedules) {
  std::vector<Wanted> wanted;
  v1::ListWorkloadsRequest request;
  request.set_page_size(kPage);
  do {
    ASSIGN_OR_RETURN(const v1::ListWorkloadsResponse page, schedules.ListWorkloads(request));
    for (const v1::Workload& workload : page.workloads()) wanted.push_back({workload.digest(), workload.name()});
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return wanted;
}

StatusOr<std::vector<Wanted>> Find(const BestOptions& options, ScheduleApi& schedules) {
  if (!options.file.path.empty()) return FromFile(options);
  return options.workload.empty() ? AllOf(schedules) : FromPrefix(schedules, options.workload);
}

std::string Miss(const Wanted& item, const std::string& hash, const BestOptions& options) {
  const std::string how =
      options.file.path.empty() ? fmt::format("`lathe show {} > FUNC.py`, then `lathe tune FUNC.py`", hash) : "tune it";
  return fmt::format("MISS {} {}: nothing was measured; {}", item.name, hash, how);
}

struct Known {
  std::string name, hash;
  v1::Record record;
};

void PrintTable(const std::vector<Known>& known, bool is_long) {
  std::vector<std::string> targets;
  for (const Known& one : known) targets.push_back(one.record.key().target());
  const TargetNames names(targets, is_long);
  TextTable table({"TASK", "WORKLOAD", ">BEST", "STATUS", "DEVICE", "TARGET"});
  for (const Known& one : known) {
    table.Add({one.name, one.hash.substr(0, 12), FormatNs(one.record.timings().median_ns()), one.record.status(),
               one.record.key().device_key(), names.Of(one.record.key().target())});
  }
  if (!table.empty()) std::fputs(table.Render().c_str(), stdout);
}

void PrintAsJson(const std::vector<Known>& known) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Known& one : known) {
    json.push_back({{"name", one.name}, {"workload", one.hash}});
    json.back().update(ToJson(one.record));
  }
  PrintJson(json);
}

StatusOr<int> Run(const BestOptions& options) {
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kRead));
  ASSIGN_OR_RETURN(const std::vector<Wanted> wanted, Find(options, session.schedules()));
  std::vector<Known> known;
  std::vector<std::string> missing;
  for (const Wanted& item : wanted) {
    v1::ListBestRequest request;
    request.set_workload(item.digest);
    ASSIGN_OR_RETURN(const v1::ListBestResponse best, session.schedules().ListBest(request));
    const std::string hash = HexOf(item.digest);
    if (best.records().empty()) missing.push_back(Miss(item, hash.substr(0, 12), options));
    for (const v1::Record& record : best.records()) known.push_back({item.name, hash, record});
  }
  if (options.is_json)
    PrintAsJson(known);
  else
    PrintTable(known, options.is_long);
  for (const std::string& line : missing) std::fprintf(stderr, "%s\n", line.c_str());
  if (wanted.empty())
    std::fprintf(stderr, "MISS %s: not in the database; tune it\n",
                 options.workload.empty() ? "any workload" : options.workload.c_str());
  return wanted.empty() || !missing.empty() ? kExitMiss : kExitOk;
}

}  // namespace

void AddBest(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App* verb = app.add_subcommand("best", "Show the best known schedules");
  auto* file = verb->add_option("FILE", options->file.path,
                                "MODEL.onnx: its tasks; FUNC.py: its functions; default: all that the database knows");
  AddNetworkFlags(*verb, options->target, options->file.network);
  verb->add_option("--workload", options->workload, "64 hex digits, or a unique beginning of 8 or more")
      ->excludes(file);
  verb->add_flag("--long", options->is_long, "Show targets by their whole text");
  verb->add_flag("--json", options->is_json, "Print as JSON");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
