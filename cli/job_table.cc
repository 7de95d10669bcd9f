#include "cli/job_table.h"

#include <fmt/format.h>

#include "cli/message_json.h"
#include "cli/text_table.h"
#include "cli/time_text.h"

namespace lathe {

std::string RenderJob(const v1::Job& job) {
  std::string text = fmt::format("job {}  {}  {}", job.id(), job.name(), JobStateText(job.state()));
  if (!job.detail().empty()) text += fmt::format(": {}", job.detail());
  if (!job.space().empty()) text += fmt::format("  (space {})", job.space());
  text += '\n';
  TextTable table({"TASK", "STATE", ">CALLS", ">TRIALS", ">OPEN", ">FAILED", ">BEST", "WORKLOAD"});
  for (const v1::Task& task : job.tasks()) {
    int64_t with_time = 0;
    for (const v1::StateCount& count : task.counts()) {
      if (count.state() == "OK" || count.state() == "NOISY" || count.state() == "CENSORED") with_time += count.trials();
    }
    table.Add({task.name(), std::string(JobStateText(task.state())), fmt::format("{}", task.weight()),
               fmt::format("{}/{}", task.trials_known(), task.trial_budget()), fmt::format("{}", task.trials_open()),
               fmt::format("{}", task.trials_done() - with_time), FormatNs(task.best_ns()),
               HexOf(task.key().workload()).substr(0, 12)});
  }
  return table.empty() ? text : text + table.Render();
}

std::string RenderProgress(const v1::Job& job) {
  int64_t done = 0, open = 0, timed = 0;
  for (const v1::Task& task : job.tasks()) {
    done += task.trials_done();
    open += task.trials_open();
    timed += task.best_ns() > 0 ? 1 : 0;
  }
  std::string text = fmt::format("job {} {}: {} trials done, {} open, {} of {} tasks have a time", job.id(),
                                 JobStateText(job.state()), done, open, timed, job.tasks_size());
  if (job.tasks_size() == 1 && timed == 1) text += fmt::format(", best {}", FormatNs(job.tasks(0).best_ns()));
  if (!job.detail().empty()) text += fmt::format("; {}", job.detail());
  return text;
}

}  // namespace lathe
