// DeviceServer and DeviceGateway over real sockets: first with a runner that only pretends, so that faults can be
// placed exactly, then with lathe-runner.
#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>

#include "rpc/device/cpu_lock.h"
#include "rpc/device/device_program.h"
#include "rpc/device/device_server.h"
#include "rpc/device/process_trial_runner.h"
#include "rpc/device/result_spool.h"
#include "rpc/device_message.h"
#include "rpc/gateway/device_gateway.h"
#include "runner/measure_policy.h"
#include "tests/support/hang_guard.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

using testing::HasSubstr;

// The server's side: wants a list of trials measured under one epoch, two at a time, and commits what comes.
class Wanter : public DeviceGatewayOwner {
 public:
  explicit Wanter(std::vector<v1::MeasureSpec> specs) : specs_(std::move(specs)) {}
  void Attach(DeviceGateway& gateway) { gateway_ = &gateway; }
  void AddBlob(const std::string& content) { blobs_[Sha256(content)] = content; }

  void OnDeviceUp(const v1::Hello& hello) override {
    std::lock_guard lock(mutex_);
    ++connections;
    names.push_back(hello.facts().name());
    Want(hello.facts().name());
    changed_.notify_all();
  }
  void OnDeviceHeard(const std::string&, const v1::Current&) override {}
  void OnDeviceDown(const std::string&, const std::string&) override {}
  void OnResult(const v1::MeasureResult& result) override {
    std::lock_guard lock(mutex_);
    ++arrivals;
    if (on_result && !on_result(result)) return;  // Neither committed nor acknowledged.
    const bool is_new = results.emplace(result.key(), result).second;
    gateway_->Acknowledge(result.device(), *Digest::FromBytes(result.key()),
                          is_new ? v1::ACK_VERDICT_ACK : v1::ACK_VERDICT_DUPLICATE);
    Want(result.device());
    changed_.notify_all();
  }
  StatusOr<BlobPiece> ReadBlob(const Digest& digest, int64_t offset, int64_t limit) override {
    const auto it = blobs_.find(digest);
    if (it == blobs_.end()) return NotFound("blob " + digest.ToHex() + ": not in the test");
    return BlobPiece{it->second.substr(static_cast<size_t>(offset), static_cast<size_t>(limit)),
                     static_cast<int64_t>(it->second.size())};
  }

  void WaitForResults(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return results.size() >= count; });
  }
  void WaitForConnections(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return connections >= count; });
  }

  std::map<std::string, v1::MeasureResult> results;         // By key.
  std::function<bool(const v1::MeasureResult&)> on_result;  // False: the result is lost on the way to the database.
  int arrivals = 0, connections = 0;
  std::vector<std::string> names;

 private:
  void Want(const std::string& device) {
    v1::Desired desired;
    desired.set_epoch(1);
    for (const v1::MeasureSpec& spec : specs_) {
      const bool is_done = results.contains(std::string(ResultKey(spec, device).raw()));
      if (!is_done && desired.specs_size() < 2) *desired.add_specs() = spec;
    }
    EXPECT_TRUE(gateway_->SetDesired(device, desired).ok());
  }

  const std::vector<v1::MeasureSpec> specs_;
  DeviceGateway* gateway_ = nullptr;
  std::map<Digest, std::string> blobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

v1::MeasureSpec SpecFor(int64_t trial, const std::string& module, const std::string& kernel = "add") {
  v1::MeasureSpec spec;
  spec.set_trial_id(trial);
  spec.set_attempt(1);
  spec.set_epoch(1);
  spec.mutable_module()->set_digest(std::string(Sha256(module).raw()));
  spec.mutable_module()->set_size(static_cast<int64_t>(module.size()));
  spec.set_kernel(kernel);
  spec.set_seed(11);
  spec.set_wall_limit_ns(Duration(kHangGuard).count());
  spec.set_memory_limit_bytes(256 << 20);
  spec.set_threads(1);
  v1::MeasurePolicy& policy = *spec.mutable_policy();
  policy.set_version(kMeasurePolicyVersion);
  policy.set_warmup_ns(1'000'000);
  policy.set_warmup_calls(3);
  policy.set_min_batch_ns(1'000'000);
  policy.set_min_repeats(5);
  policy.set_max_repeats(8);
  policy.set_budget_ns(Duration(kHangGuard).count());  // Else a slow machine takes fewer repeats than five.
  policy.set_goal_half_width(0.1);
  policy.set_noisy_half_width(0.5);
  policy.set_max_redone(1);
  policy.set_max_other_share(0.5);
  return spec;
}

