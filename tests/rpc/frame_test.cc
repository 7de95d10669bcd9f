#include "rpc/frame.h"

#include <gmock/gmock.h>

#include <chrono>

#include "rpc/device_message.h"
#include "rpc/endpoint.h"
#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::string Header(uint32_t length, uint16_t type, uint16_t flags, uint32_t stream) {
  std::string out;
  const auto append = [&out](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  };
  append(length, 4);
  append(type, 2);
  append(flags, 2);
  append(stream, 4);
  return out;
}

StatusOr<FrameHeader> Decode(const std::string& bytes) {
  return DecodeFrameHeader(std::as_bytes(std::span<const char, kFrameHeaderSize>(bytes.data(), kFrameHeaderSize)));
}

TEST(Frame, IsLaidOutAsDocumented) {
  std::string out;
  ASSERT_TRUE(AppendFrame(FrameType::kBlobChunk, 0x01020304, "ab", out).ok());
  EXPECT_EQ(out, std::string("\x02\0\0\0\x06\0\0\0\x04\x03\x02\x01"
                             "ab",
                             14));
}

struct HeaderCase {
  const char* name;
  uint32_t length;
  uint16_t type;
  uint16_t flags;
  uint32_t stream;
  const char* message;
};
class BadHeaderTest : public testing::TestWithParam<HeaderCase> {};
TEST_P(BadHeaderTest, IsRefusedBeforeAnyAllocation) {
  const HeaderCase& c = GetParam();
  FrameDecoder decoder;
  decoder.Feed(Header(c.length, c.type, c.flags, c.stream));
  EXPECT_THAT(decoder.Next().status().message(), HasSubstr(c.message));
  decoder.Feed("more");  // Nothing after a bad header can be trusted.
  EXPECT_THAT(decoder.Next().status().message(), HasSubstr(c.message));
}
INSTANTIATE_TEST_SUITE_P(
    Headers, BadHeaderTest,
    testing::Values(HeaderCase{"ControlTooLong", kMaxControlPayload + 1, 3, 0, 0,
                               "length 1048577 bytes, at most 1048576"},
                    HeaderCase{"ChunkTooLong", kMaxBlobPayload + 1, 6, 0, 1, "length 65793 bytes, at most 65792"},
                    HeaderCase{"HugeUnknown", 0xffffffffu, 999, 0, 7, "length 4294967295 bytes"},
                    HeaderCase{"Flags", 0, 1, 0x8000, 0, "flags 0x8000, none are defined"},
                    HeaderCase{"ChunkOnControlStream", 1, 6, 0, 0, "a stream other than 0 required"},
                    HeaderCase{"ControlOnBlobStream", 1, 3, 0, 5, "stream 5, stream 0 required"}),
    [](const auto& info) { return info.param.name; });

TEST(Frame, OfUnknownTypeIsAFrame) { EXPECT_EQ(*Decode(Header(5, 999, 0, 3)), (FrameHeader{5, 999, 3})); }

TEST(Frame, TooLongIsNotSentEither) {
  std::string out;
  EXPECT_THAT(AppendFrame(FrameType::kDesired, 0, std::string(kMaxControlPayload + 1, 'x'), out).message(),
              HasSubstr("at most"));
  EXPECT_TRUE(out.empty());
}

