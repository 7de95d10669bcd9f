// DeviceGateway with peers that are no more than a socket: who is let in.
#include "rpc/gateway/device_gateway.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/device_message.h"
#include "tests/rpc/no_gateway_owner.h"

namespace lathe {
namespace {

using testing::HasSubstr;

class Peer {
 public:
  explicit Peer(DeviceGateway& gateway) : fd_(*gateway.MakeSocketPair()) {}
  ~Peer() { close(fd_); }
  Peer(const Peer&) = delete;

  void Say(const DeviceMessage& message) {
    std::string bytes;
    EXPECT_TRUE(AppendDeviceMessage(message, 0, bytes).ok());
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void SayHello(const std::string& name) {
    v1::Hello hello;
    hello.set_proto_min(1);
    hello.set_proto_max(1);
    hello.mutable_facts()->set_name(name);
    hello.mutable_facts()->set_key("pi4");
    Say(hello);
  }
  // The next message; UnknownMessage once the server has closed.
  DeviceMessage Hear() {
    for (;;) {
      if (const auto frame = *decoder_.Next()) return *DecodeDeviceMessage(*frame);
      char bytes[4096];
      const ssize_t size = recv(fd_, bytes, sizeof(bytes), 0);
      if (size <= 0) return UnknownMessage{};
      decoder_.Feed({bytes, static_cast<size_t>(size)});
    }
  }
  // So far.
  bool IsClosed() const {
    pollfd entry{.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&entry, 1, 0) == 1;
  }

 private:
  const int fd_;
  FrameDecoder decoder_;
};

TEST(DeviceGateway, KeepsAFewStrangersAndEveryDevice) {
  NoGatewayOwner owner;
  DeviceGateway gateway({.max_strangers = 4}, owner);
  Peer known(gateway);
  known.SayHello("board-1");
  EXPECT_TRUE(std::holds_alternative<v1::Welcome>(known.Hear()));
  std::vector<std::unique_ptr<Peer>> strangers;
  for (int i = 0; i < 50; ++i) strangers.push_back(std::make_unique<Peer>(gateway));
  Peer device(gateway);
  device.SayHello("board-2");
  EXPECT_TRUE(std::holds_alternative<v1::Welcome>(device.Hear()));
  for (size_t i = 0; i < strangers.size(); ++i)
    EXPECT_EQ(strangers[i]->IsClosed(), i < 47) << "stranger " << i << ": the oldest makes room";
  v1::Desired desired;
  desired.set_epoch(7);
  EXPECT_TRUE(gateway.SetDesired("board-1", desired).ok());
  const DeviceMessage told = known.Hear();
  ASSERT_TRUE(std::holds_alternative<v1::Desired>(told)) << "it was connected before all of them";
  EXPECT_EQ(std::get<v1::Desired>(told).epoch(), 7);
}

TEST(DeviceGateway, RefusesADeviceTooManyAndKeepsItsPlaceForOneThatConnectsAnew) {
  NoGatewayOwner owner;
  DeviceGateway gateway({.max_devices = 2}, owner);
  Peer first(gateway), second(gateway), third(gateway);
  first.SayHello("board-1");
  second.SayHello("board-2");
  EXPECT_TRUE(std::holds_alternative<v1::Welcome>(first.Hear()));
  EXPECT_TRUE(std::holds_alternative<v1::Welcome>(second.Hear()));
  third.SayHello("board-3");
  const DeviceMessage answer = third.Hear();
  ASSERT_TRUE(std::holds_alternative<v1::Refused>(answer));
  EXPECT_THAT(std::get<v1::Refused>(answer).message(),
              HasSubstr("device \"board-3\": 2 devices are connected, more are not taken"));
  Peer again(gateway);
  again.SayHello("board-1");
  EXPECT_TRUE(std::holds_alternative<v1::Welcome>(again.Hear()));
  EXPECT_TRUE(std::holds_alternative<UnknownMessage>(first.Hear()));
}

}  // namespace
}  // namespace lathe
