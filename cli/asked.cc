// lathe asked: what builds asked for and did not get, and a job that makes it.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/all_pages.h"
#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/target_names.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "compiler/target/target.h"
#include "support/digest.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct AskedOptions {
  Place place;
  std::string target, device = "local";
  int64_t trials_per_task = 64;
  bool as_json = false, tunes = false, is_long = false;
};

using AskedList = std::vector<v1::AskedWorkload>;

// The last asked for first.
StatusOr<AskedList> ListAll(ScheduleApi& schedules, const std::string& target) {
  v1::ListAskedRequest request;
  request.set_target(target);
  ASSIGN_OR_RETURN(AskedList asked,
                   AllPages(schedules, &ScheduleApi::ListAsked, &v1::ListAskedResponse::asked, request));
  std::ranges::stable_sort(asked, std::greater<>(), &v1::AskedWorkload::last_unix_ns);
  return asked;
}

void Show(const AskedList& asked, const AskedOptions& options) {
  std::vector<std::string> targets;
  for (const v1::AskedWorkload& one : asked) targets.push_back(one.target());
  const TargetNames names(targets, options.is_long);
  nlohmann::ordered_json json = {{"asked", nlohmann::ordered_json::array()}};
  TextTable table({"KERNEL", ">WORKLOAD", ">TIMES", "LAST (UTC)", "NETWORK", "TARGET"});
  for (const v1::AskedWorkload& one : asked) {
    json["asked"].push_back(ToJson(one));
    table.Add({Shorten(one.workload().name(), 40), HexOf(one.workload().digest()).substr(0, 12),
               std::to_string(one.times()), FormatUtc(one.last_unix_ns()), Shorten(one.network(), 30),
               names.Of(one.target())});
  }
  if (options.as_json)
    PrintJson(json);
  else if (table.empty())
    LogLine("no build asked for what is not there");
  else
    std::fputs((table.Render()).c_str(), stdout);
}

// The same list for the same devices is the same job: its id is of what it asks for, and of when that was asked last.
v1::SubmitJobRequest JobOf(const AskedList& asked, const AskedOptions& options) {
  v1::SubmitJobRequest request;
  request.set_name(fmt::format("asked by builds of {}", Shorten(asked.front().network(), 100)));
  request.set_target(asked.front().target());
  request.set_device_key(options.device);
  request.set_trials_per_task(options.trials_per_task);
  for (const v1::AskedWorkload& one : asked) {
    v1::TaskSpec& task = *request.add_tasks();
    task.set_workload(one.workload().text());
    task.set_name(one.workload().name());
    task.set_weight(one.weight());
  }
  const std::string what = request.SerializeAsString() + std::to_string(asked.front().last_unix_ns());
  request.set_request_id("asked-" + Sha256(what).ToHex());
  return request;
}

StatusOr<int> Tune(TuningApi& tuning, const AskedList& asked, const AskedOptions& options) {
  if (asked.empty()) return NotFound("asked: nothing to tune; no build asked for what is not there");
  std::set<std::string> targets;
  for (const v1::AskedWorkload& one : asked) targets.insert(fmt::format("\"{}\"", one.target()));
  if (targets.size() > 1)
    return InvalidArgument(fmt::format("asked: {} targets, a job is of one; name it by --target: {}", targets.size(),
                                       fmt::join(targets, ", ")));
  ASSIGN_OR_RETURN(const v1::SubmitJobResponse response, tuning.SubmitJob(JobOf(asked, options)));
  const int64_t id = response.job().id();
  if (options.as_json)
    PrintJson({{"job", id}, {"created", response.created()}, {"tasks", asked.size()}});
  else
    std::printf("job %lld: %zu kernels%s\n", static_cast<long long>(id), asked.size(),
                response.created() ? "" : ", as it was submitted before");
  LogLine(fmt::format("next: `lathe watch {}`; once it is done, the next build has them", id));
  return kExitOk;
}

StatusOr<int> Run(const AskedOptions& options) {
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, options.tunes ? Access::kLive : Access::kRead));
  std::string target;
  if (!options.target.empty()) {
    ASSIGN_OR_RETURN(const Target parsed, Target::Parse(options.target));
    target = parsed.ToString();
  }
  ASSIGN_OR_RETURN(const AskedList asked, ListAll(session.schedules(), target));
  if (options.tunes) return Tune(session.tuning(), asked, options);
  Show(asked, options);
  return kExitOk;
}

}  // namespace

void AddAsked(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<AskedOptions>();
  CLI::App* verb = app.add_subcommand("asked", "List what builds asked for and did not get, or make a job of it");
  verb->add_option("--target", options->target, "only this one: TVM target string or tag");
  CLI::Option* tunes = verb->add_flag("--tune", options->tunes, "submit a job of what is listed to the server");
  verb->add_option("--device", options->device, "key of the devices to measure on")
      ->needs(tunes)
      ->capture_default_str();
  verb->add_option("--trials-per-task", options->trials_per_task, "trials per kernel, known ones included")
      ->needs(tunes)
      ->check(WholeNumber(1))
      ->capture_default_str();
  verb->add_flag("--long", options->is_long, "show targets by their whole text");
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
