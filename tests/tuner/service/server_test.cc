// The server itself, and the smaller services.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/tuner/service/service_testing.h"
#include "tuner/database/records_json.h"
#include "tuner/service/call_pool.h"

namespace lathe {
namespace {

using testing::HasSubstr;

class ServerTest : public ServiceTest {};

TEST_F(ServerTest, SaysThatAPortIsInUse) {
  const auto first = ServiceServer::Start({.listen = {{.host = "127.0.0.1"}}}, *api);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const Endpoint taken = (*first)->endpoints().front();
  EXPECT_NE(taken.port, 0);
  const auto second = ServiceServer::Start({.listen = {taken}}, *api);
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(),
              HasSubstr(fmt::format("listen on {}: the address is in use", taken.ToString())));
}

TEST_F(ServerTest, LeavesALivingServersSocketAlone) {
  const auto second = ServiceServer::Start({.listen = {address}}, *api);
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr("is in use"));
  EXPECT_TRUE(connection->tuning().ListJobs({}).ok());
}

TEST_F(ServerTest, TakesOverTheSocketFileOfADeadServer) {
  const Endpoint stale{.unix_path = folder / "stale.sock"};
  std::ofstream(stale.unix_path) << "";
  unlink(stale.unix_path.c_str());
  {
    ASSERT_TRUE(ServiceServer::Start({.listen = {stale}}, *api).ok());
  }
  const auto again = ServiceServer::Start({.listen = {stale}}, *api);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(ConnectToServer(stale)->tuning().ListJobs({}).ok());
}

TEST_F(ServerTest, ListensOnSeveralAddresses) {
  const auto both =
      ServiceServer::Start({.listen = {{.unix_path = folder / "other.sock"}, {.host = "127.0.0.1"}}}, *api);
  ASSERT_TRUE(both.ok()) << both.status().ToString();
  for (const Endpoint& endpoint : (*both)->endpoints()) {
    EXPECT_TRUE(ConnectToServer(endpoint)->Connect(kHangGuard).ok()) << endpoint.ToString();
  }
}

TEST_F(ServerTest, SaysThatNobodyAnswers) {
  const auto nobody = ConnectToServer({.unix_path = folder / "nobody.sock"});
  const Status status = nobody->tuning().ListJobs({}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("nobody answers there; start one with `lathe up`"));
}

// The machine is so busy that the server has not even accepted the connection.
TEST_F(ServerTest, ASlowServerIsNotNobody) {
  const std::string path = folder / "slow.sock";
  sockaddr_un name{.sun_family = AF_UNIX};
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  const auto slow = ConnectToServer({.unix_path = path}, {.deadline = std::chrono::milliseconds(500)});
  const Status status = slow->tuning().ListJobs({}).status();
  close(listener);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("no answer in time; is the server overloaded or stopped?"));
}

TEST_F(ServerTest, OffersWorkersOnlyWithACoordinator) {
  const Endpoint other{.unix_path = folder / "other.sock"};
  const auto server = ServiceServer::Start({.listen = {other}}, *api);
  EXPECT_EQ(ConnectToServer(other)->workers().Synchronize({}).code(), StatusCode::kUnimplemented);
}

TEST_F(ServerTest, CarriesAWorkersStateAndArtifacts) {
  v1::SynchronizeRequest request;
  request.mutable_worker()->set_name("worker-1");
  request.set_sequence(7);
  request.set_wait_ns(1'000'000);
  const auto answer = connection->workers().Synchronize(request);
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->sequence(), 7u);
  EXPECT_EQ(answer->desired(0).trial_id(), 42);
  EXPECT_EQ(connection->workers().Synchronize({}).code(), StatusCode::kInvalidArgument);

  std::string large(9 << 20, 'x');
  large[large.size() / 2] = 'y';
  for (const std::string& content : {std::string(), std::string("small"), large}) {
    const Status status = connection->workers().StoreArtifact(Sha256(content), content);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(coordinator.artifacts[Sha256(content)], content);
  }
}

TEST_F(ServerTest, RefusesAnArtifactOfAnotherDigest) {
  const Status status = connection->workers().StoreArtifact(Sha256("one"), "two");
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_TRUE(coordinator.artifacts.empty());
}

