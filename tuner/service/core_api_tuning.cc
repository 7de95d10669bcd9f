// CoreApi's TuningApi.
#include <fmt/format.h>

#include <map>
#include <thread>

#include "support/status_macros.h"
#include "tracker/lease_table.h"
#include "tuner/job/job_report.h"
#include "tuner/job/task_explanation.h"
#include "tuner/service/core_api.h"
#include "tuner/service/device_target.h"
#include "tuner/service/request_fields.h"
#include "tuner/service/row_messages.h"
#include "tuner/space/spaces.h"

namespace lathe {
namespace {

constexpr int kMaxTasks = 10'000;
constexpr int kUpdateEvents = 1000;  // Per message.
constexpr int64_t kMostTrials = 1'000'000'000;

// What the whole request says about each task's budget; 0: nothing.
StatusOr<int64_t> DefaultBudget(const v1::SubmitJobRequest& request) {
  ASSIGN_OR_RETURN(const int64_t trials, ReadCount("trials", request.trials()));
  ASSIGN_OR_RETURN(const int64_t per_task, ReadCount("trials_per_task", request.trials_per_task()));
  ASSIGN_OR_RETURN(const int64_t time_limit, ReadCount("time_limit_ns", request.time_limit_ns()));
  if (per_task > 0) return per_task;
  if (trials > 0) return trials;
  return time_limit > 0 ? kMostTrials : 0;
}

StatusOr<TaskRequest> ReadTask(const v1::TaskSpec& spec, int index, int64_t default_budget) {
  TaskRequest task;
  ASSIGN_OR_RETURN(task.workload, ReadWorkload(fmt::format("tasks[{}].workload", index), spec.workload()));
  ASSIGN_OR_RETURN(task.weight, ReadCount(fmt::format("tasks[{}].weight", index), spec.weight()));
  ASSIGN_OR_RETURN(task.trial_budget, ReadCount(fmt::format("tasks[{}].trial_budget", index), spec.trial_budget()));
  task.weight = std::max<int64_t>(task.weight, 1);
  if (task.trial_budget == 0) task.trial_budget = default_budget;
  if (task.trial_budget == 0) {
    return InvalidArgument(
        fmt::format("submit job: tasks[{}] has no budget; give trials, trials_per_task or time_limit_ns", index));
  }
  task.trial_budget = std::min(task.trial_budget, kMostTrials);
  task.name = task.workload.name;
  if (!spec.name().empty()) {
    ASSIGN_OR_RETURN(task.name, ReadName(fmt::format("tasks[{}].name", index), spec.name(), 256));
  }
  return task;
}

StatusOr<std::vector<TaskRequest>> ReadTasks(const v1::SubmitJobRequest& request) {
  if (request.tasks().empty() || request.tasks_size() > kMaxTasks) {
    return InvalidArgument(fmt::format("tasks: {} given, 1 to {} required", request.tasks_size(), kMaxTasks));
  }
  ASSIGN_OR_RETURN(const int64_t default_budget, DefaultBudget(request));
  std::vector<TaskRequest> tasks;
  std::map<Digest, int> seen;
  for (int i = 0; i < request.tasks_size(); ++i) {
    ASSIGN_OR_RETURN(TaskRequest task, ReadTask(request.tasks(i), i, default_budget));
    const auto [first, is_new] = seen.emplace(task.workload.digest, i);
    if (!is_new) {
      return InvalidArgument(
          fmt::format("submit job: tasks[{}] and tasks[{}] compute the same; send one of them with the weight of both",
                      first->second, i));
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

// All but the targets.
StatusOr<JobRequest> ReadJob(const v1::SubmitJobRequest& request) {
  JobRequest job;
  ASSIGN_OR_RETURN(job.request_id, ReadName("request_id", request.request_id(), 128));
  ASSIGN_OR_RETURN(job.name, ReadName("name", request.name(), 256));
  ASSIGN_OR_RETURN(const DeviceWish wish, DeviceWish::ParseForJob(request.device_key()));
  job.device_key = wish.key();
  ASSIGN_OR_RETURN(job.tasks, ReadTasks(request));
  job.spec = {.total_trials = std::min(request.trials(), kMostTrials),
              .time_limit = Duration(request.time_limit_ns()),
              .is_fresh = request.fresh(),
              .seed = request.seed()};
  ASSIGN_OR_RETURN(job.spec.space, CanonicalSpace(request.space()));
  if (!wish.condition().empty()) job.spec.devices = wish.ToString();
  if (request.priority() < kLowestPriority || request.priority() > kHighestPriority)
    return InvalidArgument(
        fmt::format("priority: {}, {} to {} required", request.priority(), kLowestPriority, kHighestPriority));
  job.spec.priority = request.priority();
  if (request.weight() != 0) job.spec.weight = request.weight();
  if (!(job.spec.weight >= 0.01 && job.spec.weight <= 100))
    return InvalidArgument(fmt::format("weight: {}, 0.01 to 100 required", request.weight()));
  return job;
}

std::vector<TrialState> FailedStates() {
  std::vector<TrialState> failed;
  for (const TrialState state : AllTrialStates()) {
    if (IsTerminal(state) && !HasTimings(state) && state != TrialState::kCancelled) failed.push_back(state);
  }
  return failed;
}

std::vector<int64_t> IdsOf(const std::vector<TrialRow>& rows) {
  std::vector<int64_t> ids;
  for (const TrialRow& row : rows) ids.push_back(row.id);
  return ids;
}

}  // namespace

StatusOr<v1::Task> CoreApi::DescribeTask(const TaskRow& row) {
  Store& store = core_.store();
  ASSIGN_OR_RETURN(const TaskCounts counts, store.CountTrials(row.id));
  v1::Task task = ToMessage(row, counts);
  ASSIGN_OR_RETURN(const int64_t known, store.CountMeasured(row.key));
  task.set_trials_known(known);
  ASSIGN_OR_RETURN(const std::vector<BestAnswer> best, store.QueryBest({&row.key, 1}));
  if (best.front().lookup == Lookup::kHit && best.front().record->timings.has_value()) {
    task.set_best_ns(best.front().record->timings->median_ns);
  }
  return task;
}

// The row, and what the coordinator cannot write into it: a full disk is told by word of mouth.
v1::Job CoreApi::SummariseJob(const JobRow& row) {
  v1::Job job = ToMessage(row);
  if (IsTerminal(row.state)) return job;
  if (const std::optional<Hindrance> hindrance = core_.CurrentHindrance()) SetHindrance(job, *hindrance);
  return job;
}

StatusOr<v1::Job> CoreApi::DescribeJob(const JobRow& row) {
  v1::Job job = SummariseJob(row);
  ASSIGN_OR_RETURN(const std::vector<TaskRow> tasks, core_.store().ListTasks(row.id));
  for (const TaskRow& task : tasks) {
    ASSIGN_OR_RETURN(*job.add_tasks(), DescribeTask(task));
  }
  return job;
}

Status CoreApi::AddReport(v1::Job& job) {
  ASSIGN_OR_RETURN(const JobReport report, MakeJobReport(core_.store(), job.id(), *facts_));
  for (size_t i = 0; i < report.tasks.size() && i < static_cast<size_t>(job.tasks_size()); ++i) {
    v1::Task& task = *job.mutable_tasks(static_cast<int>(i));
    task.set_untuned_ns(report.tasks[i].untuned_ns);
    task.set_flops(report.tasks[i].flops);
    task.set_factors(report.tasks[i].factors);
  }
  return OkStatus();
}

StatusOr<v1::SubmitJobResponse> CoreApi::SubmitJob(const v1::SubmitJobRequest& request) {
  ASSIGN_OR_RETURN(JobRequest job, ReadJob(request));
  RETURN_IF_ERROR(CheckPriority(job.spec.priority));
  ASSIGN_OR_RETURN(const std::string target, ReadName("target", request.target(), 4096));
  ASSIGN_OR_RETURN(const std::string canonical, ResolveTarget(target, job.device_key, core_.store()));
  for (TaskRequest& task : job.tasks) task.target = canonical;
  job.submitter = principal_.name;
  ASSIGN_OR_RETURN(const CreatedJob created, core_.SubmitJob(job));
  v1::SubmitJobResponse response;
  response.set_created(created.created);
  ASSIGN_OR_RETURN(*response.mutable_job(), DescribeJob(created.job));
  return response;
}

Status CoreApi::CheckPriority(int priority) const {
  if (priority <= 0 || principal_.role != Role::kSubmitter) return OkStatus();
  return PermissionDenied(
      fmt::format("priority: {}, and submitter \"{}\" may ask for at most 0; ask an admin to submit the job", priority,
                  principal_.name));
}

StatusOr<v1::WhyJobResponse> CoreApi::WhyJob(const v1::WhyJobRequest& request) {
  ASSIGN_OR_RETURN(const int64_t job_id, ReadId("job_id", request.job_id()));
  ASSIGN_OR_RETURN(const JobStory story, core_.WhyJob(job_id));
  v1::WhyJobResponse response;
  for (const std::string& reason : story.reasons) response.add_reasons(reason);
  for (const auto& [device, words] : story.devices) {
    v1::WhyJobResponse::DeviceStory& added = *response.add_devices();
    added.set_device(device);
    added.set_story(words);
  }
  return response;
}

StatusOr<v1::GetJobResponse> CoreApi::GetJob(const v1::GetJobRequest& request) {
  ASSIGN_OR_RETURN(const int64_t job_id, ReadId("job_id", request.job_id()));
  ASSIGN_OR_RETURN(const JobRow row, core_.store().GetJob(job_id));
  v1::GetJobResponse response;
  ASSIGN_OR_RETURN(*response.mutable_job(), DescribeJob(row));
  RETURN_IF_ERROR(AddReport(*response.mutable_job()));
  return response;
}

StatusOr<v1::ListJobsResponse> CoreApi::ListJobs(const v1::ListJobsRequest& request) {
  ASSIGN_OR_RETURN(const Page page, ReadPage(request.page_size(), request.page_token()));
  ASSIGN_OR_RETURN(const std::vector<JobRow> rows, core_.store().ListJobs({page.after_id, page.limit + 1}));
  v1::ListJobsResponse response;
  for (const JobRow& row : rows) {
    if (response.jobs_size() == page.limit || response.ByteSizeLong() > kPageBytes) {
      response.set_next_page_token(PageToken(response.jobs(response.jobs_size() - 1).id()));
      break;
    }
    *response.add_jobs() = SummariseJob(row);
  }
  return response;
}

Status CoreApi::CheckMayCancel(int64_t job_id) {
  if (principal_.role != Role::kSubmitter) return OkStatus();
  ASSIGN_OR_RETURN(const JobRow row, core_.store().GetJob(job_id));
  if (row.submitter == principal_.name) return OkStatus();
  return PermissionDenied(
      fmt::format("cancel job {}: it is {}, and submitter \"{}\" may cancel their own only; ask an admin", job_id,
                  row.submitter.empty() ? "an admin's" : '"' + row.submitter + "\"'s", principal_.name));
}

StatusOr<v1::CancelJobResponse> CoreApi::CancelJob(const v1::CancelJobRequest& request) {
  ASSIGN_OR_RETURN(const int64_t job_id, ReadId("job_id", request.job_id()));
  std::string reason = principal_.name.empty() ? "cancelled by a user" : "cancelled by " + principal_.name;
  if (!request.reason().empty()) {
    ASSIGN_OR_RETURN(reason, ReadName("reason", request.reason(), 1024));
  }
  RETURN_IF_ERROR(CheckMayCancel(job_id));
  ASSIGN_OR_RETURN(const JobRow row, core_.CancelJob(job_id, reason));
  v1::CancelJobResponse response;
  ASSIGN_OR_RETURN(*response.mutable_job(), DescribeJob(row));
  return response;
}

StatusOr<v1::ExplainTrialResponse> CoreApi::ExplainTrial(const v1::ExplainTrialRequest& request) {
  ASSIGN_OR_RETURN(const int64_t trial_id, ReadId("trial_id", request.trial_id()));
  Store& store = core_.store();
  ASSIGN_OR_RETURN(const TrialRow trial, store.GetTrial(trial_id));
  ASSIGN_OR_RETURN(const TaskRow task, store.GetTask(trial.task_id));
  ASSIGN_OR_RETURN(const std::vector<AttemptRow> attempts, store.ListAttempts(trial_id));
  ASSIGN_OR_RETURN(const std::vector<TuningRecord> records, store.RecordsOfTrial(trial_id));
  v1::ExplainTrialResponse response;
  *response.mutable_trial() = ToMessage(trial, /*with_trace=*/true);
  response.set_job_id(task.job_id);
  response.set_task_name(task.name);
  for (const AttemptRow& attempt : attempts) *response.add_attempts() = ToMessage(attempt);
  for (const TuningRecord& record : records) *response.add_records() = ToMessage(record);
  ASSIGN_OR_RETURN(const auto medians, store.MediansOf({&trial_id, 1}));
  response.mutable_trial()->set_median_ns(medians.front().value_or(0));
  return response;
}

StatusOr<v1::ExplainTaskResponse> CoreApi::ExplainTask(const v1::ExplainTaskRequest& request) {
  ASSIGN_OR_RETURN(const int64_t task_id, ReadId("task_id", request.task_id()));
  ASSIGN_OR_RETURN(const TaskRow task, core_.store().GetTask(task_id));
  ASSIGN_OR_RETURN(const TaskExplanation told, lathe::ExplainTask(core_.store(), task));
  v1::ExplainTaskResponse response;
  *response.mutable_explanation() = ToMessage(task, told);
  return response;
}

StatusOr<v1::ListTrialsResponse> CoreApi::ListTrials(const v1::ListTrialsRequest& request) {
  ASSIGN_OR_RETURN(const int64_t job_id, ReadId("job_id", request.job_id()));
  ASSIGN_OR_RETURN(const Page page, ReadPage(request.page_size(), request.page_token()));
  Store& store = core_.store();
  RETURN_IF_ERROR(store.GetJob(job_id).status());
  TrialFilter filter{.job_id = job_id};
  if (request.only_failed()) filter.states = FailedStates();
  ASSIGN_OR_RETURN(const std::vector<TrialRow> rows, store.ListTrials(filter, {page.after_id, page.limit + 1}));
  ASSIGN_OR_RETURN(const std::vector<std::optional<double>> medians, store.MediansOf(IdsOf(rows)));
  v1::ListTrialsResponse response;
  size_t bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (response.trials_size() == page.limit || bytes > kPageBytes) {
      response.set_next_page_token(PageToken(response.trials(response.trials_size() - 1).id()));
      break;
    }
    v1::Trial& trial = *response.add_trials();
    trial = ToMessage(rows[i], request.with_traces());
    trial.set_median_ns(medians[i].value_or(0));
    bytes += trial.ByteSizeLong();
  }
  return response;
}

StatusOr<CoreApi::Updates> CoreApi::NextUpdates(const v1::WatchJobRequest& request, bool is_first) {
  ASSIGN_OR_RETURN(const int64_t job_id, ReadId("job_id", request.job_id()));
  ASSIGN_OR_RETURN(const int64_t after, ReadCount("after_cursor", request.after_cursor()));
  Store& store = core_.store();
  ASSIGN_OR_RETURN(const JobRow row, store.GetJob(job_id));  // Before the events: whatever ended it is among them.
  ASSIGN_OR_RETURN(const std::vector<EventRow> events, store.ReadEvents(after, job_id, kUpdateEvents));
  Updates updates;
  updates.is_last = IsTerminal(row.state) && events.size() < kUpdateEvents;
  updates.has_news = is_first || updates.is_last || !events.empty();
  if (!updates.has_news) return updates;
  for (const EventRow& event : events) *updates.response.add_events() = ToMessage(event);
  updates.response.set_cursor(events.empty() ? after : events.back().cursor);
  ASSIGN_OR_RETURN(*updates.response.mutable_job(), DescribeJob(row));
  return updates;
}

Status CoreApi::WatchJob(const v1::WatchJobRequest& request, const UpdateConsumer& consume) {
  v1::WatchJobRequest next = request;
  for (bool is_first = true;; is_first = false) {
    ASSIGN_OR_RETURN(const Updates updates, NextUpdates(next, is_first));
    if (updates.has_news) {
      if (!consume(updates.response) || updates.is_last) return OkStatus();
      next.set_after_cursor(updates.response.cursor());
    } else {
      std::this_thread::sleep_for(poll_);
    }
  }
}

}  // namespace lathe