// Says at once what a runner would say in time.
class PretendedRunner : public TrialRunner {
 public:
  PretendedRunner() : event_(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~PretendedRunner() override { close(event_); }
  int event_fd() const override { return event_; }
  std::vector<RunnerNotice> Poll() override {
    eventfd_t ignored = 0;
    if (!has_gone_ && !is_killed_) {
      eventfd_read(event_, &ignored);
      return {{RunnerNotice::Kind::kReady}};
    }
    v1::MeasureResult outcome;
    outcome.set_status(is_killed_ ? v1::MEASURE_STATUS_CRASH : v1::MEASURE_STATUS_OK);
    if (step_++ == 0 && !is_killed_) return {{RunnerNotice::Kind::kTimingBegins}};
    return {{RunnerNotice::Kind::kTimingEnds}, {RunnerNotice::Kind::kEnded, outcome}};
  }
  void Go() override {
    has_gone_ = true;
    eventfd_write(event_, 1);
  }
  void Kill() override {
    is_killed_ = true;
    eventfd_write(event_, 1);
  }

 private:
  const int event_;
  bool has_gone_ = false, is_killed_ = false;
  int step_ = 0;
};

class PretendingFactory : public TrialRunnerFactory {
 public:
  StatusOr<std::unique_ptr<TrialRunner>> Start(const v1::MeasureSpec& spec, const std::string& module_path,
                                               const std::string&) override {
    ++starts[spec.trial_id()];
    std::ifstream file(module_path, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_EQ(Sha256(content).raw(), spec.module().digest());
    return std::unique_ptr<TrialRunner>(std::make_unique<PretendedRunner>());
  }
  std::map<int64_t, int> starts;
};

// A device server on a thread of its own, from creation to destruction of its runners.
class DeviceThread {
 public:
  DeviceThread(DeviceServerOptions options, TrialRunnerFactory& runners) {
    StatusOr<std::unique_ptr<DeviceServer>> server = DeviceServer::Create(std::move(options), runners);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    thread_ = std::thread([this] { server_->Run(); });
  }
  ~DeviceThread() {
    server_->Stop();
    thread_.join();
  }