TEST_F(ServerTest, AnswersBestAsHitStaleAndMiss) {
  const TuningKey key = KeyFor(MakeWorkload().digest, "llvm -num-cores=4", "rpi4");
  ASSERT_TRUE(store->PutWorkload(MakeWorkload()).ok());
  TuningRecord record;
  record.result_key = Sha256("result");
  record.key = key;
  record.trace_json = "[[],[]]";
  record.trace_digest = Sha256(record.trace_json);
  record.timings = MakeTimings(1500);
  record.device = "rpi4-01";
  ASSERT_TRUE(store->ImportRecords({&record, 1}).ok());

  v1::QueryBestRequest request;
  v1::BestQuery query;
  query.set_digest(std::string(key.workload.raw()));
  query.set_target(key.target);
  query.set_device_key("rpi4");
  *request.add_queries() = query;
  query.set_policy_version(key.policy_version + 1);
  *request.add_queries() = query;
  query.set_text(kCopyFunc);
  *request.add_queries() = query;
  const auto response = connection->schedules().QueryBest(request);
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  ASSERT_EQ(response->answers_size(), 3);
  EXPECT_EQ(response->answers(0).lookup(), v1::LOOKUP_HIT);
  EXPECT_EQ(response->answers(0).record().trace_json(), "[[],[]]");
  EXPECT_EQ(response->answers(0).record().timings().median_ns(), 1500);
  EXPECT_EQ(response->answers(1).lookup(), v1::LOOKUP_STALE);
  EXPECT_NE(response->answers(1).explanation(), "");
  EXPECT_EQ(response->answers(2).lookup(), v1::LOOKUP_MISS);
  EXPECT_EQ(response->answers(2).key().workload().size(), 32u);
  EXPECT_FALSE(response->answers(2).has_record());

  v1::ListBestRequest list;
  list.set_workload(query.digest());
  EXPECT_EQ(connection->schedules().ListBest(list).code(), StatusCode::kInvalidArgument);
  list.set_workload(std::string(key.workload.raw()));
  EXPECT_EQ(connection->schedules().ListBest(list)->records_size(), 1);
}

TEST_F(ServerTest, FindsAWorkloadByThePrefixOfItsHash) {
  ASSERT_TRUE(store->PutWorkload(MakeWorkload()).ok());
  v1::FindWorkloadRequest request;
  request.set_hex_prefix(MakeWorkload().digest.ToHex().substr(0, 10));
  const auto found = connection->schedules().FindWorkload(request);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->workload().text(), "text 0");
  request.set_hex_prefix("00000000");
  EXPECT_EQ(connection->schedules().FindWorkload(request).code(), StatusCode::kNotFound);
  request.set_hex_prefix("12");
  EXPECT_EQ(connection->schedules().FindWorkload(request).code(), StatusCode::kInvalidArgument);
}

TEST_F(ServerTest, ListsWorkloadsInPages) {
  std::vector<std::string> stored, listed;
  for (int i = 0; i < 3; ++i) {
    const Workload workload = MakeWorkload(i);
    stored.push_back(std::string(workload.digest.raw()));
    ASSERT_TRUE(store->PutWorkload(workload).ok());
  }
  std::sort(stored.begin(), stored.end());
  v1::ListWorkloadsRequest request;
  request.set_page_size(2);
  do {
    const auto page = connection->schedules().ListWorkloads(request);
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    for (const v1::Workload& workload : page->workloads()) {
      listed.push_back(workload.digest());
      EXPECT_EQ(workload.text(), "");
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, stored);
  request.set_page_token("2");
  EXPECT_THAT(connection->schedules().ListWorkloads(request).status().message(),
              testing::HasSubstr("page_token \"2\": not one that this service gave"));
}

TEST_F(ServerTest, ImportsRecordsOnce) {
  const auto other = SqliteStore::OpenInMemory();
  Scene scene(**other);
  scene.Measure(1, 5000);
  std::ostringstream lines;
  ASSERT_TRUE(ExportRecords(**other, lines).ok());
  v1::ImportRecordsRequest request;
  request.set_lines(lines.str());
  EXPECT_EQ(connection->schedules().ImportRecords(request)->new_records(), 1);
  EXPECT_EQ(connection->schedules().ImportRecords(request)->new_records(), 0);
  request.set_lines("rubbish");
  EXPECT_EQ(connection->schedules().ImportRecords(request).code(), StatusCode::kInvalidArgument);
}

v1::ReportAskedRequest AskedFor(const char* text, const std::string& target) {
  v1::ReportAskedRequest request;
  v1::AskedWorkload& asked = *request.add_asked();
  asked.mutable_workload()->set_text(text);
  asked.set_target(target);
  asked.set_network("net.onnx");
  return request;
}

TEST_F(ServerTest, ListsWhatBuildsAskedForInPages) {
  const std::string target = "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4";
  ScheduleApi& schedules = connection->schedules();
  for (const char* text : {kCopyFunc, kCopyFunc, kDoubleFunc})
    ASSERT_TRUE(schedules.ReportAsked(AskedFor(text, target)).ok());
  v1::ListAskedRequest request;
  request.set_page_size(1);
  const auto first = schedules.ListAsked(request);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  ASSERT_EQ(first->asked_size(), 1);
  EXPECT_EQ(first->asked(0).workload().name(), "copy");
  EXPECT_EQ(first->asked(0).workload().text(), kCopyFunc);
  EXPECT_EQ(first->asked(0).times(), 2);
  EXPECT_EQ(first->asked(0).weight(), 1);
  request.set_page_token(first->next_page_token());
  const auto second = schedules.ListAsked(request);
  EXPECT_EQ(second->asked(0).workload().name(), "double");
  EXPECT_EQ(second->next_page_token(), "");
}

TEST_F(ServerTest, RefusesWhatNoBuildWouldAskFor) {
  const auto message = [&](const v1::ReportAskedRequest& request) {
    const auto answer = connection->schedules().ReportAsked(request);
    EXPECT_EQ(answer.code(), StatusCode::kInvalidArgument);
    return answer.status().message();
  };
  using testing::HasSubstr;
  EXPECT_THAT(message({}), HasSubstr("asked: 0 given, 1 to 1000 required"));
  EXPECT_THAT(message(AskedFor("no program", "llvm")), HasSubstr("asked[0].workload.text"));
  EXPECT_THAT(message(AskedFor(kCopyFunc, "llvm -num-cores=4 -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu")),
              HasSubstr("its canonical text \"llvm -mcpu=cortex-a72"));
  EXPECT_THAT(message(AskedFor(kCopyFunc, "pdp-11")), HasSubstr("pdp-11"));
  v1::ReportAskedRequest nameless =
      AskedFor(kCopyFunc, "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4");
  nameless.mutable_asked(0)->set_network("");
  EXPECT_THAT(message(nameless), HasSubstr("asked[0].network"));
}

TEST_F(ServerTest, ShowsDevicesWithTheirLeases) {
  Scene scene(*store);
  scene.Lease();
  ASSERT_TRUE(store->RegisterDevice({"h100-01", "h100", "{\"arch\":\"x86_64\"}", 0}).ok());
  const auto all = connection->farm().ListDevices({});
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_EQ(all->devices_size(), 2);
  EXPECT_EQ(all->devices(0).name(), "h100-01");
  EXPECT_EQ(all->devices(0).lease_holder(), "");
  EXPECT_EQ(all->devices(1).lease_holder(), "job");
  EXPECT_EQ(all->devices(1).state(), v1::DEVICE_STATE_ONLINE);
  clock.Advance(std::chrono::seconds(20));
  EXPECT_EQ(connection->farm().ListDevices({})->devices(1).state(), v1::DEVICE_STATE_SUSPECT);
  clock.Advance(std::chrono::seconds(20));
  EXPECT_EQ(connection->farm().ListDevices({})->devices(1).state(), v1::DEVICE_STATE_LOST);
  v1::ListDevicesRequest some;
  some.set_key("h100");
  EXPECT_EQ(connection->farm().ListDevices(some)->devices_size(), 1);
  v1::GetDeviceRequest one;
  one.set_name("rpi5");
  const Status status = connection->farm().GetDevice(one).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("known devices: \"h100-01\", \"rpi4-01\""));
}

