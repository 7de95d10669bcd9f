// What the service tests share: a farm in memory behind a real server on a Unix socket.
#pragma once

#include <gmock/gmock.h>

#include "support/status_macros.h"
#include "tests/support/fake_clock.h"
#include "tests/support/hang_guard.h"
#include "tests/tuner/database/store_testing.h"
#include "tuner/service/client.h"
#include "tuner/service/server.h"
#include "tuner/service/store_core.h"

namespace lathe {

inline constexpr const char* kCopyFunc = R"(
@T.prim_func
def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("copy"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
)";
inline constexpr const char* kDoubleFunc = R"(
@T.prim_func
def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("double"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
)";

// Keeps jobs, works on none.
class FakeCore : public StoreCore {
 public:
  using StoreCore::StoreCore;
  StatusOr<CreatedJob> SubmitJob(const JobRequest& request) override {
    NewJob job{request.request_id, request.name, request.spec.ToJson(), {}, request.submitter};
    for (const TaskRequest& task : request.tasks) {
      RETURN_IF_ERROR(store().PutWorkload(task.workload).status());
      job.tasks.push_back(
          {KeyFor(task.workload.digest, task.target, request.device_key), task.name, task.weight, task.trial_budget});
    }
    return store().CreateJob(job);
  }
};

// Remembers what workers sent.
class FakeCoordinator : public WorkerHost {
 public:
  void SynchronizeLater(const v1::SynchronizeRequest& request,
                        std::function<void(StatusOr<v1::SynchronizeResponse>)> answer) override {
    if (request.worker().name().empty()) return answer(InvalidArgument("synchronize: a worker without a name"));
    v1::SynchronizeResponse response;
    response.set_sequence(request.sequence());
    response.add_desired()->set_trial_id(42);
    answer(response);
  }
  Status StoreArtifact(const Digest& digest, const std::string& content) override {
    artifacts[digest] = content;
    return OkStatus();
  }
  std::map<Digest, std::string> artifacts;
};

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    store = *SqliteStore::OpenInMemory(clock);
    core = std::make_unique<FakeCore>(*store);
    api = std::make_unique<CoreApi>(*core, std::chrono::milliseconds(1), clock);
    Start();
  }
  void Start() {
    auto started = ServiceServer::Start({.listen = {address}, .workers = &coordinator}, *api);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server = *std::move(started);
    connection = ConnectToServer(address, {.deadline = kHangGuard, .patience = kHangGuard});
  }
  static v1::SubmitJobRequest CopyJob() {
    v1::SubmitJobRequest request;
    request.set_request_id("request-a");
    request.set_name("copy");
    request.set_target("llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4");
    request.set_device_key("rpi4");
    request.set_trials_per_task(64);
    request.add_tasks()->set_workload(kCopyFunc);
    return request;
  }

  TemporaryFolder folder;
  Endpoint address{.unix_path = folder / "lathe.db.sock"};
  FakeClock clock{kNow};
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<FakeCore> core;
  std::unique_ptr<CoreApi> api;
  FakeCoordinator coordinator;
  std::unique_ptr<ServiceServer> server;
  std::unique_ptr<ServerConnection> connection;
};

}  // namespace lathe
