#include "tests/e2e/chaos/tuning_client.h"

#include <fmt/format.h>

namespace lathe::chaos {
namespace {

constexpr int64_t kBudget = 12;
constexpr std::chrono::milliseconds kPause{200};

std::string StateName(v1::JobState state) { return v1::JobState_Name(state).substr(std::string("JOB_STATE_").size()); }

// Of a size that no other job has: what is known already would not be measured again.
std::string Program(int client, size_t job) {
  const size_t rows = 8 + 8 * (job % 16), columns = 8 + 8 * (job / 16);
  const int depth = 16 + 16 * client;
  return fmt::format(R"(
@T.prim_func
def matmul(A: T.Buffer(({0}, {2}), "float32"), B: T.Buffer(({2}, {1}), "float32"), C: T.Buffer(({0}, {1}), "float32")):
    for i, j, k in T.grid({0}, {1}, {2}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                     rows, columns, depth);
}

// What a fault may answer: nobody is there, it took too long, there is no room, no device has said what it is yet.
bool IsOfAFault(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded ||
         code == StatusCode::kResourceExhausted || code == StatusCode::kNotFound;
}

}  // namespace

TuningClient::TuningClient(int number, const Endpoint& server, ServerConnectionOptions options,
                           std::function<double()> seconds)
    : number_(number), seconds_(std::move(seconds)), connection_(ConnectToServer(server, std::move(options))) {
  thread_ = std::thread([this] { Run(); });
}

TuningClient::~TuningClient() {
  BeginNoMore();
  GiveUp();
  thread_.join();
}

void TuningClient::Run() {
  while (begins_more_) {
    WatchedJob job{.name = fmt::format("client{}-job{}", number_, jobs_begun_.load()), .budget = kBudget};
    if (Submit(job)) {
      Watch(job);
      jobs_.push_back(std::move(job));
    }
    ++jobs_begun_;
  }
  is_done_ = true;
}

bool TuningClient::Submit(WatchedJob& job) {
  v1::SubmitJobRequest request;
  request.set_request_id(job.name);
  request.set_name(job.name);
  request.set_target("auto");
  request.set_device_key("host");
  request.set_trials(kBudget);
  request.add_tasks()->set_workload(Program(number_, jobs_begun_));
  while (!gives_up_) {
    const auto submitted = connection_->tuning().SubmitJob(request);
    if (submitted.ok()) {
      job.id = submitted->job().id();
      job.acknowledged_at = seconds_();
      return true;
    }
    NoteError("submit " + job.name, submitted.status());
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

void TuningClient::Watch(WatchedJob& job) {
  v1::WatchJobRequest request;
  request.set_job_id(job.id);
  while (!job.ended_at && !gives_up_) {
    const Status status = connection_->tuning().WatchJob(request, [&](const v1::WatchJobResponse& update) {
      request.set_after_cursor(update.cursor());
      Note(job, update);
      return !gives_up_ && !IsToCancel(job);
    });
    if (!status.ok()) NoteError("watch " + job.name, status);
    if (IsToCancel(job)) Cancel(job);
    if (!job.ended_at) std::this_thread::sleep_for(kPause);
  }
}

bool TuningClient::IsToCancel(const WatchedJob& job) const {
  constexpr size_t kEvery = 4;
  constexpr int64_t kAfterTrials = 3;
  return jobs_begun_ % kEvery == kEvery - 1 && !job.cancelled && !job.ended_at && !job.sights.empty() &&
         job.sights.back().trials_done >= kAfterTrials;
}

void TuningClient::Cancel(WatchedJob& job) {
  v1::CancelJobRequest request;
  request.set_job_id(job.id);
  while (!gives_up_) {
    const auto cancelled = connection_->tuning().CancelJob(request);
    if (cancelled.ok()) {
      job.cancelled = StateName(cancelled->job().state());
      return;
    }
    NoteError("cancel " + job.name, cancelled.status());
    std::this_thread::sleep_for(kPause);
  }
}

void TuningClient::Note(WatchedJob& job, const v1::WatchJobResponse& update) const {
  Sight sight{.at = seconds_()};
  for (const v1::Task& task : update.job().tasks()) {
    sight.trials_done += task.trials_done();
    sight.trials_known += task.trials_known();
  }
  sight.state = StateName(update.job().state());
  for (const v1::JobEvent& event : update.events())
    sight.events.push_back({event.cursor(), event.kind(), event.subject_id(), event.detail()});
  if (update.job().state() >= v1::JOB_STATE_DONE && !job.ended_at) job.ended_at = sight.at;
  job.sights.push_back(std::move(sight));
}

void TuningClient::NoteError(const std::string& what, const Status& status) {
  if (!IsOfAFault(status.code()) && !gives_up_)
    surprises_.push_back(fmt::format("at {:.1f} s {}: {}", seconds_(), what, status.ToString()));
}

}  // namespace lathe::chaos
