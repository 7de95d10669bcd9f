// lathe trials: what a job tried, or why some of it failed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/all_pages.h"
#include "cli/failure_groups.h"
#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

void PrintTrials(const std::vector<v1::Trial>& trials) {
  TextTable table({">TRIAL", ">TASK", "STATE", ">MEDIAN", ">ATTEMPT", "WORDS"});
  for (const v1::Trial& trial : trials) {
    const std::string state =
        trial.final_round() > 0 ? fmt::format("{} (final {})", trial.state(), trial.final_round()) : trial.state();
    table.Add({std::to_string(trial.id()), std::to_string(trial.task_id()), state, FormatNs(trial.median_ns()),
               std::to_string(trial.attempt()), Shorten(trial.error(), 80)});
  }
  if (table.empty()) {
    std::fprintf(stderr, "lathe: the job has no trials yet\n");
  } else {
    std::fputs(table.Render().c_str(), stdout);
  }
}

std::string FirstOf(const std::vector<int64_t>& trial_ids) {
  constexpr size_t kShown = 8;
  const size_t shown = std::min(trial_ids.size(), kShown);
  std::string text =
      fmt::format("{}", fmt::join(trial_ids.begin(), trial_ids.begin() + static_cast<ptrdiff_t>(shown), ", "));
  return shown < trial_ids.size() ? text + ", ..." : text;
}

void PrintFailures(const std::vector<FailureGroup>& groups) {
  for (const FailureGroup& group : groups) {
    fmt::print("{} x {} (trials {})\n", group.trial_ids.size(), group.state, FirstOf(group.trial_ids));
    std::string words = group.words.empty() ? "no words were left" : group.words;
    for (size_t at = 0; (at = words.find('\n', at)) != std::string::npos; at += 5) words.replace(at, 1, "\n    ");
    fmt::print("    {}\n", words);
  }
  if (groups.empty()) std::fprintf(stderr, "lathe: no trial of the job has failed\n");
}

nlohmann::ordered_json FailuresJson(const std::vector<FailureGroup>& groups) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const FailureGroup& group : groups) {
    json.push_back({{"state", group.state},
                    {"count", group.trial_ids.size()},
                    {"error", group.words},
                    {"trials", group.trial_ids}});
  }
  return json;
}

struct TrialsOptions {
  Place place;
  int64_t job_id = 0;
  bool only_failed = false, with_traces = false, as_json = false;
};

int Run(const TrialsOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kRead);
  if (!session.ok()) return ReportError(session.status());
  v1::ListTrialsRequest request;
  request.set_job_id(options.job_id);
  request.set_only_failed(options.only_failed);
  request.set_with_traces(options.with_traces);
  const StatusOr<std::vector<v1::Trial>> trials =
      AllPages(session->tuning(), &TuningApi::ListTrials, &v1::ListTrialsResponse::trials, request);
  if (!trials.ok()) return ReportError(trials.status());
  if (options.as_json) {
    nlohmann::ordered_json json = {{"job_id", options.job_id}, {"trials", nlohmann::ordered_json::array()}};
    for (const v1::Trial& trial : *trials) json["trials"].push_back(ToJson(trial));
    if (options.only_failed) json["failures"] = FailuresJson(GroupFailures(*trials));
    PrintJson(json);
  } else if (options.only_failed) {
    PrintFailures(GroupFailures(*trials));
  } else {
    PrintTrials(*trials);
  }
  return kExitOk;
}

}  // namespace

void AddTrials(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TrialsOptions>();
  CLI::App* verb = app.add_subcommand("trials", "List what a job tried, or why some of it failed");
  verb->add_option("JOB", options->job_id, "the job")->required()->check(WholeNumber(1));
  verb->add_flag("--failed", options->only_failed,
                 "only failures, grouped by reason, with the compiler's or runner's words");
  verb->add_flag("--traces", options->with_traces, "with the schedule traces (in --json)");
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
