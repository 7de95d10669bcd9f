// lathe explain: why the best schedules of a job are the best, and how its searches came to them.
#include <CLI/CLI.hpp>

#include "cli/explanation.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/trial_story.h"
#include "cli/verbs.h"

namespace lathe {
namespace {

struct ExplainVerb {
  Place place;
  int64_t job_id = 0, trial_id = 0;
  ExplainOptions options;
};

int Run(const ExplainVerb& verb) {
  StatusOr<Session> session = Session::Open(verb.place, Access::kRead);
  if (!session.ok()) return ReportError(session.status());
  const Status status = verb.trial_id > 0 ? ExplainTrial(session->tuning(), verb.trial_id, verb.options.as_json)
                                          : ExplainJob(session->tuning(), verb.job_id, verb.options);
  return EndVerb(status);
}

}  // namespace

void AddExplain(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ExplainVerb>();
  CLI::App* verb = app.add_subcommand(
      "explain", "Say why the best schedules of a job are the best, and how its searches came to them");
  CLI::Option_group* which = verb->add_option_group("which");
  which->require_option(1);
  which->add_option("JOB", options->job_id, "the job")->check(WholeNumber(1));
  which->add_option("--trial", options->trial_id, "instead: who built and measured this trial, and what came of it")
      ->check(WholeNumber(1));
  verb->add_option("--tasks", options->options.tasks, "only tasks whose name fits this pattern")->capture_default_str();
  verb->add_option("--svg", options->options.svg, "draw there how the searches converged");
  verb->add_flag("--json", options->options.as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
