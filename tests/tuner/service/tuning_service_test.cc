// TuningService over a Unix socket: what each call answers, and each error.
#include <thread>

#include "tests/tuner/service/service_testing.h"
#include "tuner/service/row_messages.h"

namespace lathe {
namespace {

using testing::HasSubstr;

class TuningServiceTest : public ServiceTest {};

TEST_F(TuningServiceTest, SubmitsAJobWithItsWorkloadsAndBudgets) {
  v1::SubmitJobRequest request = CopyJob();
  request.mutable_tasks(0)->set_weight(3);
  request.add_tasks()->set_workload(kDoubleFunc);
  request.mutable_tasks(1)->set_trial_budget(10);
  const auto submitted = connection->tuning().SubmitJob(request);
  ASSERT_TRUE(submitted.ok()) << submitted.status().ToString();
  EXPECT_TRUE(submitted->created());
  const v1::Job& job = submitted->job();
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  ASSERT_EQ(job.tasks_size(), 2);
  EXPECT_EQ(job.tasks(0).name(), "copy");
  EXPECT_EQ(job.tasks(0).weight(), 3);
  EXPECT_EQ(job.tasks(0).trial_budget(), 64);
  EXPECT_EQ(job.tasks(0).key().target(), request.target());
  EXPECT_EQ(job.tasks(1).trial_budget(), 10);
  const auto workload = store->GetWorkload(*Digest::FromBytes(job.tasks(0).key().workload()));
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(workload->text, kCopyFunc);
}

TEST_F(TuningServiceTest, AnswersARepeatedSubmitWithTheSameJob) {
  const auto first = connection->tuning().SubmitJob(CopyJob());
  const auto second = connection->tuning().SubmitJob(CopyJob());
  ASSERT_TRUE(first.ok() && second.ok()) << second.status().ToString();
  EXPECT_FALSE(second->created());
  EXPECT_EQ(first->job().id(), second->job().id());
  EXPECT_EQ(store->ListJobs({})->size(), 1u);
}

TEST_F(TuningServiceTest, RefusesARequestIdThatWasUsedForAnotherJob) {
  ASSERT_TRUE(connection->tuning().SubmitJob(CopyJob()).ok());
  v1::SubmitJobRequest other = CopyJob();
  other.set_trials_per_task(65);
  EXPECT_EQ(connection->tuning().SubmitJob(other).code(), StatusCode::kAlreadyExists);
}

struct BadSubmit {
  const char* name;
  void (*spoil)(v1::SubmitJobRequest&);
  StatusCode code;
  const char* message;
};
class BadSubmitTest : public ServiceTest, public testing::WithParamInterface<BadSubmit> {};

TEST_P(BadSubmitTest, SaysWhatIsWrong) {
  v1::SubmitJobRequest request = CopyJob();
  GetParam().spoil(request);
  const Status status = connection->tuning().SubmitJob(request).status();
  EXPECT_EQ(status.code(), GetParam().code) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
  EXPECT_TRUE(store->ListJobs({})->empty());
}
using Request = v1::SubmitJobRequest;
INSTANTIATE_TEST_SUITE_P(
    Requests, BadSubmitTest,
    testing::Values(
        BadSubmit{"NoRequestId", [](Request& r) { r.clear_request_id(); }, StatusCode::kInvalidArgument,
                  "request_id: 0 characters, 1 to 128"},
        BadSubmit{"ControlCharacter", [](Request& r) { r.set_name("a\nb"); }, StatusCode::kInvalidArgument,
                  "name: holds control character 0x0a"},
        BadSubmit{"NoTasks", [](Request& r) { r.clear_tasks(); }, StatusCode::kInvalidArgument, "tasks: 0 given"},
        BadSubmit{"NoBudget", [](Request& r) { r.clear_trials_per_task(); }, StatusCode::kInvalidArgument,
                  "tasks[0] has no budget"},
        BadSubmit{"NegativeTrials", [](Request& r) { r.set_trials(-1); }, StatusCode::kInvalidArgument,
                  "trials: -1, zero or more"},
        BadSubmit{"BadText", [](Request& r) { r.mutable_tasks(0)->set_workload("def"); }, StatusCode::kInvalidArgument,
                  "tasks[0].workload:1:"},
        BadSubmit{"SameTwice", [](Request& r) { *r.add_tasks() = r.tasks(0); }, StatusCode::kInvalidArgument,
                  "tasks[0] and tasks[1] compute the same"},
        BadSubmit{"UnknownTarget", [](Request& r) { r.set_target("llvm -mcpu=unheard-of"); },
                  StatusCode::kInvalidArgument, "unheard-of"},
        BadSubmit{"UnknownDeviceKey", [](Request& r) { r.set_target("auto"); }, StatusCode::kNotFound,
                  "device key \"rpi4\": no such device key"},
        BadSubmit{"UnknownSpace", [](Request& r) { r.set_space("rules,knobs"); }, StatusCode::kInvalidArgument,
                  "space \"knobs\": no such space; there are \"rules\", \"sketches\", \"templates\""},
        BadSubmit{"TooLarge", [](Request& r) { r.mutable_tasks(0)->set_workload(std::string(5 << 20, ' ')); },
                  StatusCode::kResourceExhausted, "a message at most 4"}),
    [](const auto& info) { return info.param.name; });

TEST_F(TuningServiceTest, SaysInWhichSpaceAJobSearches) {
  for (const auto& [asked, said] : {std::pair("", "rules"), std::pair("templates,rules", "rules,templates")}) {
    v1::SubmitJobRequest request = CopyJob();
    request.set_request_id(std::string("space ") + said);
    request.set_space(asked);
    const auto submitted = connection->tuning().SubmitJob(request);
    ASSERT_TRUE(submitted.ok()) << submitted.status().ToString();
    EXPECT_EQ(submitted->job().space(), said);
  }
}

TEST_F(TuningServiceTest, TakesAnAutomaticTargetFromTheDevicesWithTheKey) {
  const auto connect = [&](const std::string& name, const std::string& facts) {
    ASSERT_TRUE(store->RegisterDevice({name, "rpi4", facts, 0}).ok());
  };
  v1::SubmitJobRequest request = CopyJob();
  request.set_target("auto");
  connect("rpi4-01", R"({"arch": "aarch64", "num_cores": 4, "cpu_features": ["neon"]})");
  const auto submitted = connection->tuning().SubmitJob(request);
  ASSERT_TRUE(submitted.ok()) << submitted.status().ToString();
  EXPECT_THAT(submitted->job().tasks(0).key().target(), HasSubstr("-mtriple=aarch64-linux-gnu -num-cores=4"));

  request.set_request_id("request-b");
  connect("rpi4-02", R"({"arch": "aarch64", "num_cores": 2, "cpu_features": ["neon"]})");
  const Status unequal = connection->tuning().SubmitJob(request).status();
  EXPECT_EQ(unequal.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(unequal.message(), HasSubstr("name the target in full"));

  connect("rpi4-02", "no JSON");
  EXPECT_THAT(connection->tuning().SubmitJob(request).status().message(),
              HasSubstr("device \"rpi4-02\": it has not said what it is"));
}

TEST_F(TuningServiceTest, ListsJobsInPages) {
  for (int i = 0; i < 5; ++i) Scene(*store, i, "request-" + std::to_string(i));
  v1::ListJobsRequest request;
  request.set_page_size(2);
  std::vector<std::string> seen;
  for (int pages = 1;; ++pages) {
    const auto page = connection->tuning().ListJobs(request);
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    for (const v1::Job& job : page->jobs()) seen.push_back(job.request_id());
    request.set_page_token(page->next_page_token());
    if (!request.page_token().empty()) continue;
    EXPECT_EQ(pages, 3);
    break;
  }
  EXPECT_THAT(seen, testing::ElementsAre("request-0", "request-1", "request-2", "request-3", "request-4"));
}

TEST_F(TuningServiceTest, RefusesAPageTokenThatItDidNotGive) {
  v1::ListJobsRequest request;
  request.set_page_token("yesterday");
  const Status status = connection->tuning().ListJobs(request).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("page_token \"yesterday\""));
  request.clear_page_token();
  request.set_page_size(5000);
  EXPECT_THAT(connection->tuning().ListJobs(request).status().message(), HasSubstr("page_size: 5000, 1 to 1000"));
}

TEST_F(TuningServiceTest, SaysThatAJobIsUnknown) {
  v1::GetJobRequest request;
  request.set_job_id(77);
  const Status status = connection->tuning().GetJob(request).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("77"));
  request.set_job_id(0);
  EXPECT_EQ(connection->tuning().GetJob(request).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(connection->tuning().WatchJob({}, [](const auto&) { return true; }).code(), StatusCode::kInvalidArgument);
}

TEST_F(TuningServiceTest, CancelsAJobAndLeavesAnEndedOneAsItWas) {
  const Scene scene(*store);
  v1::CancelJobRequest request;
  request.set_job_id(scene.job_id);
  request.set_reason("made a mistake");
  const auto cancelled = connection->tuning().CancelJob(request);
  ASSERT_TRUE(cancelled.ok()) << cancelled.status().ToString();
  EXPECT_EQ(cancelled->job().state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(cancelled->job().detail(), "made a mistake");
  request.set_reason("again");
  EXPECT_EQ(connection->tuning().CancelJob(request)->job().detail(), "made a mistake");
}

TEST_F(TuningServiceTest, SaysWhatAJobWaitsForUntilItHasEnded) {
  const Scene scene(*store);
  ASSERT_TRUE(store->SetJobState(scene.job_id, JobState::kRunning, "a board").ok());
  v1::GetJobRequest request;
  request.set_job_id(scene.job_id);
  const v1::Job waiting = connection->tuning().GetJob(request)->job();
  EXPECT_EQ(waiting.waits_for(), "a board");
  EXPECT_EQ(waiting.detail(), "waits: a board");
  ASSERT_TRUE(store->SetJobState(scene.job_id, JobState::kDone, "its time was up").ok());
  const v1::Job ended = connection->tuning().GetJob(request)->job();
  EXPECT_FALSE(ended.has_waits_for());
  EXPECT_EQ(ended.detail(), "its time was up");
}

TEST(Hindrances, AreAFieldAndWords) {
  v1::Job job = ToMessage(JobRow{.state = JobState::kRunning, .detail = "a board"});
  SetHindrance(job, {Hindrance::Kind::kTrouble, "the disk is full"});
  EXPECT_EQ(job.trouble(), "the disk is full");
  EXPECT_FALSE(job.has_waits_for());
  EXPECT_EQ(job.detail(), "trouble: the disk is full");
}

TEST_F(TuningServiceTest, ListsTrialsWithTimesAndFailuresWithWords) {
  Scene scene(*store);
  scene.Measure(1, 5000);
  scene.Measure(2, 0, TrialState::kCrash);
  scene.Measure(3, 4000);
  v1::ListTrialsRequest request;
  request.set_job_id(scene.job_id);
  const auto all = connection->tuning().ListTrials(request);
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_EQ(all->trials_size(), 3);
  EXPECT_EQ(all->trials(0).median_ns(), 5000);
  EXPECT_EQ(all->trials(0).trace_json(), "");
  EXPECT_EQ(all->trials(2).median_ns(), 4000);
  request.set_only_failed(true);
  request.set_with_traces(true);
  const auto failed = connection->tuning().ListTrials(request);
  ASSERT_EQ(failed->trials_size(), 1);
  EXPECT_EQ(failed->trials(0).state(), "CRASH");
  EXPECT_EQ(failed->trials(0).error(), "segmentation fault");
  EXPECT_EQ(failed->trials(0).trace_json(), MakeTrial(2).trace_json);
}

TEST_F(TuningServiceTest, ExplainsATask) {
  ASSERT_TRUE(connection->tuning().SubmitJob(CopyJob()).ok());
  const TaskRow task = store->ListTasks(1)->front();
  ASSERT_TRUE(store->RecordModelRound(task.id, {.trials = 16, .pairs = 40, .pairs_right = 30}).ok());
  v1::ExplainTaskRequest request;
  request.set_task_id(task.id);
  const auto response = connection->tuning().ExplainTask(request);
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  const v1::TaskExplanation& told = response->explanation();
  EXPECT_EQ(told.name(), "copy");
  EXPECT_EQ(told.best_sketch(), -1);
  EXPECT_EQ(told.sketches_size(), 1);
  ASSERT_EQ(told.rounds_size(), 1);
  EXPECT_EQ(told.rounds(0).pairs_right(), 30);
  request.set_task_id(77);
  EXPECT_EQ(connection->tuning().ExplainTask(request).code(), StatusCode::kNotFound);
  request.set_task_id(0);
  EXPECT_THAT(connection->tuning().ExplainTask(request).status().message(), HasSubstr("task_id"));
}

TEST_F(TuningServiceTest, WatchesAJobToItsEnd) {
  Scene scene(*store);
  v1::WatchJobRequest request;
  request.set_job_id(scene.job_id);
  std::vector<int64_t> cursors;
  v1::Job last;
  bool was_measured = false;
  const Status status = connection->tuning().WatchJob(request, [&](const v1::WatchJobResponse& update) {
    for (const v1::JobEvent& event : update.events()) cursors.push_back(event.cursor());
    last = update.job();
    if (!was_measured) {  // The watch has begun: now something happens.
      was_measured = true;
      scene.Measure(1, 5000);
      EXPECT_TRUE(store->SetJobState(scene.job_id, JobState::kDone, "64 of 64 trials").ok());
    }
    return true;
  });
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(last.state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(last.tasks(0).best_ns(), 5000);
  EXPECT_EQ(last.tasks(0).trials_done(), 1);
  EXPECT_TRUE(std::is_sorted(cursors.begin(), cursors.end()));
  EXPECT_EQ(cursors.size(), store->ReadEvents(0, scene.job_id, 1000)->size());
}

TEST_F(TuningServiceTest, ResumesAWatchFromItsCursor) {
  Scene scene(*store);
  scene.Measure(1, 5000);
  const std::vector<EventRow> events = *store->ReadEvents(0, scene.job_id, 1000);
  ASSERT_GE(events.size(), 3u);
  v1::WatchJobRequest request;
  request.set_job_id(scene.job_id);
  request.set_after_cursor(events[1].cursor);
  std::optional<int64_t> first;
  ASSERT_TRUE(connection->tuning()
                  .WatchJob(request,
                            [&](const v1::WatchJobResponse& update) {
                              first = update.events(0).cursor();
                              return false;
                            })
                  .ok());
  EXPECT_EQ(first, events[2].cursor);
}

TEST_F(TuningServiceTest, GoesOnWatchingWhenTheServerWasRestarted) {
  Scene scene(*store);
  v1::WatchJobRequest request;
  request.set_job_id(scene.job_id);
  std::vector<int64_t> cursors;
  std::thread restarter;
  const Status status = connection->tuning().WatchJob(request, [&](const v1::WatchJobResponse& update) {
    for (const v1::JobEvent& event : update.events()) cursors.push_back(event.cursor());
    if (!restarter.joinable()) {
      restarter = std::thread([&] {
        server->Stop(std::chrono::milliseconds(0));
        EXPECT_TRUE(store->SetJobState(scene.job_id, JobState::kDone, "").ok());
        server = *ServiceServer::Start({.listen = {address}}, *api);
      });
    }
    return true;
  });
  restarter.join();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(cursors.size(), store->ReadEvents(0, scene.job_id, 1000)->size());
}

}  // namespace
}  // namespace lathe
