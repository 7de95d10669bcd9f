#include "rpc/gateway/device_gateway_session.h"

#include <gmock/gmock.h>

#include <cmath>

#include "rpc/hello_check.h"

namespace lathe {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

template <typename T>
std::vector<T> Only(const std::vector<GatewayAction>& actions) {
  std::vector<T> found;
  for (const GatewayAction& action : actions) {
    if (const T* match = std::get_if<T>(&action)) found.push_back(*match);
  }
  return found;
}

template <typename M>
std::vector<M> Sent(const std::vector<GatewayAction>& actions) {
  std::vector<M> found;
  for (const GatewaySend& send : Only<GatewaySend>(actions)) {
    if (const M* match = std::get_if<M>(&send.message)) found.push_back(*match);
  }
  return found;
}

class DeviceGatewaySessionTest : public testing::Test {
 protected:
  std::vector<GatewayAction> Step(const GatewayEvent& event) { return session_.Step(event, now_); }
  std::vector<GatewayAction> Receive(const DeviceMessage& message) { return Step(GatewayReceived{message}); }
  static v1::Hello Hello() {
    v1::Hello hello;
    hello.set_proto_min(1);
    hello.set_proto_max(3);
    hello.set_build_id("lathe-device 0.9");
    hello.mutable_facts()->set_name("board");
    hello.mutable_facts()->set_key("pi4");
    return hello;
  }
  void Open() {
    ASSERT_EQ(Only<DeviceArrived>(Receive(Hello())).size(), 1u);
    ASSERT_EQ(Sent<v1::Welcome>(Step(DeviceAdmitted{})).size(), 1u);
  }
  // Answers reads from `content` until no more are wanted; what was sent.
  std::string Serve(std::vector<GatewayAction> actions, const std::string& content) {
    std::string sent;
    while (true) {
      for (const v1::BlobChunk& chunk : Sent<v1::BlobChunk>(actions)) sent += chunk.data();
      const auto reads = Only<ReadBlob>(actions);
      if (reads.empty()) return sent;
      const ReadBlob& read = reads.at(0);
      actions = Step(BlobRead{read.digest, read.offset, OkStatus(),
                              content.substr(static_cast<size_t>(read.offset), static_cast<size_t>(read.limit)),
                              static_cast<int64_t>(content.size())});
    }
  }
  static v1::NeedBlobs Need(const std::string& content, int64_t offset) {
    v1::NeedBlobs need;
    need.add_blobs()->set_digest(std::string(Sha256(content).raw()));
    need.mutable_blobs(0)->set_offset(offset);
    return need;
  }
  TimePoint now_{seconds(9)};
  DeviceGatewaySession session_{{.build_id = "lathe 0.1"}, TimePoint(seconds(9))};
};

TEST_F(DeviceGatewaySessionTest, ChoosesTheHighestCommonVersion) {
  Receive(Hello());
  DeviceAdmitted admitted;
  admitted.desired.set_epoch(4);
  const auto welcome = Sent<v1::Welcome>(Step(admitted));
  ASSERT_EQ(welcome.size(), 1u);
  EXPECT_EQ(welcome[0].version(), 1u);
  EXPECT_EQ(welcome[0].desired().epoch(), 4);
}

TEST_F(DeviceGatewaySessionTest, SaysAgainWhatItDesiresWhereItSaidNothingForHalfAHeartbeat) {
  v1::Hello hello = Hello();
  hello.add_features(std::string(kAnswersFeature));
  Receive(hello);
  DeviceAdmitted admitted;
  admitted.desired.set_epoch(4);
  EXPECT_THAT(Sent<v1::Welcome>(Step(admitted)).at(0).features(), testing::ElementsAre(kAnswersFeature));
  EXPECT_THAT(Sent<v1::Desired>(Receive(v1::Current())), testing::IsEmpty());
  now_ += seconds(5);
  EXPECT_EQ(Sent<v1::Desired>(Receive(v1::Current())).at(0).epoch(), 4);
  EXPECT_THAT(Sent<v1::Desired>(Receive(v1::Current())), testing::IsEmpty());
  DesiredChanged changed;
  changed.desired.set_epoch(5);
  Step(changed);
  now_ += seconds(5);
  EXPECT_EQ(Sent<v1::Desired>(Receive(v1::Current())).at(0).epoch(), 5);
}

TEST_F(DeviceGatewaySessionTest, SaysNothingTwiceToADeviceThatDoesNotExpectAnswers) {
  Open();
  now_ += seconds(5);
  EXPECT_THAT(Sent<v1::Desired>(Receive(v1::Current())), testing::IsEmpty());
}

TEST_F(DeviceGatewaySessionTest, NamesBothSidesOfAVersionMismatch) {
  v1::Hello hello = Hello();
  hello.set_proto_min(2);
  const auto actions = Receive(hello);
  EXPECT_THAT(
      Sent<v1::VersionMismatch>(actions).at(0).message(),
      HasSubstr("device lathe-device 0.9 speaks protocol 2 to 3, server lathe 0.1 speaks 1 to 1; upgrade the server"));
  EXPECT_EQ(Only<GatewayClose>(actions).size(), 1u);
}

TEST_F(DeviceGatewaySessionTest, RefusesABadName) {
  v1::Hello hello = Hello();
  hello.mutable_facts()->set_name("../etc");
  EXPECT_THAT(Sent<v1::Refused>(Receive(hello)).at(0).message(), HasSubstr("device name \"../etc\""));
}

struct BadHelloCase {
  const char* name;
  void (*spoil)(v1::Hello&);
  const char* message;
};
class BadHelloTest : public DeviceGatewaySessionTest, public testing::WithParamInterface<BadHelloCase> {};
TEST_P(BadHelloTest, IsRefusedWithTheFieldAndItsLimit) {
  v1::Hello hello = Hello();
  GetParam().spoil(hello);
  const auto actions = Receive(hello);
  EXPECT_TRUE(Only<DeviceArrived>(actions).empty());
  ASSERT_EQ(Sent<v1::Refused>(actions).size(), 1u);
  EXPECT_THAT(Sent<v1::Refused>(actions)[0].message(), HasSubstr(GetParam().message));
  EXPECT_EQ(Only<GatewayClose>(actions).size(), 1u);
}
v1::DeviceFacts& FactsOf(v1::Hello& hello) { return *hello.mutable_facts(); }
INSTANTIATE_TEST_SUITE_P(
    Fields, BadHelloTest,
    testing::Values(
        BadHelloCase{"LongName", [](v1::Hello& h) { FactsOf(h).set_name(std::string(65, 'a')); },
                     "1 to 64 characters of a-z 0-9 . _ - required"},
        BadHelloCase{"LongModel", [](v1::Hello& h) { FactsOf(h).set_cpu_model(std::string(257, 'x')); },
                     "greet device \"board\": cpu_model: 257 bytes, at most 256 are accepted"},
        BadHelloCase{"ModelWithAnEscape", [](v1::Hello& h) { FactsOf(h).set_cpu_model("A53\033[2J"); },
                     "cpu_model: byte 0x1b at 3, printable ASCII required"},
        BadHelloCase{"LongSystem", [](v1::Hello& h) { FactsOf(h).set_os(std::string(1'000'000, 'x')); },
                     "os: 1000000 bytes, at most 256"},
        BadHelloCase{"ArchWithASpace", [](v1::Hello& h) { FactsOf(h).set_arch("x86 64"); },
                     "arch: byte 0x20 at 3, a-z A-Z 0-9 . _ - + required"},
        BadHelloCase{"ManyCpuFeatures",
                     [](v1::Hello& h) {
                       for (int i = 0; i < 513; ++i) FactsOf(h).add_cpu_features("f");
                     },
                     "cpu_features: 513 entries, at most 512 are accepted"},
        BadHelloCase{"LongCpuFeature", [](v1::Hello& h) { FactsOf(h).add_cpu_features(std::string(65, 'a')); },
                     "cpu_features[0]: 65 bytes, at most 64"},
        BadHelloCase{"LongTag", [](v1::Hello& h) { h.add_features(std::string(65, 'a')); },
                     "features[0]: 65 bytes, at most 64"},
        BadHelloCase{"LongBuild", [](v1::Hello& h) { h.set_build_id(std::string(257, 'a')); },
                     "build_id: 257 bytes, at most 256"},
        BadHelloCase{"ManyCpus",
                     [](v1::Hello& h) {
                       for (int i = 0; i < 4097; ++i) FactsOf(h).add_cpus(0);
                     },
                     "cpus: 4097 entries, at most 4096"},
        BadHelloCase{"NegativeCpu", [](v1::Hello& h) { FactsOf(h).add_cpus(-1); }, "cpus: -1, 0 to 4096 required"},
        BadHelloCase{"NegativeMemory", [](v1::Hello& h) { FactsOf(h).set_memory_bytes(-1); }, "memory_bytes: -1, 0 to"},
        BadHelloCase{"PeakThatIsNoNumber", [](v1::Hello& h) { FactsOf(h).set_peak_gops(std::nan("")); },
                     "peak_gops: nan, 0 to"},
        BadHelloCase{"NegativeEpoch", [](v1::Hello& h) { h.set_epoch_seen(-1); }, "epoch_seen: -1, 0 to"},
        BadHelloCase{"ManySpooled",
                     [](v1::Hello& h) {
                       for (int i = 0; i < 4097; ++i) h.add_spooled_keys(std::string(32, 'k'));
                     },
                     "spooled_keys: 4097 entries, at most 4096"},
        BadHelloCase{"ShortKey", [](v1::Hello& h) { h.add_spooled_keys("k"); }, "a key of 1 bytes, 32 required"},
        BadHelloCase{"ManyTrials",
                     [](v1::Hello& h) {
                       for (int i = 0; i < 65; ++i) h.mutable_current()->add_trials();
                     },
                     "trials: 65 entries, at most 64"}),
    [](const auto& info) { return info.param.name; });

TEST_F(DeviceGatewaySessionTest, AcceptsWhatThisMachineSaysOfItself) {
  v1::Hello hello = Hello();
  FactsOf(hello).set_cpu_model(PrintableFact("Zen\xc2\xae\n" + std::string(1000, '4')));
  FactsOf(hello).add_cpu_features("v8.2a+sve-b16");
  EXPECT_EQ(hello.facts().cpu_model().substr(0, 7), "Zen???4");
  EXPECT_EQ(Only<DeviceArrived>(Receive(hello)).size(), 1u);
}

TEST_F(DeviceGatewaySessionTest, EndsADeviceThatDeclaresTooManyTrials) {
  Open();
  v1::Current current;
  for (int i = 0; i < 65; ++i) current.add_trials();
  const auto actions = Receive(current);
  EXPECT_TRUE(Only<DeviceSpoke>(actions).empty());
  EXPECT_THAT(Only<GatewayClose>(actions).at(0).reason,
              HasSubstr("device \"board\": trials: 65 entries, at most 64 are accepted"));
}

TEST_F(DeviceGatewaySessionTest, HearsNothingBeforeHello) {
  for (const DeviceMessage& message :
       {DeviceMessage(v1::Current()), DeviceMessage(v1::Unsupported()), DeviceMessage(UnknownMessage{99})}) {
    DeviceGatewaySession session({}, now_);
    const auto actions = session.Step(GatewayReceived{message}, now_);
    EXPECT_EQ(actions.size(), 1u) << DeviceMessageName(message);
    ASSERT_EQ(Only<GatewayClose>(actions).size(), 1u) << DeviceMessageName(message);
    EXPECT_THAT(Only<GatewayClose>(actions)[0].reason, HasSubstr("arrived before Hello"));
  }
}

TEST_F(DeviceGatewaySessionTest, StreamsABlobWithinTheCreditWindow) {
  Open();
  std::string content(600'000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 >> 3);
  std::string sent = Serve(Receive(Need(content, 1000)), content);
  EXPECT_EQ(sent.size(), static_cast<size_t>(kBlobWindowBytes));
  v1::BlobCredit credit;
  credit.set_bytes(100'000);
  sent += Serve(Receive(credit), content);
  EXPECT_EQ(sent.size(), static_cast<size_t>(kBlobWindowBytes) + 100'000);
  credit.set_bytes(kBlobWindowBytes);
  sent += Serve(Receive(credit), content);
  EXPECT_EQ(sent, content.substr(1000));
}

TEST_F(DeviceGatewaySessionTest, RefusesCreditThatWasNeverOut) {
  Open();
  v1::BlobCredit credit;
  credit.set_bytes(1);
  EXPECT_THAT(Only<GatewayClose>(Receive(credit)).at(0).reason, HasSubstr("returns 1 bytes of credit, 0 are out"));
}

TEST_F(DeviceGatewaySessionTest, SaysWhichBlobItCannotSend) {
  Open();
  const auto reads = Only<ReadBlob>(Receive(Need("x", 0)));
  const auto answer = Sent<v1::BlobUnavailable>(Step(BlobRead{reads.at(0).digest, 0, NotFound("blob: gone"), "", 0}));
  EXPECT_EQ(answer.at(0).message(), "blob: gone");
}

TEST_F(DeviceGatewaySessionTest, AcknowledgesAfterTheCommit) {
  Open();
  v1::MeasureResult result;
  result.set_trial_id(1);
  result.set_attempt(1);
  result.set_device("board");
  result.set_module_digest(std::string(Sha256("m").raw()));
  const Digest key = ResultKey(1, 1, 0, 0, Sha256("m"), "board");
  result.set_key(std::string(key.raw()));
  const auto actions = Receive(result);
  EXPECT_EQ(Only<ResultArrived>(actions).size(), 1u);
  EXPECT_TRUE(Sent<v1::ResultAck>(actions).empty());
  EXPECT_EQ(Sent<v1::ResultAck>(Step(ResultCommitted{key, v1::ACK_VERDICT_ACK})).at(0).key(), key.raw());
}

struct BadResultCase {
  const char* name;
  void (*spoil)(v1::MeasureResult&);
  const char* message;
};
class BadResultTest : public DeviceGatewaySessionTest, public testing::WithParamInterface<BadResultCase> {};
TEST_P(BadResultTest, EndsTheConnection) {
  Open();
  v1::MeasureResult result;
  result.set_device("board");
  result.set_module_digest(std::string(Sha256("m").raw()));
  result.set_key(std::string(ResultKey(0, 0, 0, 0, Sha256("m"), "board").raw()));
  GetParam().spoil(result);
  EXPECT_THAT(Only<GatewayClose>(Receive(result)).at(0).reason, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Fields, BadResultTest,
    testing::Values(BadResultCase{"Key", [](v1::MeasureResult& r) { r.set_trial_id(2); }, "key does not belong"},
                    BadResultCase{"Digest", [](v1::MeasureResult& r) { r.set_module_digest("short"); },
                                  "module digest of 5 bytes"},
                    BadResultCase{"Sample", [](v1::MeasureResult& r) { r.add_samples_ns(-1); }, "sample -1 ns"},
                    BadResultCase{"Device",
                                  [](v1::MeasureResult& r) {
                                    r.set_device("other");
                                    r.set_key(std::string(ResultKey(0, 0, 0, 0, Sha256("m"), "other").raw()));
                                  },
                                  "result of device \"other\" came from device \"board\""}),
    [](const auto& info) { return info.param.name; });

TEST_F(DeviceGatewaySessionTest, ClosesASilentConnection) {
  now_ += seconds(5);
  EXPECT_THAT(Only<GatewayClose>(Step(GatewayTime{})).at(0).reason, HasSubstr("no Hello within 5 s"));
}

TEST_F(DeviceGatewaySessionTest, ClosesALostDevice) {
  Open();
  now_ += seconds(29);
  EXPECT_TRUE(Step(GatewayTime{}).empty());
  now_ += seconds(1);
  EXPECT_THAT(Only<GatewayClose>(Step(GatewayTime{})).at(0).reason, HasSubstr("device \"board\": silent for 30 s"));
}

}  // namespace
}  // namespace lathe
