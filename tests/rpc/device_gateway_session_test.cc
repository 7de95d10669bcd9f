#include "rpc/gateway/device_gateway_session.h"

#include <gmock/gmock.h>

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
