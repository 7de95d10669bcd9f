#include "rpc/device/process_trial_runner.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "rpc/device/runtime_status.h"
#include "runner/runner_process.h"
#include "support/clock.h"

namespace lathe {
namespace {

constexpr Duration kStartPatience = std::chrono::seconds(20);

MeasurePolicy FromProto(const v1::MeasurePolicy& policy) {
  return {.version = static_cast<uint32_t>(policy.version()),
          .regime = static_cast<CacheRegime>(policy.regime()),
          .warmup_ns = policy.warmup_ns(),
          .warmup_calls = policy.warmup_calls(),
          .min_batch_ns = policy.min_batch_ns(),
          .min_repeats = policy.min_repeats(),
          .max_repeats = policy.max_repeats(),
          .budget_ns = policy.budget_ns(),
          .goal_half_width = policy.goal_half_width(),
          .noisy_half_width = policy.noisy_half_width(),
          .abandon_factor = policy.abandon_factor(),
          .abandon_first_factor = policy.abandon_first_factor(),
          .abandon_batch_factor = policy.abandon_batch_factor(),
          .race_factor = policy.race_factor(),
          .max_redone = policy.max_redone(),
          .max_other_share = policy.max_other_share()};
}

RunSpec ToRunSpec(const v1::MeasureSpec& spec, const std::string& module_path, const std::string& reference_path,
                  const std::vector<int>& cpus) {
  RunSpec run;
  run.artifact_path = module_path;
  run.kernel_name = spec.kernel();
  run.reference_path = reference_path;
  run.tolerances.assign(spec.tolerances().begin(), spec.tolerances().end());
  run.symbol_values.assign(spec.symbol_values().begin(), spec.symbol_values().end());
  run.cpus.assign(cpus.begin(), cpus.end());
  run.input_seed = spec.seed();
  for (const v1::InputRange& range : spec.input_ranges())
    run.input_ranges.push_back({range.param(), {range.low(), range.high()}});
  run.codegen_version = spec.codegen_version();
  run.num_threads = static_cast<uint32_t>(spec.threads());
  run.incumbent_ns = static_cast<double>(spec.incumbent_ns());
  if (spec.memory_limit_bytes() > 0) run.memory_limit_bytes = static_cast<uint64_t>(spec.memory_limit_bytes());
  run.wall_limit_ns = spec.wall_limit_ns();
  run.policy = FromProto(spec.policy());
  return run;
}

v1::MeasureStatus ToProto(RunStatus status) {
  switch (status) {
    case RunStatus::kOk:
      return v1::MEASURE_STATUS_OK;
    case RunStatus::kNoisy:
      return v1::MEASURE_STATUS_NOISY;
    case RunStatus::kCensored:
      return v1::MEASURE_STATUS_CENSORED;
    case RunStatus::kWrongResult:
      return v1::MEASURE_STATUS_WRONG_RESULT;
    case RunStatus::kKernelError:
    case RunStatus::kCrash:
      return v1::MEASURE_STATUS_CRASH;
    case RunStatus::kRunTimeout:
      return v1::MEASURE_STATUS_RUN_TIMEOUT;
    case RunStatus::kOutOfMemory:
      return v1::MEASURE_STATUS_OUT_OF_MEMORY;
    case RunStatus::kBadArtifact:
      return v1::MEASURE_STATUS_INVALID;
    case RunStatus::kRunnerError:
      return v1::MEASURE_STATUS_INFRA_FAILED;
  }
  return v1::MEASURE_STATUS_INFRA_FAILED;
}

void AddMeasured(const MeasureResult& measured, v1::MeasureResult& result) {
  for (const double sample : measured.samples_ns) result.add_samples_ns(sample);
  result.set_calls_per_sample(measured.calls_per_sample);
  result.set_total_calls(measured.total_calls);
  result.set_redone(measured.redone);
  result.set_disturbed(measured.disturbed);
  result.set_lower_bound_ns(measured.lower_bound_ns);
  if (measured.samples_ns.empty()) return;
  v1::TimeStats& stats = *result.mutable_stats();
  stats.set_median_ns(measured.statistics.median);
  stats.set_min_ns(measured.statistics.min);
  stats.set_p10_ns(measured.statistics.p10);
  stats.set_p90_ns(measured.statistics.p90);
  stats.set_mad_ns(measured.statistics.mad);
  stats.set_half_width_ns(measured.statistics.half_width);
}

// First line of a sysfs file about a CPU's frequency; empty where the kernel has none (most virtual machines).
std::string ReadCpuFreq(int cpu, const char* file) {
  std::ifstream stream(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/{}", cpu, file));
  std::string line;
  std::getline(stream, line);
  return line;
}

double FrequencyMhz(const std::vector<int>& cpus) {
  const std::string khz = cpus.empty() ? "" : ReadCpuFreq(cpus.front(), "scaling_cur_freq");
  return khz.empty() ? 0 : std::strtod(khz.c_str(), nullptr) / 1000;
}

class ProcessTrialRunner : public TrialRunner {
 public:
  ProcessTrialRunner(std::unique_ptr<RunnerProcess> process, RunSpec spec)
      : process_(std::move(process)), spec_(std::move(spec)), cpus_(spec_.cpus.begin(), spec_.cpus.end()) {}

  int event_fd() const override { return process_->poll_fd(); }

  std::vector<RunnerNotice> Poll() override {
    std::vector<RunnerNotice> notices;
    const uint64_t calls_before = process_->progress().calls;
    process_->Poll();
    const RunnerProcess::State state = process_->state();
    if (state == RunnerProcess::State::kReady && !std::exchange(said_ready_, true))
      notices.push_back({RunnerNotice::Kind::kReady});
    const bool is_timing = state == RunnerProcess::State::kRunning && process_->progress().phase == RunPhase::kTiming;
    if (is_timing != is_timing_) {
      is_timing_ = is_timing;
      notices.push_back({is_timing ? RunnerNotice::Kind::kTimingBegins : RunnerNotice::Kind::kTimingEnds});
    } else if (process_->progress().calls != calls_before) {
      notices.push_back({RunnerNotice::Kind::kTicked});
    }
    if (state == RunnerProcess::State::kFinished && !std::exchange(said_ended_, true)) {
      notices.push_back({RunnerNotice::Kind::kEnded, Outcome()});
    }
    return notices;
  }

  void Go() override {
    start_unix_ns_ = SystemClock().UnixNanos();
    frequency_before_ = FrequencyMhz(cpus_);
    const RuntimeError error = process_->Start(spec_);
    // Ends the runner; kEnded then carries the reason.
    if (!error.ok()) process_->Stop(RunStatus::kRunnerError, error.message);
  }

  void Kill() override { process_->Stop(RunStatus::kRunnerError, "ended by the device server"); }

 private:
  v1::MeasureResult Outcome() const {
    const RunReport& report = process_->outcome().report;
    v1::MeasureResult result;
    result.set_status(ToProto(report.status));
    result.set_message(report.message);
    result.set_max_error(report.checked ? report.max_error : 0);
    result.set_is_checked(report.checked);
    AddMeasured(report.measured, result);
    v1::MeasureEnv& env = *result.mutable_env();
    env.set_start_unix_ns(start_unix_ns_);
    env.set_frequency_before_mhz(frequency_before_);
    env.set_frequency_after_mhz(FrequencyMhz(cpus_));
    const std::string governor = cpus_.empty() ? "" : ReadCpuFreq(cpus_.front(), "scaling_governor");
    if (!governor.empty() && governor != "performance") env.add_degraded("cpu frequency governor is " + governor);
    if (report.measured.disturbed > 0)
      env.add_degraded(fmt::format("{} samples were disturbed by other work", report.measured.disturbed));
    return result;
  }

  std::unique_ptr<RunnerProcess> process_;
  const RunSpec spec_;
  const std::vector<int> cpus_;
  bool said_ready_ = false, said_ended_ = false, is_timing_ = false;
  int64_t start_unix_ns_ = 0;
  double frequency_before_ = 0;
};

}  // namespace

std::string ProcessTrialRunnerFactory::DefaultProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "lathe-runner" : (self.parent_path() / "lathe-runner").string();
}

StatusOr<uint32_t> ProcessTrialRunnerFactory::Sandbox() const {
  RuntimeResult<std::unique_ptr<RunnerProcess>> process =
      RunnerProcess::Spawn({.program = program_, .required_sandbox = required_sandbox_, .groups = groups_});
  if (!process.ok()) return FromRuntime(process.error());
  RunnerProcess& runner = **process;
  if (!runner.Wait(RunnerProcess::State::kReady, kStartPatience))
    return Unavailable(fmt::format("start {}: it does not answer; is it lathe-runner of this release?", program_));
  if (runner.state() == RunnerProcess::State::kReady) return runner.sandbox();
  return FailedPrecondition(runner.outcome().report.message);
}

StatusOr<std::unique_ptr<TrialRunner>> ProcessTrialRunnerFactory::Start(const v1::MeasureSpec& spec,
                                                                        const std::string& module_path,
                                                                        const std::string& reference_path) {
  RuntimeResult<std::unique_ptr<RunnerProcess>> process =
      RunnerProcess::Spawn({.program = program_, .required_sandbox = required_sandbox_, .groups = groups_});
  if (!process.ok()) return FromRuntime(process.error());
  return std::unique_ptr<TrialRunner>(
      std::make_unique<ProcessTrialRunner>(*std::move(process), ToRunSpec(spec, module_path, reference_path, cpus_)));
}

}  // namespace lathe
