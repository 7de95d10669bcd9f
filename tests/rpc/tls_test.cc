// Machines over TLS: who is let in as whom, and what a machine makes of its server. Real sockets of 127.0.0.1, a farm
// of one authority, time as it is.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <mutex>

#include "rpc/device_link.h"
#include "rpc/gateway/device_gateway.h"
#include "rpc/machine_identity.h"
#include "support/clock.h"
#include "support/file.h"
#include "tests/rpc/no_gateway_owner.h"
#include "tests/support/hang_guard.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;

int64_t Now() { return SystemClock().UnixNanos(); }
CertificateSerial Serial() { return {DrawSecret<16>()}; }
Validity Around(int64_t days) { return {Now() - kDayNs, Now() + days * kDayNs}; }

struct Farm {
  KeyAndCertificate authority = *MakeAuthority("farm", Serial(), Around(100));
  KeyAndCertificate Sign(const CertificateSubject& subject, Validity validity = Around(90)) const {
    const KeyAndRequest made = *MakeSigningRequest(subject);
    CertificateOrder order{.serial = Serial(), .validity = validity};
    if (subject.role == Role::kServer) order.hosts = {"localhost"};
    return {made.key_pem, *SignCertificate(authority, made.request_pem, order)};
  }
  MachineIdentity Member(const CertificateSubject& subject, const Endpoint& place) const {
    return {Sign(subject), authority.certificate_pem, place};
  }
};

class Judge : public MachineAuthenticator {
 public:
  explicit Judge(const Farm& farm)
      : farm_(farm),
        context_(*TlsContext::ForServer(farm.Sign({Role::kServer, "server"}), farm.authority.certificate_pem)) {}
  std::shared_ptr<TlsContext> Context() override { return context_; }
  StatusOr<CertificateFacts> Identify(const std::string& certificate_pem) override {
    const StatusOr<CertificateFacts> facts = ReadCertificate(certificate_pem);
    if (!facts.ok()) return facts.status();
    return VerifyCertificate(farm_.authority.certificate_pem, certificate_pem, facts->subject.role, Now());
  }
  Status CheckStanding(const CertificateFacts&) override {
    const std::lock_guard lock(mutex_);
    return standing_;
  }
  StatusOr<std::string> Join(const v1::Join& join) override {
    const std::lock_guard lock(mutex_);
    secrets_.push_back(join.secret());
    if (join.secret() != std::string(16, 'k')) return Unauthenticated("join: no such invitation");
    return SignCertificate(farm_.authority, join.request_pem(), {.serial = Serial(), .validity = Around(90)});
  }
  StatusOr<std::string> Renew(const CertificateFacts&, const std::string& request_pem) override {
    return SignCertificate(farm_.authority, request_pem, {.serial = Serial(), .validity = Around(180)});
  }

  void OnRefused(const std::string& address, const std::string& why) override {
    const std::lock_guard lock(mutex_);
    refused_.push_back(address + ": " + why);
  }

  void SetStanding(Status standing) {
    const std::lock_guard lock(mutex_);
    standing_ = std::move(standing);
  }
  std::vector<std::string> secrets() const {
    const std::lock_guard lock(mutex_);
    return secrets_;
  }
  std::vector<std::string> refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  const Farm& farm_;
  const std::shared_ptr<TlsContext> context_;
  mutable std::mutex mutex_;
  Status standing_;
  std::vector<std::string> secrets_, refused_;
};

v1::Hello HelloOf(const std::string& name) {
  v1::Hello hello;
  hello.set_proto_min(1);
  hello.set_proto_max(1);
  hello.mutable_facts()->set_name(name);
  hello.mutable_facts()->set_key("pi4");
  return hello;
}

class TlsTest : public testing::Test {
 protected:
  static InvitationCode Code(const Farm& farm) {
    InvitationCode code{.authority = *CertificateDigest(farm.authority.certificate_pem)};
    code.secret.fill('k');
    return code;
  }

