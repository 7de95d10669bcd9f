// Server, workers and devices as processes of their own.
#include <fmt/format.h>

#include "cli/remote_job.h"
#include "tests/e2e/child_process.h"
#include "tests/tuner/database/store_testing.h"
#include "tuner/service/client.h"

namespace lathe {
namespace {

std::string Matmul(const std::string& name, int n) {
  return fmt::format(R"(
@T.prim_func
def {0}(A: T.Buffer(({1}, {1}), "float32"), B: T.Buffer(({1}, {1}), "float32"), C: T.Buffer(({1}, {1}), "float32")):
    for i, j, k in T.grid({1}, {1}, {1}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                     name, n);
}

class DistributedTest : public testing::Test {
 protected:
  void StartServer() {
    server = std::make_unique<ChildProcess>(std::vector<std::string>{"lathe", "up", "--json", "--db", database, "--listen", address.ToString(),
                                                                     "--device-listen", device_address});
    ASSERT_NE(server->ReadLine(), "") << "the server did not start";
  }
  void StartWorkersAndDevices() {
    for (const char* number : {"1", "2"}) {
      workers.push_back(std::make_unique<ChildProcess>(std::vector<std::string>{"lathe", "worker", "--connect", address.ToString(), "--slots", "1",
                                                                                "--name", fmt::format("test{}-{}", getpid(), number)}));
    }
    devices.push_back(StartDevice("cpu0", "0"));
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) devices.push_back(StartDevice("cpu1", "1"));
  }
  std::unique_ptr<ChildProcess> StartDevice(const std::string& name, const std::string& cpus) {
    return std::make_unique<ChildProcess>(std::vector<std::string>{"lathe", "device", "--connect", device_address, "--key", "host", "--name", name,
                                                                   "--cpus", cpus, "--data", folder / name});
  }
  v1::SubmitJobRequest Request(const std::string& id, const std::string& text, int64_t trials) {
    v1::SubmitJobRequest request;
    request.set_request_id(id);
    request.set_name(id);
    request.set_target("auto");
    request.set_device_key("host");
    request.set_trials(trials);
    request.add_tasks()->set_workload(text);
    return request;
  }
  // A device needs a moment to say what it is.
  v1::Job Submit(const v1::SubmitJobRequest& request) {
    for (int i = 0; i < 300; ++i) {
      const auto submitted = connection->tuning().SubmitJob(request);
      if (submitted.ok()) return submitted->job();
      EXPECT_TRUE(submitted.code() == StatusCode::kNotFound || submitted.code() == StatusCode::kUnavailable) << submitted.status().ToString();
      usleep(100'000);
    }
    ADD_FAILURE() << "no device came";
    return {};
  }
  v1::Job WatchToItsEnd(int64_t job_id, const std::function<void(const v1::WatchJobResponse&)>& at_update = {}) {
    v1::WatchJobRequest request;
    request.set_job_id(job_id);
    v1::Job last;
    const Status status = connection->tuning().WatchJob(request, [&](const v1::WatchJobResponse& update) {
      last = update.job();
      if (at_update) at_update(update);
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return last;
  }

  TemporaryFolder folder;
  std::string database = folder / "lathe.db", device_address = "unix:" + (folder / "devices.sock");
  Endpoint address{.unix_path = folder / "server.sock"};
  std::unique_ptr<ServerConnection> connection = ConnectToServer(address);
  std::vector<std::unique_ptr<ChildProcess>> workers, devices;
  std::unique_ptr<ChildProcess> server;
};

TEST_F(DistributedTest, TwoJobsAtOnceSurviveTheKillOfTheServer) {
  StartServer();
  StartWorkersAndDevices();
  const int64_t first = Submit(Request("first", Matmul("first", 64), 24)).id();
  const int64_t second = Submit(Request("second", Matmul("second", 96), 24)).id();
  bool was_killed = false;
  std::vector<int64_t> cursors;
  const v1::Job job = WatchToItsEnd(first, [&](const v1::WatchJobResponse& update) {
    for (const v1::JobEvent& event : update.events()) cursors.push_back(event.cursor());
    if (was_killed || update.job().tasks(0).trials_done() < 4) return;
    was_killed = true;
    server->End(SIGKILL);
    StartServer();
  });
  EXPECT_TRUE(was_killed);
  EXPECT_TRUE(std::adjacent_find(cursors.begin(), cursors.end(), std::greater_equal<>()) == cursors.end()) << "an event came twice";
  for (const v1::Job& ended : {job, WatchToItsEnd(second)}) {
    EXPECT_EQ(ended.state(), v1::JOB_STATE_DONE) << ended.DebugString();
    EXPECT_EQ(ended.tasks(0).trials_known(), 24);
    EXPECT_GT(ended.tasks(0).best_ns(), 0);
  }

  // The same work again costs nothing, whoever asks.
  v1::Job again = Submit(Request("again", Matmul("again", 64), 24));
  const auto ending = FollowRemoteJob(connection->tuning(), again.id(), [&](const v1::Job& shown) { again = shown; }, [] { return false; });
  ASSERT_TRUE(ending.ok()) << ending.status().ToString();
  EXPECT_EQ(*ending, RemoteEnding::kJobEnded);
  const StatusOr<JobReport> report = ToReport(again);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->job.state, JobState::kDone);
  EXPECT_EQ(report->measured, 0);
  EXPECT_EQ(report->reused, 24);
  EXPECT_GE(report->tasks[0].untuned_ns, report->tasks[0].best_ns);

  EXPECT_EQ(workers[0]->End(SIGTERM), 0);
  EXPECT_EQ(devices[0]->End(SIGTERM), 0);
  EXPECT_EQ(server->End(SIGTERM), 0);
}

}  // namespace
}  // namespace lathe
