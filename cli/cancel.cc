// lathe cancel: ends a job. What has been measured stays.
#include <CLI/CLI.hpp>

#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace lathe {

namespace {

struct CancelOptions {
  Place place;
  int64_t job_id = 0;
  std::string reason;
};

int Run(const CancelOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kWrite);
  if (!session.ok()) return ReportError(session.status());
  v1::CancelJobRequest request;
  request.set_job_id(options.job_id);
  request.set_reason(options.reason);
  const StatusOr<v1::CancelJobResponse> response = session->tuning().CancelJob(request);
  if (!response.ok()) return ReportError(response.status());
  const v1::Job& job = response->job();
  std::fprintf(stderr, "lathe: job %lld is %s%s%s\n", static_cast<long long>(job.id()),
               std::string(JobStateText(job.state())).c_str(), job.detail().empty() ? "" : ": ", job.detail().c_str());
  return kExitOk;
}

}  // namespace

void AddCancel(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CancelOptions>();
  CLI::App* verb = app.add_subcommand("cancel", "End a job; its records stay");
  verb->add_option("JOB", options->job_id, "the job")->required()->check(WholeNumber(1));
  verb->add_option("--reason", options->reason, "kept with the job");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