  // Says `messages` one after another, each after an answer; what is answered, and how it ended.
  std::vector<std::string> Talk(std::shared_ptr<TlsContext> tls, std::vector<DeviceMessage> messages) const {
    boost::asio::io_context io;
    std::vector<std::string> heard;
    std::unique_ptr<DeviceLink> link;
    size_t next = 0;
    const auto say = [&] {
      if (next == messages.size()) return io.stop();
      link->Send(messages[next++]);
    };
    DialEndpoint(io, place_, [&](StatusOr<int> socket) {
      link = std::make_unique<DeviceLink>(
          io, *socket, tls,
          DeviceLink::Handlers{[&](const DeviceMessage& message) {
                                 const auto* refused = std::get_if<v1::Refused>(&message);
                                 heard.push_back(refused != nullptr ? refused->message()
                                                                    : std::string(DeviceMessageName(message)));
                                 say();
                               },
                               [&](const TlsPeer&) { say(); },
                               [&](const std::string& reason) { heard.push_back("closed: " + reason), io.stop(); }});
      if (tls == nullptr) say();
    });
    io.run();
    return heard;
  }
  std::shared_ptr<TlsContext> As(const CertificateSubject& subject, const Farm& farm,
                                 Validity validity = Around(90)) const {
    return *TlsContext::ForClient(farm.Sign(subject, validity));
  }

  Farm farm_, other_;
  Judge judge_{farm_};
  NoGatewayOwner owner_;
  DeviceGateway gateway_{{.build_id = "test", .authenticator = &judge_}, owner_};
  const Endpoint place_ = *gateway_.Listen({.host = "127.0.0.1", .port = 0});
};

TEST_F(TlsTest, LetsADeviceInUnderTheNameOfItsCertificateOnly) {
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {HelloOf("board-1")}), ElementsAre("Welcome"));
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {HelloOf("board-2")}),
              ElementsAre("greet device: its certificate is of \"board-1\", it says it is \"board-2\"; start it with "
                          "--name board-1"));
  EXPECT_THAT(Talk(As({Role::kWorker, "board-1"}, farm_), {HelloOf("board-1")}),
              ElementsAre("greet device: its certificate is of a worker, not of a device"));
}

TEST_F(TlsTest, RefusesWhoeverShowsNothingOrSomethingElse) {
  EXPECT_THAT(Talk(*TlsContext::ForClient({}), {HelloOf("board-1")}),
              ElementsAre(HasSubstr("it shows no certificate; make a code on the server (lathe invite device)")));
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, other_), {HelloOf("board-1")}),
              ElementsAre(HasSubstr("another authority than this farm's signed it")));
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_, {Now() - 9 * kDayNs, Now() - kDayNs}), {HelloOf("board-1")}),
              ElementsAre(HasSubstr("expired")));
}

TEST_F(TlsTest, HearsNothingThatIsNotEncrypted) {
  EXPECT_THAT(Talk(nullptr, {HelloOf("board-1")}), ElementsAre(HasSubstr("closed: ")));
}

TEST_F(TlsTest, EndsALinkWhosePeerTakesNothing) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  boost::asio::io_context io;
  std::string reason;
  DeviceLink link(
      io, ends[0], nullptr,
      {.on_message = [](const DeviceMessage&) {}, .on_closed = [&](const std::string& said) { reason = said; }});
  v1::Signed large;
  large.set_certificate_pem(std::string(1 << 19, 'x'));
  for (int i = 0; i < 40; ++i) link.Send(large);
  io.run();
  EXPECT_THAT(reason, HasSubstr("the other side does not take what is sent: "));
  close(ends[1]);
}

TEST_F(TlsTest, EndsTheLinkOfADeviceThatWasRevoked) {
  judge_.SetStanding(Unauthenticated("certificate 1: revoked"));
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {HelloOf("board-1"), v1::Current(), v1::Current()}),
              ElementsAre("Welcome", HasSubstr("closed: ")));
}

