// lathe jobs: all jobs, or one with its tasks.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/job_table.h"
#include "cli/message_json.h"
#include "cli/parse_flags.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

StatusOr<std::vector<v1::Job>> ListAll(TuningApi& tuning) {
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest request;
  request.set_page_size(1000);
  do {
    ASSIGN_OR_RETURN(const v1::ListJobsResponse page, tuning.ListJobs(request));
    jobs.insert(jobs.end(), page.jobs().begin(), page.jobs().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return jobs;
}

Status ShowAll(TuningApi& tuning, bool as_json) {
  ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs, ListAll(tuning));
  nlohmann::ordered_json json = {{"jobs", nlohmann::ordered_json::array()}};
  Table table({">JOB", "STATE", "CREATED (UTC)", "NAME", "DETAIL"});
  for (const v1::Job& job : jobs) {
    json["jobs"].push_back(ToJson(job, /*with_tasks=*/false));
    table.Add({std::to_string(job.id()), std::string(JobStateText(job.state())), FormatUtc(job.created_unix_ns()), Shorten(job.name(), 40),
               Shorten(job.detail(), 80)});
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

}  // namespace

int RunJobs(int argc, char** argv) {
  CLI::App app("Lists jobs, or shows one with its tasks", "lathe jobs");
  Place place;
  int64_t job_id = 0;
  bool as_json = false;
  app.add_option("job", job_id, "only this job")->check(CLI::PositiveNumber);
  app.add_flag("--json", as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(app, place);
  if (const auto ended = ParseFlags(app, argc, argv)) return *ended;
  StatusOr<Session> session = Session::Open(place, Access::kRead);
  if (!session.ok()) return Fail(session.status());
  const Status status = job_id > 0 ? ShowOne(session->tuning(), job_id, as_json) : ShowAll(session->tuning(), as_json);
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace lathe
