#include "cli/remote_job.h"

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr Duration kAskEvery = std::chrono::milliseconds(500);

JobState ToState(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_RUNNING:
      return JobState::kRunning;
    case v1::JOB_STATE_DONE:
      return JobState::kDone;
    case v1::JOB_STATE_FAILED:
      return JobState::kFailed;
    case v1::JOB_STATE_CANCELLED:
      return JobState::kCancelled;
    default:
      return JobState::kQueued;
  }
}

StatusOr<TaskReport> ToTaskReport(const v1::Task& task) {
  TaskReport report{.name = task.name(),
                    .weight = task.weight(),
                    .state = ToState(task.state()),
                    .trials = task.trials_known(),
                    .own_trials = task.trials_done(),
                    .flops = task.flops(),
                    .factors = task.factors(),
                    .untuned_ns = task.untuned_ns(),
                    .best_ns = task.best_ns()};
  ASSIGN_OR_RETURN(const Digest workload, Digest::FromBytes(task.key().workload()));
  ASSIGN_OR_RETURN(const CodegenVersion codegen, CodegenVersion::Parse(task.key().codegen_version()));
  report.key = {workload, task.key().target(),        task.key().device_key(), task.key().cache_regime(),
                codegen,  task.key().policy_version()};
  for (const v1::StateCount& count : task.counts()) {
    const std::optional<TrialState> state = ParseTrialState(count.state());
    if (state.has_value() && IsTerminal(*state) && !HasTimings(*state)) report.failures[count.state()] = count.trials();
  }
  return report;
}

}  // namespace

v1::SubmitJobRequest ToSubmitRequest(const JobRequest& request, const std::string& target) {
  v1::SubmitJobRequest message;
  message.set_request_id(request.request_id);
  message.set_name(request.name);
  message.set_target(target);
  message.set_device_key(request.spec.devices.empty() ? request.device_key : request.spec.devices);
  message.set_priority(request.spec.priority);
  message.set_weight(request.spec.weight);
  message.set_trials(request.spec.total_trials);
  message.set_time_limit_ns(request.spec.time_limit.count());
  message.set_fresh(request.spec.is_fresh);
  message.set_seed(request.spec.seed);
  message.set_space(request.spec.space);
  for (const TaskRequest& task : request.tasks) {
    v1::TaskSpec& spec = *message.add_tasks();
    spec.set_workload(task.workload.text);
    spec.set_name(task.name);
    spec.set_weight(task.weight);
    spec.set_trial_budget(task.trial_budget);
  }
  return message;
}

StatusOr<JobReport> ToReport(const v1::Job& job) {
  JobReport report;
  report.job = {job.id(),     job.request_id(),      job.name(),           "", ToState(job.state()),
                job.detail(), job.created_unix_ns(), job.updated_unix_ns()};
  for (const v1::Task& task : job.tasks()) {
    ASSIGN_OR_RETURN(TaskReport row, ToTaskReport(task));
    report.measured += row.own_trials;
    report.reused += row.trials - row.own_trials;
    report.tasks.push_back(std::move(row));
  }
  return report;
}

StatusOr<RemoteEnding> FollowRemoteJob(TuningApi& tuning, int64_t job_id, Duration patience,
                                       const std::function<void(const v1::Job&)>& show,
                                       const std::function<bool(Duration)>& leaves_within) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  TimePoint give_up = SystemClock().Now() + patience;
  do {
    const StatusOr<v1::GetJobResponse> response = tuning.GetJob(request);
    if (response.ok()) {
      show(response->job());
      if (response->job().state() >= v1::JOB_STATE_DONE) return RemoteEnding::kJobEnded;
      give_up = SystemClock().Now() + patience;
    } else if (response.code() != StatusCode::kUnavailable || SystemClock().Now() > give_up) {
      return response.status();
    }
  } while (!leaves_within(kAskEvery));
  return RemoteEnding::kDetached;
}

}  // namespace lathe
