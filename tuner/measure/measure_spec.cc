#include "tuner/measure/measure_spec.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runner/measure_statistics.h"

namespace lathe {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMostWallNs = 60 * kSecond;
// Beside the timing: loading, inputs, one checked call, the last batch.
constexpr int64_t kWallBesideNs = 10 * kSecond;
constexpr int64_t kMemoryLimitBytes = int64_t{4} << 30;

v1::MeasurePolicy ToProto(const MeasurePolicy& policy) {
  v1::MeasurePolicy message;
  message.set_version(static_cast<int32_t>(policy.version));
  message.set_regime(static_cast<v1::CacheRegime>(policy.regime));
  message.set_warmup_ns(policy.warmup_ns);
  message.set_warmup_calls(policy.warmup_calls);
  message.set_min_batch_ns(policy.min_batch_ns);
  message.set_min_repeats(policy.min_repeats);
  message.set_max_repeats(policy.max_repeats);
  message.set_budget_ns(policy.budget_ns);
  message.set_goal_half_width(policy.goal_half_width);
  message.set_noisy_half_width(policy.noisy_half_width);
  message.set_abandon_factor(policy.abandon_factor);
  message.set_abandon_first_factor(policy.abandon_first_factor);
  message.set_abandon_batch_factor(policy.abandon_batch_factor);
  message.set_race_factor(policy.race_factor);
  message.set_max_redone(policy.max_redone);
  message.set_max_other_share(policy.max_other_share);
  return message;
}

// INVALID: the runner would not load it. For the candidate that is as good as dying of it, and the words say which it
// was.
std::optional<TrialState> OutcomeOf(v1::MeasureStatus status) {
  switch (status) {
    case v1::MEASURE_STATUS_OK:
      return TrialState::kOk;
    case v1::MEASURE_STATUS_NOISY:
      return TrialState::kNoisy;
    case v1::MEASURE_STATUS_CENSORED:
      return TrialState::kCensored;
    case v1::MEASURE_STATUS_WRONG_RESULT:
      return TrialState::kWrongResult;
    case v1::MEASURE_STATUS_RUN_TIMEOUT:
      return TrialState::kRunTimeout;
    case v1::MEASURE_STATUS_CRASH:
    case v1::MEASURE_STATUS_INVALID:
      return TrialState::kCrash;
    case v1::MEASURE_STATUS_OUT_OF_MEMORY:
      return TrialState::kOutOfMemory;
    default:
      return std::nullopt;
  }
}

// Of the samples: what the device makes of them is for its own decisions. A censored trial was not measured to its end:
// what it took at least stands for its time.
Timings TimingsOf(const v1::MeasureResult& result) {
  Timings timings{.runs = static_cast<int64_t>(result.total_calls()),
                  .samples_ns = {result.samples_ns().begin(), result.samples_ns().end()}};
  const SampleStatistics statistics = Summarize(timings.samples_ns);
  timings.median_ns = statistics.median;
  timings.min_ns = statistics.min;
  timings.p90_ns = statistics.p90;
  timings.mad_ns = statistics.mad;
  timings.ci_low_ns = std::max(0.0, statistics.median - statistics.half_width);
  timings.ci_high_ns = statistics.median + statistics.half_width;
  if (result.status() == v1::MEASURE_STATUS_CENSORED && result.lower_bound_ns() > 0) {
    const double bound = result.lower_bound_ns();
    timings = {.median_ns = bound,
               .min_ns = bound,
               .p90_ns = bound,
               .mad_ns = 0,
               .ci_low_ns = bound,
               .ci_high_ns = bound,
               .runs = timings.runs,
               .samples_ns = std::move(timings.samples_ns)};
  }
  timings.runs = std::max<int64_t>(timings.runs, 1);
  if (result.is_checked()) timings.max_error = result.max_error();
  return timings;
}

// Only what repeats: equal texts are stored once.
std::string EnvironmentOf(const v1::MeasureResult& result) {
  nlohmann::json environment = {{"device", result.device()}};
  if (result.env().frequency_before_mhz() > 0)
    environment["frequency_mhz"] = std::round(result.env().frequency_before_mhz() / 100) * 100;
  for (const std::string& text : result.env().degraded()) environment["degraded"].push_back(text);
  return environment.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

v1::MeasureSpec MakeMeasureSpec(const TaskMeasurement& task, const TrialRow& trial, int64_t module_bytes,
                                double incumbent_ns) {
  v1::MeasureSpec spec;
  spec.set_trial_id(trial.id);
  spec.set_attempt(static_cast<int32_t>(trial.attempt));
  spec.set_epoch(trial.epoch.value_or(0));
  spec.mutable_module()->set_digest(std::string(trial.module_digest.value_or(Digest()).raw()));
  spec.mutable_module()->set_size(module_bytes);
  spec.set_kernel(task.kernel);
  spec.set_seed(task.seed);
  spec.mutable_reference()->set_digest(std::string(task.reference.blob.raw()));
  spec.mutable_reference()->set_size(task.reference.size_bytes);
  for (const double tolerance : task.reference.tolerances) spec.add_tolerances(tolerance);
  for (const auto& [param, range] : task.reference.input_ranges) {
    v1::InputRange& added = *spec.add_input_ranges();
    added.set_param(param);
    added.set_low(range.low);
    added.set_high(range.high);
  }
  *spec.mutable_policy() = ToProto(task.policy);
  spec.set_incumbent_ns(static_cast<int64_t>(incumbent_ns));
  spec.set_wall_limit_ns(std::min(kMostWallNs, 3 * task.policy.budget_ns + kWallBesideNs));
  spec.set_memory_limit_bytes(kMemoryLimitBytes);
  spec.set_threads(task.threads);
  spec.set_codegen_version(task.codegen_version);
  return spec;
}

std::optional<RunResult> ToRunResult(const v1::MeasureResult& result, int64_t device_id) {
  const std::optional<TrialState> outcome = OutcomeOf(result.status());
  const StatusOr<Digest> module = Digest::FromBytes(result.module_digest());
  if (!outcome || !module.ok()) return std::nullopt;
  RunResult row{.trial_id = result.trial_id(),
                .attempt = result.attempt(),
                .device_id = device_id,
                .epoch = result.epoch(),
                .module_digest = *module,
                .outcome = *outcome,
                .timings = std::nullopt,
                .environment = EnvironmentOf(result),
                .error = result.message()};
  if (HasTimings(*outcome)) row.timings = TimingsOf(result);
  return row;
}

}  // namespace lathe
