// What the people of a farm do to it: which devices a job may have, devices out of service, devices for a person; and
// why something waits.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "tests/e2e/tune_process.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::Not;

class OperatingTest : public TuneTest {
 protected:
  void StartDevice(int cpu, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"lathe",     "device",
                                       "--connect", device_address,
                                       "--key",     "host",
                                       "--name",    fmt::format("cpu{}", cpu),
                                       "--cpus",    std::to_string(cpu),
                                       "--data",    folder / fmt::format("device{}", cpu)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    devices.push_back(std::make_unique<ChildProcess>(arguments, folder / fmt::format("device{}.log", cpu)));
  }
  Ended Ask(std::vector<std::string> verb) {
    verb.insert(verb.end(), {"--server", address.ToString()});
    return Run(verb);
  }
  // What `lathe why` says of a device, once it says something other than that it is not connected.
  std::string StoryOf(int64_t job, const std::string& device) {
    std::string story = "it is not connected";
    Until([&] {
      const Ended why = Ask({"why", std::to_string(job), "--json"});
      EXPECT_EQ(why.code, 0) << why.words;
      for (const nlohmann::json& one : why.json["devices"])
        if (one["device"] == device) story = one["story"];
      return story != "it is not connected" && story != "free";
    });
    return story;
  }
  // A page of the status port, whose address the server has written into its log.
  std::string Page(const std::string& path) {
    const std::string log = TextOf(folder / "server.log");
    const size_t at = log.find("http://127.0.0.1:");
    EXPECT_NE(at, std::string::npos) << log;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::atoi(log.c_str() + at + std::strlen("http://127.0.0.1:"))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    EXPECT_GT(send(fd, request.data(), request.size(), MSG_NOSIGNAL), 0);
    std::string answer;
    char buffer[4096];
    for (ssize_t count; (count = read(fd, buffer, sizeof(buffer))) > 0;)
      answer.append(buffer, static_cast<size_t>(count));
    close(fd);
    return answer;
  }
  std::set<std::string> DevicesOfRecords() {
    std::set<std::string> names;
    const auto store = SqliteStore::OpenReadOnly(database);
    for (const TuningRecord& record : *(*store)->ListRecords({0, 1000})) names.insert(record.device);
    return names;
  }
  v1::SubmitJobRequest HostJob(const std::string& id, int trials, const std::string& wish) {
    return Request(id, MatmulText("matmul", 40), trials, wish);
  }
};