TEST(Frame, ComesOutTheSameHoweverTheStreamIsCut) {
  const uint64_t seed = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < PropertyRuns(200); ++round) {
    std::vector<Frame> sent, received;
    std::string stream;
    for (uint64_t i = random.Below(8); i > 0; --i) {
      const auto type = static_cast<uint16_t>(random.Below(15) + 1);
      const uint32_t id = type == 6 ? static_cast<uint32_t>(random.Below(100)) + 1 : 0;
      sent.push_back(
          {type, id, std::string(random.Below(random.Below(4) == 0 ? 60'000 : 20), static_cast<char>(random.Next()))});
      ASSERT_TRUE(AppendFrame(static_cast<FrameType>(type), id, sent.back().payload, stream).ok());
    }
    FrameDecoder decoder;
    const size_t largest = round % 3 == 0 ? 3 : 5000;
    for (std::string_view rest = stream; !rest.empty();) {
      const size_t piece = std::min<size_t>(random.Below(largest) + 1, rest.size());
      decoder.Feed(rest.substr(0, piece));
      rest.remove_prefix(piece);
      while (true) {
        const StatusOr<std::optional<Frame>> frame = decoder.Next();
        ASSERT_TRUE(frame.ok()) << frame.status().message();
        if (!frame->has_value()) break;
        received.push_back(**frame);
      }
    }
    ASSERT_EQ(received, sent);
  }
}

TEST(DeviceMessage, OfEveryKindSurvivesTheWire) {
  const DeviceMessage messages[] = {v1::Hello(),         v1::Welcome(),   v1::Desired(),     v1::Current(),
                                    v1::NeedBlobs(),     v1::BlobChunk(), v1::BlobCredit(),  v1::BlobUnavailable(),
                                    v1::MeasureResult(), v1::ResultAck(), v1::Unsupported(), v1::VersionMismatch(),
                                    v1::Refused()};
  for (const DeviceMessage& message : messages) {
    std::string bytes;
    ASSERT_TRUE(AppendDeviceMessage(message, std::holds_alternative<v1::BlobChunk>(message) ? 1 : 0, bytes).ok());
    FrameDecoder decoder;
    decoder.Feed(bytes);
    EXPECT_EQ(DecodeDeviceMessage(**decoder.Next())->index(), message.index()) << DeviceMessageName(message);
  }
}

TEST(DeviceMessage, ThatIsGarbageIsAnError) {
  EXPECT_THAT(DecodeDeviceMessage(Frame{1, 0, "\xff\xff\xff"}).status().message(),
              HasSubstr("decode Hello: 3 bytes are no such message"));
  EXPECT_EQ(std::get<UnknownMessage>(*DecodeDeviceMessage(Frame{400, 0, "x"})).type, 400);
}

struct EndpointCase {
  const char* name;
  const char* text;
  const char* message;
};
class BadEndpointTest : public testing::TestWithParam<EndpointCase> {};
TEST_P(BadEndpointTest, SaysWhatToUse) {
  EXPECT_THAT(ParseEndpoint(GetParam().text).status().message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(Texts, BadEndpointTest,
                         testing::Values(EndpointCase{"NoHost", ":9190", "\"\" is no host"},
                                         EndpointCase{"Blank", "a b:9190", "\"a b\" is no host"},
                                         EndpointCase{"Option", "-x:9190", "is no host"},
                                         EndpointCase{"NoPort", "127.0.0.1", "write HOST:PORT or unix:PATH"},
                                         EndpointCase{"BadPort", "127.0.0.1:70000", "no number from 0 to 65535"},
                                         EndpointCase{"EmptyPath", "unix:", "path of 0 characters"}),
                         [](const auto& info) { return info.param.name; });

TEST(Endpoint, IsOpenOnThisMachineOnly) {
  for (const char* text : {"localhost:80", "127.0.0.1:80", "[::1]:80", "unix:/run/x.sock"})
    EXPECT_TRUE(CheckOpenEndpoint(*ParseEndpoint(text)).ok()) << text;
  for (const char* text : {"0.0.0.0:80", "farm.example:80", "[::]:80", "10.0.0.7:80"})
    EXPECT_THAT(CheckOpenEndpoint(*ParseEndpoint(text)).message(),
                HasSubstr("beyond this machine everything is encrypted, which takes certificates"))
        << text;
}

TEST(Endpoint, IsReadAndWritten) {
  EXPECT_EQ(ParseEndpoint("localhost:80")->ToString(), "127.0.0.1:80");
  EXPECT_EQ(ParseEndpoint("[::1]:80")->ToString(), "[::1]:80");
  EXPECT_EQ(ParseEndpoint("farm.example:9190")->ToString(), "farm.example:9190");
  EXPECT_EQ(ParseEndpoint("unix:/run/x.sock")->unix_path, "/run/x.sock");
}

}  // namespace
}  // namespace lathe