TEST_F(ServerTest, ADeviceIsDrainedAndReleasedWithoutACoordinatorToo) {
  Scene scene(*store);
  v1::DrainDeviceRequest drain;
  drain.set_name("rpi4-01");
  drain.set_reason("new fan");
  const auto drained = connection->farm().DrainDevice(drain);
  ASSERT_TRUE(drained.ok()) << drained.status().ToString();
  EXPECT_EQ(drained->device().service(), v1::DEVICE_SERVICE_DRAINED);
  EXPECT_EQ(drained->device().service_reason(), "new fan (admin@server)");
  ASSERT_TRUE(store->RegisterDevice({"rpi4-01", "rpi4", "{}", 0}).ok());
  EXPECT_EQ(connection->farm().ListDevices({})->devices(0).service(), v1::DEVICE_SERVICE_DRAINED) << "it registers";
  v1::ReleaseDeviceRequest release;
  release.set_name("rpi4-01");
  EXPECT_EQ(connection->farm().ReleaseDevice(release)->device().service(), v1::DEVICE_SERVICE_IN_SERVICE);
  std::vector<std::string> events;
  for (const EventRow& event : *store->ReadEvents(0, std::nullopt, 100))
    if (event.kind == "device") events.push_back(event.detail);
  EXPECT_THAT(events, testing::Contains("drained rpi4-01, by admin@server: new fan (admin@server)"));
  EXPECT_THAT(events, testing::Contains("in service rpi4-01, by admin@server"));
  release.set_name("rpi5");
  EXPECT_EQ(connection->farm().ReleaseDevice(release).code(), StatusCode::kNotFound);
  v1::ReserveDeviceRequest reserve;
  reserve.set_request_id("r");
  reserve.set_devices("rpi4");
  reserve.set_duration_ns(1);
  EXPECT_THAT(connection->farm().ReserveDevice(reserve).status().message(), HasSubstr("nobody lends devices"));
  reserve.set_devices("rpi4 &&");
  EXPECT_THAT(connection->farm().ReserveDevice(reserve).status().message(), HasSubstr("at character 7"));
}

TEST(CallPool, RunsAllThatItWasGiven) {
  std::atomic<int> done = 0;
  {
    CallPool pool(4);
    for (int i = 0; i < 1000; ++i) pool.Run([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

}  // namespace
}  // namespace lathe
