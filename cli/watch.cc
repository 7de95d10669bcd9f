// lathe watch: follows a job to its end.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/job_table.h"
#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "support/clock.h"

namespace lathe {
namespace {

constexpr Duration kLineInterval = std::chrono::seconds(1);

// Shows progress on stderr: one line that is rewritten on a terminal, else at most a line per second.
class ProgressLine {
 public:
  ProgressLine() : is_terminal_(isatty(STDERR_FILENO) == 1) {}
  void Show(const v1::Job& job, bool is_last) {
    const TimePoint now = SystemClock().Now();
    if (!is_terminal_ && !is_last && shown_ && now - *shown_ < kLineInterval) return;
    shown_ = now;
    std::fprintf(stderr, is_terminal_ ? "\r\033[K%s%s" : "%s%s", RenderProgress(job).c_str(),
                 is_terminal_ && !is_last ? "" : "\n");
    std::fflush(stderr);
  }

 private:
  const bool is_terminal_;
  std::optional<TimePoint> shown_;
};

void PrintUpdate(const v1::WatchJobResponse& update) {
  nlohmann::ordered_json json = {{"cursor", update.cursor()}, {"events", nlohmann::ordered_json::array()}};
  for (const v1::JobEvent& event : update.events()) json["events"].push_back(ToJson(event));
  json["job"] = ToJson(update.job(), /*with_tasks=*/true);
  PrintJsonLine(json);
}

bool HasEnded(const v1::Job& job) { return job.state() >= v1::JOB_STATE_DONE; }

void StopWatching(int) {
  constexpr char kWords[] = "\nlathe: stopped watching; the job goes on, `lathe watch` shows it again\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWords, sizeof(kWords) - 1);
  _exit(kExitInterrupted);
}

struct WatchOptions {
  Place place;
  int64_t job_id = 0, cursor = 0;
  bool as_json = false;
};

int Run(const WatchOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kRead);
  if (!session.ok()) return ReportError(session.status());
  signal(SIGINT, StopWatching);
  v1::WatchJobRequest request;
  request.set_job_id(options.job_id);
  request.set_after_cursor(options.cursor);
  v1::Job last;
  ProgressLine line;
  const Status status = session->tuning().WatchJob(request, [&](const v1::WatchJobResponse& update) {
    last = update.job();
    if (options.as_json) {
      PrintUpdate(update);
    } else {
      line.Show(last, HasEnded(last));
    }
    return true;
  });
  if (!status.ok()) return ReportError(status);
  if (!options.as_json) std::fputs(RenderJob(last).c_str(), stdout);
  return last.state() == v1::JOB_STATE_DONE ? kExitOk : kExitFailed;
}

}  // namespace

void AddWatch(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* verb = app.add_subcommand("watch", "Follow a job to its end; exit code 0 if it is DONE, else 1");
  verb->add_option("JOB", options->job_id, "the job")->required()->check(WholeNumber(1));
  verb->add_option("--after", options->cursor, "only what happened after this cursor")->check(WholeNumber(0));
  verb->add_flag("--json", options->as_json, "one document per line, as things happen (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
