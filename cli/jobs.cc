// lathe jobs: all jobs, or one with its tasks.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/all_pages.h"
#include "cli/job_table.h"
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

Status ShowAll(TuningApi& tuning, bool as_json) {
  ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs,
                   AllPages(tuning, &TuningApi::ListJobs, &v1::ListJobsResponse::jobs));
  nlohmann::ordered_json json = {{"jobs", nlohmann::ordered_json::array()}};
  TextTable table({">JOB", "STATE", "CREATED (UTC)", "NAME", "SPACE", "DETAIL"});
  for (const v1::Job& job : jobs) {
    json["jobs"].push_back(ToJson(job, /*with_tasks=*/false));
    table.Add({std::to_string(job.id()), std::string(JobStateText(job.state())), FormatUtc(job.created_unix_ns()),
               Shorten(job.name(), 40), job.space(), Shorten(job.detail(), 80)});
  }
  if (as_json) {
    PrintJson(json);
  } else if (table.empty()) {
    std::fprintf(stderr, "lathe: no jobs yet; `lathe tune FUNC.py` makes one\n");
  } else {
    std::fputs(table.Render().c_str(), stdout);
  }
  return OkStatus();
}

Status ShowOne(TuningApi& tuning, int64_t job_id, bool as_json) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  ASSIGN_OR_RETURN(const v1::GetJobResponse response, tuning.GetJob(request));
  if (as_json) {
    PrintJson(ToJson(response.job(), /*with_tasks=*/true));
  } else {
    std::fputs(RenderJob(response.job()).c_str(), stdout);
  }
  return OkStatus();
}

struct JobsOptions {
  Place place;
  int64_t job_id = 0;
  bool as_json = false;
};

int Run(const JobsOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kRead);
  if (!session.ok()) return ReportError(session.status());
  const Status status = options.job_id > 0 ? ShowOne(session->tuning(), options.job_id, options.as_json)
                                           : ShowAll(session->tuning(), options.as_json);
  return EndVerb(status);
}

}  // namespace

void AddJobs(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App* verb = app.add_subcommand("jobs", "List jobs, or show one with its tasks");
  verb->add_option("JOB", options->job_id, "only this job")->check(WholeNumber(1));
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
