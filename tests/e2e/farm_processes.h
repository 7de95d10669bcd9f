// A farm of processes on Unix sockets in a folder of its own: a server, workers and devices that can be killed and
// started again.
#pragma once

#include <fmt/format.h>

#include <functional>

#include "support/random.h"
#include "tests/e2e/child_process.h"
#include "tests/tuner/database/store_testing.h"
#include "tuner/service/client.h"

namespace lathe {

inline std::string MatmulText(const std::string& name, int n) {
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

// Locks of CPUs are the test's own: its measurements need not be good, and it must not wait for others.
class E2eTest : public testing::Test {
 protected:
  E2eTest() { setenv("LATHE_CPU_LOCKS", (folder / "locks").c_str(), 1); }
  ~E2eTest() override {
    if (!HasFailure()) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "")) {
      if (entry.path().extension() != ".log") continue;
      const std::string text = TextOf(entry.path());
      std::fprintf(stderr, "---- %s\n%s\n", entry.path().filename().c_str(),
                   text.substr(text.size() - std::min<size_t>(text.size(), 3000)).c_str());
    }
  }
  // LATHE_SEED replays a run.
  static uint64_t Seed() {
    const char* given = std::getenv("LATHE_SEED");
    const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                           : static_cast<uint64_t>(SystemClock().UnixNanos()) % 1'000'000;
    std::fprintf(stderr, "LATHE_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return seed;
  }

  // Looks until it is so; ctest's time limit is the only one.
  static void Until(const std::function<bool()>& is_so) {
    while (!is_so()) poll(nullptr, 0, 10);
  }

  TemporaryFolder folder;
};

class FarmTest : public E2eTest {
 protected:
  static constexpr int kMembers = 2;  // Workers, and devices where there are CPUs for them.

  ~FarmTest() override {
    workers.clear();
    std::error_code ignored;
    for (int i = 0; i < kMembers; ++i)
      std::filesystem::remove_all(fmt::format("/tmp/lathe-worker-{}-test{}-{}", getuid(), getpid(), i), ignored);
  }

  void StartServer(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{
        "lathe", "up", "--json", "--db", database, "--listen", address.ToString(), "--device-listen", device_address};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server = std::make_unique<ChildProcess>(arguments, folder / "server.log");
    ASSERT_NE(server->ReadLine(), "") << "the server did not start: " << TextOf(folder / "server.log");
  }
  std::unique_ptr<ChildProcess> StartWorker(int number) {
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{"lathe", "worker", "--connect", address.ToString(), "--slots", "1", "--name",
                                 fmt::format("test{}-{}", getpid(), number)},
        folder / fmt::format("worker{}.log", number));
  }
  std::unique_ptr<ChildProcess> StartDevice(int cpu, const std::string& key = "host") {
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{"lathe", "device", "--connect", device_address, "--key", key, "--name",
                                 fmt::format("cpu{}", cpu), "--cpus", std::to_string(cpu), "--data",
                                 folder / fmt::format("device{}", cpu)},
        folder / fmt::format("device{}.log", cpu));
  }
  void StartWorkersAndDevices() {
    for (int i = 0; i < kMembers; ++i) workers.push_back(StartWorker(i));
    for (int i = 0; i < std::min<int>(kMembers, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); ++i)
      devices.push_back(StartDevice(i));
  }
  static v1::SubmitJobRequest Request(const std::string& id, const std::string& text, int64_t trials,
                                      const std::string& key = "host") {
    v1::SubmitJobRequest request;
    request.set_request_id(id);
    request.set_name(id);
    request.set_target("auto");
    request.set_device_key(key);
    request.set_trials(trials);
    request.add_tasks()->set_workload(text);
    return request;
  }
  // A device needs a moment to say what it is.
  v1::Job Submit(const v1::SubmitJobRequest& request) {
    for (;; poll(nullptr, 0, 100)) {
      const auto submitted = connection->tuning().SubmitJob(request);
      if (submitted.ok()) return submitted->job();
      if (submitted.code() == StatusCode::kNotFound || submitted.code() == StatusCode::kUnavailable) continue;
      ADD_FAILURE() << submitted.status().ToString();
      return {};
    }
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

  std::string database = folder / "lathe.db", device_address = "unix:" + (folder / "devices.sock");
  Endpoint address{.unix_path = folder / "server.sock"};
  std::unique_ptr<ServerConnection> connection = ConnectToServer(address);
  std::vector<std::unique_ptr<ChildProcess>> workers, devices;
  std::unique_ptr<ChildProcess> server;
};

// What must hold of a database, whatever happened on the way: each trial has the one record that ended it, and the
// budget was spent to the trial.
inline void CheckBooks(const std::string& database, int64_t job_id, int64_t budget) {
  const auto store = SqliteStore::OpenReadOnly(database);
  ASSERT_TRUE(store.ok()) << store.status().message();
  std::map<int64_t, int> endings;  // Trial -> records that can have ended it.
  std::set<Digest> keys;
  for (const TuningRecord& record : *(*store)->ListRecords({0, 100'000})) {
    EXPECT_TRUE(keys.insert(record.result_key).second) << "a result was recorded twice";
    const bool is_first_of_two = record.status == TrialState::kNoisy;  // Measured once more; its record stays.
    if (record.trial_id && !record.late && !is_first_of_two) ++endings[*record.trial_id];
  }
  int64_t spent = 0, without_record = 0;
  for (const TaskRow& task : *(*store)->ListTasks(job_id)) {
    for (const TrialRow& trial : *(*store)->ListTrials({.task_id = task.id}, {0, 100'000})) {
      EXPECT_TRUE(IsTerminal(trial.state)) << "trial " << trial.id << " is " << TrialStateName(trial.state);
      spent += SpendsBudget(trial.state) ? 1 : 0;
      without_record += trial.state == TrialState::kInfraFailed ? 1 : 0;
      const int expected = HasRecord(trial.state) && trial.state != TrialState::kNoisy ? 1 : 0;
      EXPECT_EQ(endings[trial.id], expected) << "records of trial " << trial.id << ", " << TrialStateName(trial.state);
    }
    EXPECT_EQ(*(*store)->CountMeasured(task.key) + without_record, budget);
  }
  EXPECT_EQ(spent, budget);
}

}  // namespace lathe