TEST_F(OperatingTest, AJobHasTheDevicesThatSuitItAndWhySaysOfTheOthersWhyNot) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "two CPUs required, for two devices";
  StartServer({"--status-listen", "127.0.0.1:0"});
  workers.push_back(StartWorker(0));
  StartDevice(0, {"--tag", "rack=3", "--tag", "loud"});
  const int64_t job = Submit(HostJob("rack 4", 4, "host & rack=4 & cores>=1")).id();
  EXPECT_EQ(StoryOf(job, "cpu0"), "rack=4: its rack is 3");
  StartDevice(1, {"--tag", "rack=4"});
  EXPECT_EQ(WatchToItsEnd(job).state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(DevicesOfRecords(), std::set<std::string>{"cpu1"});
  const Ended over = Ask({"why", std::to_string(job)});
  EXPECT_EQ(over.code, 0) << over.words;

  EXPECT_THAT(Page("/healthz"), HasSubstr("200 OK"));
  EXPECT_THAT(Page("/readyz"), HasSubstr("200 OK"));
  const std::string metrics = Page("/metrics");
  EXPECT_THAT(metrics, HasSubstr("lathe_attempts_total{phase=\"measure\",outcome=\""));
  EXPECT_THAT(metrics, HasSubstr("lathe_devices{key=\"host\",state=\"free\"} "));
  EXPECT_THAT(metrics, Not(HasSubstr("cpu1"))) << "a label for each device would grow without bound";

  const Ended trial = Ask({"explain", "--trial", "1", "--json"});
  ASSERT_EQ(trial.code, 0) << trial.words;
  EXPECT_EQ(trial.json["job_id"], job);
  ASSERT_GE(trial.json["attempts"].size(), 2u);
  EXPECT_EQ(trial.json["attempts"][0]["worker"], fmt::format("test{}-0", getpid()));
  EXPECT_EQ(trial.json["attempts"][1]["device"], "cpu1");
  EXPECT_EQ(trial.json["attempts"][1]["state"], "REPORTED");

  const Ended worker = Ask({"workers", "--json"});
  ASSERT_EQ(worker.json["workers"].size(), 1u) << worker.words;
  EXPECT_EQ(worker.json["workers"][0]["slots"], 1);
  const Ended wrong = Ask({"tune", File("other", 24), "--device", "host | pi4"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.words, HasSubstr("a job is for devices of one key"));
}

TEST_F(OperatingTest, ADrainedDeviceStaysOutOfServiceThroughARestartUntilItIsReleased) {
  StartServer();
  workers.push_back(StartWorker(0));
  StartDevice(0);
  Until([&] { return Ask({"drain", "cpu0", "--reason", "new fan"}).code == 0; });
  const int64_t job = Submit(HostJob("waits", 3, "host")).id();
  EXPECT_EQ(StoryOf(job, "cpu0"), "drained: new fan (admin@server)");
  server->End(SIGKILL);
  StartServer();
  EXPECT_EQ(StoryOf(job, "cpu0"), "drained: new fan (admin@server)");
  const Ended listed = Ask({"devices", "--json"});
  EXPECT_EQ(listed.json["devices"][0]["service"], "DRAINED");
  const Ended unknown = Ask({"release", "cpu7"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.words, HasSubstr("no such device"));
  EXPECT_EQ(Ask({"release", "cpu0"}).code, 0);
  EXPECT_EQ(WatchToItsEnd(job).state(), v1::JOB_STATE_DONE);
  const Ended again = Ask({"release", "cpu0"});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.words, HasSubstr("it is neither reserved nor taken out of service"));
}

TEST_F(OperatingTest, ADeviceIsCheckedByTheGoldenKernelBeforeItWorks) {
  const int cpu = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) - 1;
  StartServer({"--check-devices", "--status-listen", "127.0.0.1:0"});
  StartDevice(cpu);
  const auto device = [&] { return Ask({"devices", "--json"}).json["devices"][0]; };
  Until([&] { return device()["state"] == "ONLINE"; });
  EXPECT_EQ(device()["health_words"], "unchecked: no worker of the server's release has built the golden kernel");
  EXPECT_EQ(device()["not_now"], "") << "it is used meanwhile";
  workers.push_back(StartWorker(cpu));
  Until([&] { return device()["health"] == "GOOD"; });
  EXPECT_GT(device()["checked_unix_ns"], 0);  // Its time counts only where nobody disturbs it.
  const int64_t job = Submit(HostJob("after the check", 3, "host")).id();
  EXPECT_EQ(WatchToItsEnd(job).state(), v1::JOB_STATE_DONE);
  EXPECT_THAT(Page("/metrics"), HasSubstr("lathe_device_checks_total 1\n"));
}

TEST_F(OperatingTest, APersonHasADeviceWhileAJobWaitsForIt) {
  StartServer();
  workers.push_back(StartWorker(0));
  StartDevice(0);
  const int64_t job = Submit(HostJob("goes on later", 12, "host")).id();
  AwaitDone(1);
  const Ended reserved = Ask({"reserve", "host", "--for", "1h", "--json"});
  ASSERT_EQ(reserved.code, 0) << reserved.words;
  EXPECT_EQ(reserved.json["device"], "cpu0");
  EXPECT_EQ(StoryOf(job, "cpu0"), "reserved by admin@server");
  const int64_t done = Done();
  ASSERT_LT(done, 12) << "the job had ended before";
  server->End(SIGKILL);
  StartServer();
  EXPECT_EQ(StoryOf(job, "cpu0"), "reserved by admin@server") << "it outlives a restart";
  EXPECT_EQ(Done(), done) << "the board was left alone";
  EXPECT_EQ(Ask({"devices", "--json"}).json["devices"][0]["reserved_by"], "admin@server");
  EXPECT_EQ(Ask({"release", "cpu0"}).code, 0);
  EXPECT_EQ(WatchToItsEnd(job).state(), v1::JOB_STATE_DONE);
  devices.clear();
  server.reset();
  CheckBooks(database, job, 12);
}

}  // namespace
}  // namespace lathe
