#include "cli/message_json.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(double value) { return value > 0 ? Json(value) : Json(nullptr); }

}  // namespace

std::string_view JobStateText(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_QUEUED:
      return "QUEUED";
    case v1::JOB_STATE_RUNNING:
      return "RUNNING";
    case v1::JOB_STATE_DONE:
      return "DONE";
    case v1::JOB_STATE_FAILED:
      return "FAILED";
    case v1::JOB_STATE_CANCELLED:
      return "CANCELLED";
    default:
      return "UNKNOWN";
  }
}

std::string_view DeviceStateText(v1::DeviceState state) {
  switch (state) {
    case v1::DEVICE_STATE_ONLINE:
      return "ONLINE";
    case v1::DEVICE_STATE_SUSPECT:
      return "SUSPECT";
    case v1::DEVICE_STATE_LOST:
      return "LOST";
    case v1::DEVICE_STATE_STALLED:
      return "STALLED";
    default:
      return "UNKNOWN";
  }
}

std::string HexOf(std::string_view digest) {
  std::string hex;
  for (const char c : digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

Json ToJson(const v1::Task& task) {
  Json json = {{"id", task.id()},
               {"name", task.name()},
               {"workload", HexOf(task.key().workload())},
               {"target", task.key().target()},
               {"device_key", task.key().device_key()},
               {"state", JobStateText(task.state())},
               {"weight", task.weight()},
               {"trial_budget", task.trial_budget()},
               {"trials_known", task.trials_known()},
               {"trials_done", task.trials_done()},
               {"trials_open", task.trials_open()},
               {"best_ns", NumberOrNull(task.best_ns())},
               {"untuned_ns", NumberOrNull(task.untuned_ns())},
               {"counts", Json::object()}};
  for (const v1::StateCount& count : task.counts()) json["counts"][count.state()] = count.trials();
  return json;
}

Json ToJson(const v1::Job& job, bool with_tasks) {
  Json json = {{"id", job.id()},
               {"name", job.name()},
               {"state", JobStateText(job.state())},
               {"detail", job.detail()},
               {"request_id", job.request_id()},
               {"created_unix_ns", job.created_unix_ns()},
               {"updated_unix_ns", job.updated_unix_ns()},
               {"space", job.space()}};
  if (!with_tasks) return json;
  json["tasks"] = Json::array();
  for (const v1::Task& task : job.tasks()) json["tasks"].push_back(ToJson(task));
  return json;
}

Json ToJson(const v1::Trial& trial) {
  Json json = {{"id", trial.id()},
               {"task_id", trial.task_id()},
               {"state", trial.state()},
               {"median_ns", NumberOrNull(trial.median_ns())},
               {"attempt", trial.attempt()},
               {"infra_failures", trial.infra_failures()},
               {"trace_digest", HexOf(trial.trace_digest())},
               {"error", trial.error()},
               {"updated_unix_ns", trial.updated_unix_ns()}};
  if (trial.final_round() > 0) json["final_round"] = trial.final_round();
  if (!trial.trace_json().empty()) json["trace"] = trial.trace_json();
  return json;
}

Json ToJson(const v1::JobEvent& event) {
  return {{"cursor", event.cursor()},
          {"at_unix_ns", event.at_unix_ns()},
          {"kind", event.kind()},
          {"subject_id", event.subject_id()},
          {"detail", event.detail()}};
}

Json ToJson(const v1::Record& record) {
  Json json = {{"target", record.key().target()},
               {"device_key", record.key().device_key()},
               {"cache_regime", record.key().cache_regime()},
               {"codegen_version", record.key().codegen_version()},
               {"policy_version", record.key().policy_version()},
               {"status", record.status()},
               {"median_ns", NumberOrNull(record.timings().median_ns())},
               {"ci_ns", Json::array({record.timings().ci_low_ns(), record.timings().ci_high_ns()})},
               {"device", record.device()},
               {"committed_unix_ns", record.committed_unix_ns()},
               {"trace_digest", HexOf(record.trace_digest())},
               {"trace", record.trace_json()}};
  if (!record.has_timings()) json["ci_ns"] = nullptr;
  return json;
}

Json ToJson(const v1::AskedWorkload& asked) {
  return {{"name", asked.workload().name()},
          {"workload", HexOf(asked.workload().digest())},
          {"target", asked.target()},
          {"network", asked.network()},
          {"weight", asked.weight()},
          {"times", asked.times()},
          {"first_unix_ns", asked.first_unix_ns()},
          {"last_unix_ns", asked.last_unix_ns()}};
}

std::string_view DeviceServiceText(v1::DeviceService service) {
  switch (service) {
    case v1::DEVICE_SERVICE_DRAINED:
      return "DRAINED";
    case v1::DEVICE_SERVICE_QUARANTINED:
      return "QUARANTINED";
    default:
      return "IN_SERVICE";
  }
}

std::string_view DeviceHealthText(v1::DeviceHealth health) {
  static constexpr std::string_view kNames[] = {"", "UNKNOWN", "PROBATION", "GOOD", "BAD"};
  const auto number = static_cast<size_t>(health);
  return number < std::size(kNames) ? kNames[number] : "";
}

Json ToJson(const v1::Worker& worker) {
  return {{"name", worker.name()},
          {"slots", worker.slots()},
          {"tasks", worker.tasks()},
          {"building", worker.building()},
          {"codegen_version", worker.codegen_version()},
          {"is_draining", worker.is_draining()},
          {"silent_ns", worker.silent_ns()}};
}

Json ToJson(const v1::Device& device) {
  const Json facts = Json::parse(device.facts(), nullptr, /*allow_exceptions=*/false);
  Json json = {{"name", device.name()},
               {"key", device.key()},
               {"state", DeviceStateText(device.state())},
               {"epoch", device.epoch()},
               {"lease_holder", device.lease_holder().empty() ? Json(nullptr) : Json(device.lease_holder())},
               {"last_seen_unix_ns", device.last_seen_unix_ns()},
               {"service", DeviceServiceText(device.service())},
               {"service_reason", device.service_reason()},
               {"health", DeviceHealthText(device.health())},
               {"health_words", device.health_words()},
               {"golden_ns", device.golden_ns()},
               {"checked_unix_ns", device.checked_unix_ns()},
               {"probe_unix_ns", device.probe_unix_ns()},
               {"reserved_by", device.reserved_by().empty() ? Json(nullptr) : Json(device.reserved_by())},
               {"not_now", device.not_now()},
               {"measuring", Json::array()},
               {"facts", facts.is_discarded() ? Json(nullptr) : facts}};
  for (const int64_t trial : device.measuring()) json["measuring"].push_back(trial);
  return json;
}

namespace {

Json RoundToJson(const v1::ModelRound& round) {
  return {{"trials", round.trials()},
          {"at_unix_ns", round.at_unix_ns()},
          {"batch", round.batch()},
          {"rows", round.rows()},
          {"pairs", round.pairs()},
          {"pairs_right", round.pairs_right()},
          {"regret_at_1", round.regret_at_1()},
          {"regret_at_8", round.regret_at_8()},
          {"refitted", round.refitted()},
          {"trees", round.trees()},
          {"draft_weight", round.draft_weight()}};
}

Json DecisionToJson(const v1::DecisionStory& decision) {
  Json json = {
      {"name", decision.name()}, {"chosen", decision.chosen()}, {"share", decision.share()}, {"values", Json::array()}};
  for (const v1::ValueStory& value : decision.values()) {
    json["values"].push_back({{"value", value.value()},
                              {"trials", value.trials()},
                              {"best_ns", value.best_ns()},
                              {"median_ns", value.median_ns()}});
  }
  return json;
}

}  // namespace

Json ToJson(const v1::TaskExplanation& told) {
  Json json = {{"task_id", told.task_id()},
               {"name", told.name()},
               {"workload", HexOf(told.key().workload())},
               {"target", told.key().target()},
               {"flops", told.flops()},
               {"floor_ns", NumberOrNull(told.floor_ns())},
               {"untuned_ns", NumberOrNull(told.untuned_ns())},
               {"best_ns", NumberOrNull(told.best_ns())},
               {"best_final_ns", NumberOrNull(told.best_final_ns())},
               {"best_sketch", told.best_sketch() < 0 ? Json(nullptr) : Json(told.best_sketch())},
               {"best_after", told.best_after() == 0 ? Json(nullptr) : Json(told.best_after())},
               {"best_trace", told.best_trace()},
               {"bound_by", told.bound_by()},
               {"compute_share", told.compute_share()}};
  for (const char* list : {"sketches", "result_ns", "rounds", "decisions", "neighbours"}) json[list] = Json::array();
  for (const v1::SketchStory& sketch : told.sketches()) {
    json["sketches"].push_back({{"made_by", sketch.made_by()},
                                {"choices", sketch.choices()},
                                {"accepted", sketch.accepted()},
                                {"trials", sketch.trials()},
                                {"best_ns", NumberOrNull(sketch.best_ns())}});
  }
  json["outcomes"] = Json::object();
  for (const v1::StateCount& count : told.outcomes()) json["outcomes"][count.state()] = count.trials();
  for (const double ns : told.result_ns()) json["result_ns"].push_back(NumberOrNull(ns));
  for (const v1::ModelRound& round : told.rounds()) json["rounds"].push_back(RoundToJson(round));
  for (const v1::DecisionStory& decision : told.decisions()) json["decisions"].push_back(DecisionToJson(decision));
  for (const v1::NeighbourStory& neighbour : told.neighbours()) {
    json["neighbours"].push_back({{"name", neighbour.name()},
                                  {"chosen", neighbour.chosen()},
                                  {"other", neighbour.other()},
                                  {"median_ns", neighbour.median_ns()}});
  }
  return json;
}

void PrintJson(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void PrintJsonLine(const Json& json) {
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

}  // namespace lathe