TEST_F(TlsTest, TakesNoResultOfADeviceThatWasRevoked) {
  judge_.SetStanding(Unauthenticated("certificate 1: revoked"));
  v1::NeedBlobs need;
  need.add_blobs()->set_digest(std::string(32, 'd'));
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {HelloOf("board-1"), need}),
              ElementsAre("Welcome", HasSubstr("closed: ")));
}

TEST_F(TlsTest, GivesTheNameOfARevokedDeviceToTheOneThatJoinedInstead) {
  boost::asio::io_context io;
  std::unique_ptr<DeviceLink> held;
  DialEndpoint(io, place_, [&](StatusOr<int> socket) {
    held = std::make_unique<DeviceLink>(
        io, *socket, As({Role::kDevice, "board-1"}, farm_),
        DeviceLink::Handlers{.on_message = [&](const DeviceMessage&) { io.stop(); },
                             .on_secure = [&](const TlsPeer&) { held->Send(HelloOf("board-1")); },
                             .on_closed = [](const std::string&) {}});
  });
  io.run();
  v1::Hello again = HelloOf("board-1");
  again.set_instance(2);
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {again}),
              ElementsAre(HasSubstr("another process is connected under this name")));
  judge_.SetStanding(Unauthenticated("certificate 1: revoked"));
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {again}), ElementsAre("Welcome"));
}

TEST_F(TlsTest, KeepsADeviceWhoseStandingCannotBeLookedUpNow) {
  judge_.SetStanding(Unavailable("read certificate: disk"));
  v1::NeedBlobs need;
  need.add_blobs()->set_digest(std::string(32, 'd'));
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {HelloOf("board-1"), need}),
              ElementsAre("Welcome", "BlobUnavailable"));
}

