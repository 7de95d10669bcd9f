// lathe why: why a job is where it is.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/verbs.h"

namespace lathe {
namespace {

struct WhyOptions {
  Place place;
  int64_t job_id = 0;
  bool as_json = false;
};

void Print(const v1::WhyJobResponse& story) {
  for (const std::string& reason : story.reasons()) std::printf("%s\n", reason.c_str());
  if (story.devices().empty()) return;
  TextTable table({"DEVICE", "NOW"});
  for (const auto& device : story.devices()) table.Add({device.device(), device.story()});
  std::printf("\n%s", table.Render().c_str());
}

void PrintAsJson(const v1::WhyJobResponse& story) {
  nlohmann::ordered_json json = {{"reasons", nlohmann::ordered_json::array()},
                                 {"devices", nlohmann::ordered_json::array()}};
  for (const std::string& reason : story.reasons()) json["reasons"].push_back(reason);
  for (const auto& device : story.devices())
    json["devices"].push_back({{"device", device.device()}, {"story", device.story()}});
  PrintJson(json);
}

int Run(const WhyOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kLive);
  if (!session.ok()) return ReportError(session.status());
  v1::WhyJobRequest request;
  request.set_job_id(options.job_id);
  const StatusOr<v1::WhyJobResponse> story = session->tuning().WhyJob(request);
  if (!story.ok()) return ReportError(story.status());
  if (options.as_json)
    PrintAsJson(*story);
  else
    Print(*story);
  return kExitOk;
}

}  // namespace

void AddWhy(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<WhyOptions>();
  CLI::App* verb =
      app.add_subcommand("why", "Say why a job is where it is: what it waits for, and what each device does");
  verb->add_option("JOB", options->job_id, "the job")->required()->check(WholeNumber(1));
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
