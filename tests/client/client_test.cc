// The C++ client, against services that answer as the test says.
#include "include/lathe/client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>

#include "proto/lathe/v1/schedule.grpc.pb.h"
#include "proto/lathe/v1/tuning.grpc.pb.h"
#include "tests/support/temporary_folder.h"

namespace lathe::client {
namespace {

using testing::HasSubstr;

class FakeTuning : public v1::TuningService::Service {
 public:
  grpc::Status SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override {
    submitted = *request;
    response->mutable_job()->set_id(7);
    response->mutable_job()->set_request_id(request->request_id());
    return grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request, v1::GetJobResponse* response) override {
    ++calls;
    if (unavailable > 0) return --unavailable, grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
    if (request->job_id() == 77) return {grpc::StatusCode::NOT_FOUND, "job 77: no such job"};
    if (request->job_id() == 8) AwaitRelease();
    response->mutable_job()->set_id(request->job_id());
    response->mutable_job()->set_state(v1::JOB_STATE_RUNNING);
    return grpc::Status::OK;
  }
  // Two updates, a break, and the end.
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer) override {
    cursors.push_back(request->after_cursor());
    const int64_t first = request->after_cursor() + 1;
    for (int64_t cursor = first; cursor < first + 2; ++cursor) {
      v1::WatchJobResponse update;
      update.set_cursor(cursor);
      update.mutable_job()->set_state(first == 1 ? v1::JOB_STATE_RUNNING : v1::JOB_STATE_DONE);
      if (!writer->Write(update)) return grpc::Status::CANCELLED;
    }
    return first == 1 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "old connection") : grpc::Status::OK;
  }

  void Release() {
    const std::lock_guard lock(guard_);
    is_released_ = true;
    released_.notify_all();
  }

  v1::SubmitJobRequest submitted;
  std::vector<int64_t> cursors;
  int calls = 0, unavailable = 0;

 private:
  void AwaitRelease() {
    std::unique_lock lock(guard_);
    released_.wait(lock, [this] { return is_released_; });
  }
  std::mutex guard_;
  std::condition_variable released_;
  bool is_released_ = false;
};

class FakeSchedules : public v1::ScheduleService::Service {
 public:
  grpc::Status QueryBest(grpc::ServerContext*, const v1::QueryBestRequest* request,
                         v1::QueryBestResponse* response) override {
    asked = *request;
    v1::BestAnswer& hit = *response->add_answers();
    hit.set_lookup(v1::LOOKUP_HIT);
    hit.mutable_key()->set_workload(std::string(32, '\xab'));
    hit.mutable_record()->mutable_timings()->set_median_ns(1500);
    hit.mutable_record()->set_trace_json("[]");
    response->add_answers()->set_lookup(v1::LOOKUP_MISS);
    return grpc::Status::OK;
  }
  v1::QueryBestRequest asked;
};

class ClientTest : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&tuning);
    builder.RegisterService(&schedules);
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
  }
  void TearDown() override { tuning.Release(); }

  TemporaryFolder folder;
  std::string address = "unix:" + (folder / "server.sock");
  FakeTuning tuning;
  FakeSchedules schedules;
  std::unique_ptr<grpc::Server> server;
};

TEST_F(ClientTest, AsksAServerAgainThatIsAwayForAMoment) {
  tuning.unavailable = 2;
  const Result<Job> job = Client(address).GetJob(5);
  ASSERT_TRUE(std::holds_alternative<Job>(job)) << std::get<Error>(job).message;
  EXPECT_EQ(std::get<Job>(job).state, JobState::kRunning);
  EXPECT_EQ(tuning.calls, 3);
}

TEST_F(ClientTest, HandsOverTheServersWordsAndDoesNotRepeatWhatWasRefused) {
  const Result<Job> job = Client(address).GetJob(77);
  ASSERT_TRUE(std::holds_alternative<Error>(job));
  EXPECT_EQ(std::get<Error>(job).code, 5);
  EXPECT_EQ(std::get<Error>(job).message, "get job at " + address + ": job 77: no such job");
  EXPECT_EQ(tuning.calls, 1);
}