 private:
  std::unique_ptr<DeviceServer> server_;
  std::thread thread_;
};

v1::DeviceFacts Facts(const std::string& name = "board") { return CollectDeviceFacts(name, "local", {}); }

TEST(DeviceEndToEnd, DeliversEachResultOnceThoughTheConnectionDies) {
  constexpr int kTrials = 24;
  std::vector<v1::MeasureSpec> specs;
  std::vector<std::string> modules;
  for (int i = 1; i <= kTrials; ++i) {
    modules.push_back("module " + std::to_string(i) +
                      std::string(i % 8 == 0 ? 400'000 : 10, 'm'));  // Beyond the credit window.
    specs.push_back(SpecFor(i, modules.back()));
  }
  Wanter wanter(specs);
  for (const std::string& module : modules) wanter.AddBlob(module);
  DeviceGateway gateway({.build_id = "test"}, wanter);
  wanter.Attach(gateway);
  std::atomic<int> wire = -1;  // A second descriptor of the device's socket, to cut it.
  wanter.on_result = [&](const v1::MeasureResult&) {
    if (wanter.arrivals % 7 != 0) return true;
    shutdown(wire, SHUT_RDWR);
    return wanter.arrivals % 2 == 0;  // Sometimes the commit was done, but nobody hears of it.
  };
  TemporaryFolder folder;
  PretendingFactory runners;
  {
    DeviceThread device({.facts = Facts(),
                         .build_id = "test",
                         .data_directory = folder.path(),
                         .server = SocketMaker([&]() -> StatusOr<int> {
                           StatusOr<int> fd = gateway.MakeSocketPair();
                           if (fd.ok()) close(wire.exchange(dup(*fd)));
                           return fd;
                         })},
                        runners);
    wanter.WaitForResults(kTrials);
  }
  close(wire);
  EXPECT_EQ(wanter.results.size(), static_cast<size_t>(kTrials));
  EXPECT_GT(wanter.connections, 2);
  EXPECT_GT(wanter.arrivals, kTrials);  // Some came twice and were recorded once.
  for (const auto& [trial, count] : runners.starts) EXPECT_EQ(count, 1) << "trial " << trial << " ran more than once";
}

TEST(DeviceEndToEnd, MeasuresWithRealRunnersOverAUnixSocket) {
  const auto read = [](const std::string& name) {
    std::ifstream file(LATHE_TEST_KERNEL_DIR "/" + name + ".so", std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  };
  const std::string good = read("good"), no_meta = read("no_meta");
  std::vector<v1::MeasureSpec> specs;
  for (int i = 1; i <= 6; ++i) specs.push_back(SpecFor(i, good));
  specs.push_back(SpecFor(7, no_meta));
  specs.push_back(SpecFor(8, good, "no_such_kernel"));
  specs.push_back(SpecFor(9, "a blob that the server does not have"));
  Wanter wanter(specs);
  wanter.AddBlob(good);
  wanter.AddBlob(no_meta);
  TemporaryFolder folder;
  DeviceGateway gateway({.build_id = "test"}, wanter);
  wanter.Attach(gateway);
  const StatusOr<Endpoint> endpoint = gateway.Listen({.unix_path = folder.path() + "/gateway"});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().message();
  ProcessTrialRunnerFactory runners(LATHE_BIN_DIR "/lathe-runner", {});
  DeviceThread device(
      {.facts = Facts(), .build_id = "test", .data_directory = folder.path() + "/data", .server = *endpoint}, runners);
  wanter.WaitForResults(specs.size());
  std::vector<int64_t> idle;
  for (const auto& [key, result] : wanter.results) {
    const std::string said = v1::MeasureStatus_Name(result.status()) + ": " + result.message();
    if (result.trial_id() <= 6) {
      EXPECT_THAT(result.status(), testing::AnyOf(v1::MEASURE_STATUS_OK, v1::MEASURE_STATUS_NOISY)) << said;
      EXPECT_GT(result.stats().median_ns(), 0);
      EXPECT_GE(result.samples_ns_size(), 3);
      if (result.idle_ns() >= 0) idle.push_back(result.idle_ns());
    } else if (result.trial_id() <= 8) {
      EXPECT_EQ(result.status(), v1::MEASURE_STATUS_INVALID) << said;
    } else {
      EXPECT_EQ(result.status(), v1::MEASURE_STATUS_INFRA_FAILED) << said;
      EXPECT_THAT(result.message(), HasSubstr("not in the test"));
    }
  }
  std::sort(idle.begin(), idle.end());
  ASSERT_FALSE(idle.empty());
  RecordProperty("median_idle_us", static_cast<int>(idle[idle.size() / 2] / 1000));
  std::printf("median gap between two measurements: %.3f ms\n", static_cast<double>(idle[idle.size() / 2]) * 1e-6);
}

TEST(DeviceEndToEnd, RefusesASecondProcessOfTheSameName) {
  Wanter wanter({});
  DeviceGateway gateway({.build_id = "test"}, wanter);
  wanter.Attach(gateway);
  const StatusOr<Endpoint> endpoint = gateway.Listen({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().message();
  TemporaryFolder folder;
  PretendingFactory runners;
  std::mutex mutex;
  std::condition_variable changed;
  std::string said;
  DeviceThread first({.facts = Facts(), .data_directory = folder.path() + "/1", .server = *endpoint}, runners);
  wanter.WaitForConnections(1);
  DeviceThread second({.facts = Facts(),
                       .data_directory = folder.path() + "/2",
                       .server = *endpoint,
                       .log =
                           [&](std::string text) {
                             std::lock_guard lock(mutex);
                             said += text;
                             changed.notify_all();
                           }},
                      runners);
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return said.find("another process is connected under this name") != std::string::npos; });
}

TEST(DeviceGateway, SaysWhichAddressIsTakenOrNotAllowed) {
  Wanter wanter({});
  DeviceGateway gateway({}, wanter), other({}, wanter);
  EXPECT_THAT(gateway.Listen({.host = "0.0.0.0", .port = 0}).status().message(),
              HasSubstr("make an authority on the server (lathe ca init)"));
  const StatusOr<Endpoint> endpoint = gateway.Listen({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(endpoint.ok());
  EXPECT_THAT(other.Listen(*endpoint).status().message(),
              HasSubstr("listen on " + endpoint->ToString() + ": Address already in use"));
  TemporaryFolder folder;
  const Endpoint path{.unix_path = folder.path() + "/socket"};
  ASSERT_TRUE(gateway.Listen(path).ok());
  EXPECT_THAT(other.Listen(path).status().message(), HasSubstr("another process listens there"));
}

TEST(DeviceServer, RefusesAFolderThatAnotherUses) {
  TemporaryFolder folder;
  PretendingFactory runners;
  const DeviceServerOptions options{
      .facts = Facts(), .data_directory = folder.path(), .server = Endpoint{.unix_path = "x"}};
  const auto first = DeviceServer::Create(options, runners);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(DeviceServer::Create(options, runners).status().message(), HasSubstr("another device uses it"));
}

TEST(CpuLocks, AreHeldByOneAtATime) {
  TemporaryFolder folder;
  const std::vector<int> one = {0}, both = {1, 0};
  {
    const auto locks = CpuLocks::Take(one, folder.path());
    ASSERT_TRUE(locks.ok()) << locks.status().message();
    EXPECT_THAT(CpuLocks::Take(both, folder.path()).status().message(),
                HasSubstr("lock cpu 0: process " + std::to_string(getpid()) + " measures on it"));
  }
  EXPECT_TRUE(CpuLocks::Take(both, folder.path()).ok());  // The failed attempt kept nothing.
}

TEST(DeviceCpus, AreCheckedAgainstWhatTheProcessMayUse) {
  EXPECT_THAT(ParseDeviceCpus("0-x").status().message(), HasSubstr("\"x\" is no number"));
  EXPECT_THAT(ParseDeviceCpus("4095").status().message(), HasSubstr("may not use cpu 4095"));
  EXPECT_THAT(ParseDeviceCpus("3-1").status().message(), HasSubstr("names none"));
  EXPECT_FALSE(ParseDeviceCpus("")->empty());
}

TEST(ResultSpool, KeepsWholeResultsAndDropsTornOnes) {
  TemporaryFolder folder;
  v1::MeasureResult result;
  result.set_device("board");
  result.set_module_digest(std::string(Sha256("m").raw()));
  const Digest key = ResultKey(0, 0, 0, 0, Sha256("m"), "board");
  result.set_key(std::string(key.raw()));
  ASSERT_TRUE(ResultSpool::Open(folder.path())->Store(result).ok());
  const std::string torn = folder.path() + "/" + Sha256("other").ToHex();
  std::filesystem::copy(folder.path() + "/" + key.ToHex(), torn);
  std::filesystem::resize_file(torn, 40);
  ResultSpool spool = *ResultSpool::Open(folder.path());
  ASSERT_EQ(spool.Load().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(torn));
  spool.Delete(key);
  EXPECT_TRUE(spool.Load().empty());
}

}  // namespace
}  // namespace lathe
