// lathe cancel: ends a job. What has been measured stays.
#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/message_json.h"
#include "cli/parse_flags.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace lathe {

int RunCancel(int argc, char** argv) {
  CLI::App app("Ends a job; its records stay", "lathe cancel");
  Place place;
  int64_t job_id = 0;
  std::string reason;
  app.add_option("job", job_id, "the job")->required()->check(CLI::PositiveNumber);
  app.add_option("--reason", reason, "kept with the job");
  AddPlaceFlags(app, place);
  if (const auto ended = ParseFlags(app, argc, argv)) return *ended;
  StatusOr<Session> session = Session::Open(place, Access::kWrite);
  if (!session.ok()) return Fail(session.status());
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  request.set_reason(reason);
  const StatusOr<v1::CancelJobResponse> response = session->tuning().CancelJob(request);
  if (!response.ok()) return Fail(response.status());
  const v1::Job& job = response->job();
  std::fprintf(stderr, "lathe: job %lld is %s%s%s\n", static_cast<long long>(job.id()), std::string(JobStateText(job.state())).c_str(),
               job.detail().empty() ? "" : ": ", job.detail().c_str());
  return kExitOk;
}

}  // namespace lathe
