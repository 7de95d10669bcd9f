// Who is taken into a farm, and known again: an authority and a store, no wire.
#include "tuner/service/machine_registrar.h"

#include "support/credential.h"
#include "tests/tuner/service/service_testing.h"

namespace lathe {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

class MachineRegistrarTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeAuthorityBeside(database, {}, kNow).ok());
    Open();
  }
  void Open() {
    auto made = MachineRegistrar::Make(*store, database, clock);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    registrar = *std::move(made);
  }
  void Invite(char secret, Role role, const std::string& name = "") {
    ASSERT_TRUE(store->Invite({Code(secret).SecretDigest(), role, name, hours(1)}, "a test").ok());
  }
  static InvitationCode Code(char secret) {
    InvitationCode code;
    code.secret.fill(static_cast<uint8_t>(secret));
    return code;
  }
  StatusOr<std::string> Join(char secret, const CertificateSubject& subject) {
    v1::Join join;
    join.set_secret(std::string(16, secret));
    join.set_request_pem(MakeSigningRequest(subject)->request_pem);
    return registrar->Join(join);
  }
  std::vector<std::string> Refusals() {
    std::vector<std::string> words;
    for (const EventRow& event : *store->ReadEvents(0, std::nullopt, 1000))
      if (event.kind == "refusal") words.push_back(event.detail);
    return words;
  }
  std::string ServerCertificate() { return ReadAuthorityBeside(database)->server.certificate_pem; }

  TemporaryFolder folder;
  const std::string database = folder / "lathe.db";
  FakeClock clock{kNow};
  std::unique_ptr<SqliteStore> store = *SqliteStore::OpenInMemory(clock);
  std::unique_ptr<MachineRegistrar> registrar;
};

TEST_F(MachineRegistrarTest, KnowsAgainWhomItLetIn) {
  Invite('a', Role::kDevice);
  const StatusOr<std::string> certificate = Join('a', {Role::kDevice, "board-1"});
  ASSERT_TRUE(certificate.ok()) << certificate.status().ToString();
  const StatusOr<CertificateFacts> known = registrar->Identify(*certificate);
  ASSERT_TRUE(known.ok()) << known.status().ToString();
  EXPECT_EQ(known->subject, (CertificateSubject{Role::kDevice, "board-1"}));
  EXPECT_TRUE(registrar->CheckStanding(*known).ok());
  Open();
  EXPECT_TRUE(registrar->Identify(*certificate).ok()) << "after a restart";
}

TEST_F(MachineRegistrarTest, RefusesInWords) {
  Invite('a', Role::kDevice, "board-1");
  EXPECT_EQ(Join('x', {Role::kDevice, "board-1"}).code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(Join('a', {Role::kWorker, "board-1"}).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Join('a', {Role::kDevice, "board-2"}).code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Join('a', {Role::kServer, "server"}).status().message(),
              HasSubstr("join as device or worker, not as server"));
  EXPECT_TRUE(Join('a', {Role::kDevice, "board-1"}).ok());
  EXPECT_EQ(Join('a', {Role::kDevice, "board-1"}).code(), StatusCode::kUnauthenticated) << "once only";
  v1::Join odd;
  odd.set_secret("short");
  EXPECT_THAT(registrar->Join(odd).status().message(), HasSubstr("a code of 5 bytes, 16 required"));
  odd.set_secret(std::string(16, 'a'));
  odd.set_request_pem("-----BEGIN CERTIFICATE REQUEST-----\n");
  EXPECT_EQ(registrar->Join(odd).code(), StatusCode::kInvalidArgument);
  Invite('b', Role::kDevice);
  EXPECT_THAT(Join('b', {Role::kDevice, kServerHost}).status().message(), HasSubstr("is the server's own name"));
}

TEST_F(MachineRegistrarTest, KeepsRefusalsWithTheAddressWithinLimits) {
  for (int i = 0; i < 100; ++i) registrar->OnRefused("10.0.0.7", "join: no");
  EXPECT_EQ(Refusals().size(), static_cast<size_t>(RefusalLimit::kPerMinute));
  EXPECT_EQ(Refusals().front(), "from 10.0.0.7: join: no");
}

TEST_F(MachineRegistrarTest, DoesNotKnowWhatItsOwnAuthoritySignedForNobody) {
  const Authority authority = *ReadAuthorityBeside(database);
  const KeyAndRequest asked = *MakeSigningRequest({Role::kDevice, "ghost"});
  const std::string signed_once =
      *SignCertificate(authority.authority, asked.request_pem,
                       {.serial = {DrawSecret<16>()}, .validity = *ValidityFrom(kNow, authority), .hosts = {}});
  EXPECT_THAT(registrar->Identify(signed_once).status().message(), HasSubstr("this farm does not know it"));
}

TEST_F(MachineRegistrarTest, CutsOffWhoWasRevokedAndWhoseTimeIsOver) {
  Invite('a', Role::kDevice);
  Invite('b', Role::kDevice);
  const std::string first = *Join('a', {Role::kDevice, "board-1"}), second = *Join('b', {Role::kDevice, "board-2"});
  const CertificateFacts facts = *registrar->Identify(first);
  ASSERT_TRUE(store->RevokeCertificates(facts.serial, "a test").ok());
  EXPECT_THAT(registrar->CheckStanding(facts).message(),
              AllOf(HasSubstr("device \"board-1\": revoked"), HasSubstr("lathe invite device")));
  EXPECT_FALSE(registrar->Identify(first).ok());
  const CertificateFacts other = *registrar->Identify(second);
  clock.Advance(hours(24 * 91));
  EXPECT_THAT(registrar->Identify(second).status().message(), HasSubstr("expired"));
  EXPECT_THAT(registrar->CheckStanding(other).message(), HasSubstr("expired"));
}

TEST_F(MachineRegistrarTest, RenewsForTheSameMachineOnly) {
  Invite('a', Role::kWorker);
  const CertificateFacts facts = *registrar->Identify(*Join('a', {Role::kWorker, "builder"}));
  clock.Advance(hours(24 * 61));
  EXPECT_EQ(registrar->Renew(facts, MakeSigningRequest({Role::kWorker, "other"})->request_pem).code(),
            StatusCode::kPermissionDenied);
  const StatusOr<std::string> renewed = registrar->Renew(facts, MakeSigningRequest(facts.subject)->request_pem);
  ASSERT_TRUE(renewed.ok()) << renewed.status().ToString();
  clock.Advance(hours(24 * 40));
  EXPECT_TRUE(registrar->Identify(*renewed).ok());
}

TEST_F(MachineRegistrarTest, RenewsTheServersOwnCertificateWhenTwoThirdsAreOver) {
  const std::string first = ServerCertificate();
  const std::shared_ptr<TlsContext> context = registrar->Context();
  clock.Advance(hours(24 * 50));
  EXPECT_EQ(registrar->Context(), context);
  EXPECT_EQ(ServerCertificate(), first);
  clock.Advance(hours(24 * 11));
  EXPECT_NE(registrar->Context(), context);
  EXPECT_NE(ServerCertificate(), first);
  clock.Advance(hours(24 * 300));
  Open();
  EXPECT_GT(ReadCertificate(ServerCertificate())->validity.not_after_unix_ns, clock.UnixNanos()) << "after a year off";
}

}  // namespace
}  // namespace lathe
