#include "tuner/job/job_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/codegen/llvm/compile_module.h"
#include "runner/measure_policy.h"
#include "support/status_macros.h"
#include "tracker/lease_table.h"
#include "tuner/space/spaces.h"

namespace lathe {

std::string JobSpec::ToJson() const {
  nlohmann::json json{{"total_trials", total_trials},
                      {"time_limit_ns", std::min(time_limit, kLongestTimeLimit).count()},
                      {"fresh", is_fresh},
                      {"seed", seed}};
  // Left out where it is the default: jobs of builds that had no other space are still those of the same command.
  if (space != kDefaultSpace) json["space"] = space;
  if (!devices.empty()) json["devices"] = devices;
  if (priority != 0) json["priority"] = priority;
  if (weight != 1) json["weight"] = weight;
  return json.dump();
}

StatusOr<JobSpec> JobSpec::FromJson(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto is_number = [&](const char* field) { return json.contains(field) && json[field].is_number_integer(); };
  if (!json.is_object() || !is_number("total_trials") || !is_number("time_limit_ns") || !is_number("seed") ||
      !json.contains("fresh") || !json["fresh"].is_boolean()) {
    return DataLoss("read job: its spec is not this program's; submit it again");
  }
  const Duration time_limit = std::min(Duration(json["time_limit_ns"].get<int64_t>()), kLongestTimeLimit);
  JobSpec spec{json["total_trials"], time_limit, json["fresh"], json["seed"]};
  const auto has_text = [&](const char* field) { return json.contains(field) && json[field].is_string(); };
  if (has_text("space")) {
    ASSIGN_OR_RETURN(spec.space, CanonicalSpace(json["space"].get<std::string>()));
  } else if (json.contains("space")) {
    return DataLoss("read job: the space of its spec is no text; submit it again");
  }
  if (has_text("devices")) spec.devices = json["devices"];
  if (is_number("priority")) spec.priority = std::clamp<int>(json["priority"], kLowestPriority, kHighestPriority);
  if (json.contains("weight") && json["weight"].is_number()) spec.weight = json["weight"];
  return spec;
}

TuningKey KeyFor(const Digest& workload, std::string target, std::string device_key) {
  return {.workload = workload,
          .target = std::move(target),
          .device_class = std::move(device_key),
          .cache_regime = CacheRegimeName(ScreenPolicy().regime),
          .codegen_version = {kCodegenVersion / 1000, kCodegenVersion % 1000},
          .policy_version = ScreenPolicy().version};
}

}  // namespace lathe
