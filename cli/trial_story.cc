#include "cli/trial_story.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/message_json.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

std::string WhoHad(const v1::Attempt& attempt) {
  return attempt.worker().empty() ? fmt::format("measured by {}, lease {}", attempt.device(), attempt.epoch())
                                  : "built by " + attempt.worker();
}

void PrintAttempts(const v1::ExplainTrialResponse& story) {
  if (story.attempts().empty()) {
    fmt::print("nobody was given it yet, or it is so long ago that it is forgotten\n");
    return;
  }
  TextTable table({">ATTEMPT", "BY", "BEGUN", ">LASTED", "ENDED AS", "WORDS"});
  for (const v1::Attempt& attempt : story.attempts()) {
    const bool is_over = attempt.ended_unix_ns() != 0;
    const auto lasted = static_cast<double>(attempt.ended_unix_ns() - attempt.claimed_unix_ns());
    table.Add({std::to_string(attempt.attempt()), WhoHad(attempt), FormatUtc(attempt.claimed_unix_ns()),
               is_over ? FormatNs(lasted) : "-", attempt.state(), Shorten(attempt.error(), 120)});
  }
  fmt::print("{}", table.Render());
}

void PrintRecord(const v1::Record& record) {
  fmt::print("\nrecord {}: {}", record.id(), record.status());
  if (record.has_timings())
    fmt::print(" {}, 95 % interval {} to {}, {} samples", FormatNs(record.timings().median_ns()),
               FormatNs(record.timings().ci_low_ns()), FormatNs(record.timings().ci_high_ns()),
               record.timings().runs());
  if (!record.device().empty()) fmt::print(", on {}", record.device());
  fmt::print(", {}\n", FormatUtc(record.committed_unix_ns()));
  if (!record.environment().empty()) fmt::print("  in {}\n", record.environment());
  if (!record.error().empty()) fmt::print("  {}\n", record.error());
}

void Print(const v1::ExplainTrialResponse& story) {
  const v1::Trial& trial = story.trial();
  fmt::print("trial {} of job {}, task {}: {}{}\n\n", trial.id(), story.job_id(), story.task_name(), trial.state(),
             trial.error().empty() ? "" : ": " + trial.error());
  PrintAttempts(story);
  for (const v1::Record& record : story.records()) PrintRecord(record);
}

nlohmann::ordered_json TextOrNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

nlohmann::ordered_json AttemptToJson(const v1::Attempt& attempt) {
  return {{"attempt", attempt.attempt()},
          {"worker", TextOrNull(attempt.worker())},
          {"device", TextOrNull(attempt.device())},
          {"epoch", attempt.epoch()},
          {"state", attempt.state()},
          {"error", attempt.error()},
          {"claimed_unix_ns", attempt.claimed_unix_ns()},
          {"ended_unix_ns", attempt.ended_unix_ns()}};
}

}  // namespace

Status ExplainTrial(TuningApi& tuning, int64_t trial_id, bool as_json) {
  v1::ExplainTrialRequest request;
  request.set_trial_id(trial_id);
  ASSIGN_OR_RETURN(const v1::ExplainTrialResponse story, tuning.ExplainTrial(request));
  if (!as_json) {
    Print(story);
    return OkStatus();
  }
  nlohmann::ordered_json json = {{"job_id", story.job_id()},
                                 {"task", story.task_name()},
                                 {"trial", ToJson(story.trial())},
                                 {"attempts", nlohmann::ordered_json::array()},
                                 {"records", nlohmann::ordered_json::array()}};
  for (const v1::Attempt& attempt : story.attempts()) json["attempts"].push_back(AttemptToJson(attempt));
  for (const v1::Record& record : story.records()) json["records"].push_back(ToJson(record));
  PrintJson(json);
  return OkStatus();
}

}  // namespace lathe