TEST_F(ClientTest, EndsACallAtItsDeadline) {
  const Result<Job> job = Client(address, {.deadline = std::chrono::milliseconds(200)}).GetJob(8);
  ASSERT_TRUE(std::holds_alternative<Error>(job));
  EXPECT_EQ(std::get<Error>(job).code, 4);
  EXPECT_EQ(tuning.calls, 1);
}

TEST_F(ClientTest, SaysThatNobodyIsThere) {
  const Result<Job> job = Client("unix:" + (folder / "nobody.sock")).GetJob(1);
  ASSERT_TRUE(std::holds_alternative<Error>(job));
  EXPECT_EQ(std::get<Error>(job).code, 14);
}

TEST_F(ClientTest, GoesOnWatchingWhereTheConnectionWasLost) {
  std::vector<int64_t> seen;
  const Result<Job> ended = Client(address).Watch(7, [&](const Update& update) {
    seen.push_back(update.cursor);
    return true;
  });
  ASSERT_TRUE(std::holds_alternative<Job>(ended)) << std::get<Error>(ended).message;
  EXPECT_TRUE(std::get<Job>(ended).has_ended());
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(tuning.cursors, testing::ElementsAre(0, 2));
}

TEST_F(ClientTest, StopsWatchingWhenTheCallerHasEnough) {
  const Result<Job> job = Client(address).Watch(7, [](const Update& update) { return update.cursor < 1; });
  ASSERT_TRUE(std::holds_alternative<Job>(job));
  EXPECT_FALSE(std::get<Job>(job).has_ended());
  EXPECT_THAT(tuning.cursors, testing::ElementsAre(0));
}

TEST_F(ClientTest, SubmitsWhatWasAskedUnderAnIdOfItsOwn) {
  JobRequest request{.tasks = {{.workload = "a", .name = "one", .weight = 3, .trials = 5}}, .device = "pi4"};
  request.time_limit = std::chrono::seconds(2);
  const Result<Job> job = Client(address).Submit(request);
  ASSERT_TRUE(std::holds_alternative<Job>(job));
  EXPECT_EQ(std::get<Job>(job).request_id.size(), 32u);
  EXPECT_EQ(tuning.submitted.time_limit_ns(), 2'000'000'000);
  EXPECT_EQ(tuning.submitted.target(), "auto");
  EXPECT_EQ(tuning.submitted.tasks(0).weight(), 3);
  EXPECT_EQ(tuning.submitted.tasks(0).trial_budget(), 5);
  request.request_id = "mine";
  EXPECT_EQ(std::get<Job>(Client(address).Submit(request)).request_id, "mine");
}

TEST_F(ClientTest, AsksForTheBestByDigestOrByText) {
  const std::string digest(64, 'a'), text = "@T.prim_func ...";
  const std::vector<std::string> workloads = {digest, text};
  const auto best = Client(address).QueryBest(workloads, "llvm", "pi4");
  ASSERT_TRUE(std::holds_alternative<std::vector<Best>>(best));
  const auto& answers = std::get<std::vector<Best>>(best);
  EXPECT_EQ(schedules.asked.queries(0).digest(), std::string(32, '\xaa'));
  EXPECT_EQ(schedules.asked.queries(1).text(), text);
  EXPECT_EQ(answers[0].lookup, Lookup::kHit);
  EXPECT_EQ(answers[0].median_ns, 1500);
  EXPECT_THAT(answers[0].workload, HasSubstr("abab"));
  EXPECT_EQ(answers[1].lookup, Lookup::kMiss);
  EXPECT_EQ(answers[1].median_ns, std::nullopt);
}

TEST(Client, SaysWhatAFarmOnAnotherMachineTakes) {
  EXPECT_TRUE(std::holds_alternative<Error>(Client("127.evil.example:7431").GetJob(1)));
  const auto job = Client("farm.lab:7431", {.token = "lathe_abc"}).GetJob(1);
  ASSERT_TRUE(std::holds_alternative<Error>(job));
  EXPECT_EQ(std::get<Error>(job).code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(std::get<Error>(job).message,
              HasSubstr("get job at farm.lab:7431: beyond this machine everything is encrypted"));
}

}  // namespace
}  // namespace lathe::client
