#include "tuner/job/job_spec.h"

#include <nlohmann/json.hpp>

#include "compiler/codegen/llvm/compile_module.h"
#include "runtime/measure_policy.h"

namespace lathe {

std::string JobSpec::ToJson() const {
  return nlohmann::json{
      {"total_trials", total_trials}, {"time_limit_ns", time_limit.count()}, {"fresh", is_fresh}, {"seed", seed}}
      .dump();
}

StatusOr<JobSpec> JobSpec::FromJson(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto is_number = [&](const char* field) { return json.contains(field) && json[field].is_number_integer(); };
  if (!json.is_object() || !is_number("total_trials") || !is_number("time_limit_ns") || !is_number("seed") ||
      !json.contains("fresh") || !json["fresh"].is_boolean()) {
    return DataLoss("read job: its spec is not this program's; submit it again");
  }
  return JobSpec{json["total_trials"], Duration(json["time_limit_ns"].get<int64_t>()), json["fresh"], json["seed"]};
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
