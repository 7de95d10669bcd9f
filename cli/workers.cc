// lathe workers: who builds.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/message_json.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"

namespace lathe {
namespace {

struct WorkersOptions {
  Place place;
  bool as_json = false;
};

void Print(const v1::ListWorkersResponse& response) {
  TextTable table({"NAME", "STATE", ">SLOTS", ">BUILDING", ">WAITING", ">LAST HEARD"});
  for (const v1::Worker& worker : response.workers())
    table.Add({worker.name(), worker.is_draining() ? "STOPPING" : "ONLINE", std::to_string(worker.slots()),
               std::to_string(worker.building()), std::to_string(worker.tasks() - worker.building()),
               FormatSeconds(static_cast<double>(worker.silent_ns()) / 1e9) + " ago"});
  if (table.empty())
    LogLine("no workers; start one with `lathe worker --connect HOST:PORT`");
  else
    std::fputs(table.Render().c_str(), stdout);
}

int Run(const WorkersOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kLive);
  if (!session.ok()) return ReportError(session.status());
  const StatusOr<v1::ListWorkersResponse> response = session->farm().ListWorkers({});
  if (!response.ok()) return ReportError(response.status());
  if (!options.as_json) {
    Print(*response);
    return kExitOk;
  }
  nlohmann::ordered_json json = {{"workers", nlohmann::ordered_json::array()}};
  for (const v1::Worker& worker : response->workers()) json["workers"].push_back(ToJson(worker));
  PrintJson(json);
  return kExitOk;
}

}  // namespace

void AddWorkers(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<WorkersOptions>();
  CLI::App* verb = app.add_subcommand("workers", "List workers, and what each builds");
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
