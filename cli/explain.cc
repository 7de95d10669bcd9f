// lathe explain: why the best schedules of a job are the best, and how its searches came to them.
#include <CLI/CLI.hpp>

#include "cli/explanation.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace lathe {
namespace {

struct ExplainVerb {
  Place place;
  int64_t job_id = 0;
  ExplainOptions options;
};

int Run(const ExplainVerb& verb) {
  StatusOr<Session> session = Session::Open(verb.place, Access::kRead);
  if (!session.ok()) return ReportError(session.status());
  const Status status = ExplainJob(session->tuning(), verb.job_id, verb.options);
  return EndVerb(status);
}

}  // namespace

void AddExplain(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ExplainVerb>();
  CLI::App* verb = app.add_subcommand(
      "explain", "Say why the best schedules of a job are the best, and how its searches came to them");
  verb->add_option("JOB", options->job_id, "the job")->required()->check(WholeNumber(1));
  verb->add_option("--tasks", options->options.tasks, "only tasks whose name fits this pattern")->capture_default_str();
  verb->add_option("--svg", options->options.svg, "draw there how the searches converged");
  verb->add_flag("--json", options->options.as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