TEST_F(TlsTest, TellsTheAuditWhoWasRefusedAndWhereFrom) {
  Talk(As({Role::kDevice, "board-1"}, farm_), {HelloOf("board-2")});
  Talk(As({Role::kDevice, "board-1"}, other_), {HelloOf("board-1")});
  // Who dialled has closed, maybe before it was told; the gateway's thread tells in its time.
  while (judge_.refused().size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(judge_.refused(), ElementsAre(HasSubstr("127.0.0.1: greet device: its certificate is of \"board-1\""),
                                            HasSubstr("127.0.0.1: verify certificate: another authority")));
}

TEST_F(TlsTest, AMachineJoinsByACode) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/identity.pem";
  const StatusOr<MachineIdentity> joined = JoinFarm(place_, Code(farm_), {Role::kDevice, "board-1"}, kHangGuard);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  ASSERT_TRUE(joined->Write(path).ok());
  struct stat info{};
  stat(path.c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const MachineIdentity read = *MachineIdentity::Read(path);
  EXPECT_EQ(read.farm, place_);
  EXPECT_EQ(read.Facts()->subject, (CertificateSubject{Role::kDevice, "board-1"}));
  EXPECT_THAT(Talk(*TlsContext::ForClient(read.own), {HelloOf("board-1")}), ElementsAre("Welcome"));
}

TEST_F(TlsTest, ACodeOfAnotherFarmIsNotEvenTold) {
  const StatusOr<MachineIdentity> joined = JoinFarm(place_, Code(other_), {Role::kDevice, "board-1"}, kHangGuard);
  EXPECT_EQ(joined.status().code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(joined.status().message(), HasSubstr("the code is of another farm than this server"));
  EXPECT_TRUE(judge_.secrets().empty());
}

TEST_F(TlsTest, ARefusedCodeIsRefusedInWords) {
  InvitationCode code = Code(farm_);
  code.secret.fill('x');
  EXPECT_THAT(JoinFarm(place_, code, {Role::kDevice, "board-1"}, kHangGuard).status().message(),
              HasSubstr("the server refuses: join: no such invitation"));
}

TEST_F(TlsTest, AMachineThatHasJoinedDoesNotJoinAgainOverItsLink) {
  EXPECT_THAT(Talk(As({Role::kDevice, "board-1"}, farm_), {v1::Join()}), ElementsAre(HasSubstr("closed: ")));
  EXPECT_TRUE(judge_.secrets().empty());
}

TEST_F(TlsTest, ACertificateIsRenewedWhenTwoThirdsOfItsTimeAreOver) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/identity.pem";
  const MachineIdentity first = farm_.Member({Role::kWorker, "builder"}, place_);
  ASSERT_TRUE(first.Write(path).ok());
  EXPECT_FALSE(*RenewIfDue(path, Now() + 50 * kDayNs, kHangGuard));
  EXPECT_TRUE(*RenewIfDue(path, Now() + 61 * kDayNs, kHangGuard));
  const MachineIdentity second = *MachineIdentity::Read(path);
  EXPECT_NE(second.own.key_pem, first.own.key_pem);
  EXPECT_EQ(second.Facts()->subject, first.Facts()->subject);
  EXPECT_GT(second.Facts()->validity.not_after_unix_ns, first.Facts()->validity.not_after_unix_ns);
}

TEST(CheckServer, BelievesTheCertificatesWhereTheClockIsBehind) {
  const Farm farm, other;
  const KeyAndCertificate server = farm.Sign({Role::kServer, "server"}), board = farm.Sign({Role::kDevice, "b"});
  const std::string authority = farm.authority.certificate_pem;
  const TlsPeer shown{server.certificate_pem, authority};
  EXPECT_TRUE(CheckServer(shown, authority, board.certificate_pem, Now()).ok());
  EXPECT_TRUE(CheckServer(shown, authority, board.certificate_pem, 0).ok()) << "1970";
  EXPECT_THAT(CheckServer(shown, authority, board.certificate_pem, Now() + 95 * kDayNs).message(),
              HasSubstr("expired"));
  EXPECT_THAT(CheckServer({board.certificate_pem, authority}, authority, board.certificate_pem, Now()).message(),
              HasSubstr("device"));
  EXPECT_THAT(CheckServer(shown, other.authority.certificate_pem, "", Now()).message(), HasSubstr("another authority"));
  EXPECT_THAT(CheckServer({}, authority, "", Now()).message(), HasSubstr("shows no certificate"));
}

TEST(MachineIdentity, SaysWhatIsWrongWithItsFile) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/identity.pem";
  EXPECT_EQ(MachineIdentity::Read(path).status().code(), StatusCode::kNotFound);
  const Farm farm;
  MachineIdentity identity = farm.Member({Role::kDevice, "b"}, {.host = "farm.lab", .port = 9190});
  ASSERT_TRUE(identity.Write(path).ok());
  EXPECT_EQ(MachineIdentity::Read(path)->farm.ToString(), "farm.lab:9190");
  identity.own.key_pem = farm.Sign({Role::kDevice, "b"}).key_pem;
  ASSERT_TRUE(identity.Write(path).ok());
  EXPECT_THAT(MachineIdentity::Read(path).status().message(), HasSubstr("the file is damaged"));
  identity.authority_pem.clear();
  ASSERT_TRUE(identity.Write(path).ok());
  EXPECT_THAT(MachineIdentity::Read(path).status().message(),
              AllOf(HasSubstr("a key and two certificates required"), HasSubstr("remove it and join again")));
  ASSERT_TRUE(WriteSecretFile(path, "").ok());
  EXPECT_THAT(MachineIdentity::Read(path).status().message(), HasSubstr("the file is damaged"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  EXPECT_THAT(MachineIdentity::Read(path).status().message(), HasSubstr("it is no regular file"));
}

}  // namespace
}  // namespace lathe
