// Who calls, and whether they may: decided without a wire, then on it.
#include "tuner/service/call_guard.h"

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "proto/lathe/v1/worker.pb.h"
#include "rpc/permissions.h"
#include "support/credential.h"
#include "tests/tuner/service/service_testing.h"

namespace lathe {
namespace {

using std::chrono::hours;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kSubmit = "TuningService/SubmitJob";

AccessToken SomeToken(uint8_t n) {
  AccessToken token;
  token.secret.fill(n);
  return token;
}

TEST(RefusalLimit, WritesAFewPerMinuteAndSaysHowManyItLeftOut) {
  RefusalLimit limit;
  TimePoint now{};
  int written = 0;
  for (int i = 0; i < 1000; ++i) written += limit.Admit("no token", now += std::chrono::milliseconds(1)).has_value();
  EXPECT_EQ(written, RefusalLimit::kPerMinute);
  EXPECT_EQ(*limit.Admit("no token", now += std::chrono::minutes(1)),
            fmt::format("no token (before it, {} refusals were left out)", 1000 - RefusalLimit::kPerMinute));
  EXPECT_EQ(*limit.Admit("another", now), "another");
}

class CallGuardTest : public testing::Test {
 protected:
  void Make(uint8_t n, Role role, const std::string& user) {
    ASSERT_TRUE(store->CreateToken({SomeToken(n).SecretDigest(), user, role, hours(24)}, "a test").ok());
  }
  static CallFacts With(const std::string& authorization) {
    return {.peer = "ipv4:10.0.0.7:5000", .authorization = authorization};
  }
  static CallFacts WithToken(uint8_t n) { return With("Bearer " + FormatToken(SomeToken(n))); }
  static CallFacts WithCertificate(char serial, Role role, const std::string& name) {
    CallFacts facts = With("");
    facts.certificate = CertificateFacts{{role, name}, *CertificateSerial::FromBytes(std::string(16, serial)), {}, {}};
    return facts;
  }
  void Join(char serial, Role role, const std::string& name) {
    const Digest code = Sha256(name);
    const CertificateFacts facts = *WithCertificate(serial, role, name).certificate;
    ASSERT_TRUE(store->Invite({code, role, name, hours(1)}, "a test").ok());
    ASSERT_TRUE(store->TakeInvitation(code, {facts.serial, facts.subject, {kNow, kNow + 90 * 86400 * kSecond}}).ok());
  }
  Status Refusal(const CallFacts& facts, std::string_view rpc = kSubmit) { return guard.Admit(facts, rpc).status(); }
  std::vector<std::string> Refusals() {
    std::vector<std::string> words;
    for (const EventRow& event : *store->ReadEvents(0, std::nullopt, 1000))
      if (event.kind == "refusal") words.push_back(event.detail);
    return words;
  }

  FakeClock clock{kNow};
  std::unique_ptr<SqliteStore> store = *SqliteStore::OpenInMemory(clock);
  CallGuard guard{*store, /*requires_identity=*/true, clock};
};

TEST_F(CallGuardTest, KnowsPeopleByTheirTokens) {
  Make(1, Role::kSubmitter, "ada");
  Make(2, Role::kAdmin, "root");
  EXPECT_EQ(*guard.Admit(WithToken(1), kSubmit), (Principal{Role::kSubmitter, "ada"}));
  EXPECT_EQ(*guard.Admit(WithToken(2), "ScheduleService/ImportRecords"), (Principal{Role::kAdmin, "root"}));
  EXPECT_THAT(Refusals(), testing::IsEmpty());
}

TEST_F(CallGuardTest, SaysWhyNobodyKnowsWhoCalls) {
  Make(1, Role::kSubmitter, "ada");
  Make(2, Role::kSubmitter, "bob");
  ASSERT_TRUE(store->RevokeToken(2, "a test").ok());
  const auto refusal = [&](const CallFacts& facts) {
    EXPECT_EQ(Refusal(facts).code(), StatusCode::kUnauthenticated);
    return Refusal(facts).message();
  };
  EXPECT_EQ(
      refusal(With("")),
      "TuningService/SubmitJob: this server wants to know who asks; set LATHE_TOKEN, or --token-file: `lathe token "
      "create --user USER --role ROLE` beside the server gives one");
  EXPECT_THAT(refusal(With("Basic YTpi")), HasSubstr("the authorization is no bearer token; `lathe token create"));
  EXPECT_THAT(refusal(With("Bearer ")), HasSubstr("it does not begin with \"lathe_\""));
  std::string mistyped = FormatToken(SomeToken(1));
  mistyped[20] = mistyped[20] == 'z' ? 'y' : 'z';
  EXPECT_THAT(refusal(With("Bearer " + mistyped)), HasSubstr("a letter is mistyped; copy it again"));
  EXPECT_THAT(refusal(WithToken(9)), HasSubstr("this farm does not know the token; `lathe token create"));
  EXPECT_THAT(refusal(WithToken(2)), HasSubstr("the token of \"bob\" is revoked; `lathe token create"));
  clock.Advance(hours(24));
  EXPECT_THAT(refusal(WithToken(1)), HasSubstr("the token of \"ada\" is expired; `lathe token create"));
}

TEST_F(CallGuardTest, SaysWhoMayInstead) {
  Make(1, Role::kViewer, "vera");
  const Status status = Refusal(WithToken(1));
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(
      status.message(),
      "\"vera\": TuningService/SubmitJob: the role \"viewer\" may not, submitter or admin may; `lathe token create "
      "--user USER --role submitter` beside the server gives a token");
  EXPECT_THAT(Refusals(), SizeIs(1));
  EXPECT_THAT(Refusals()[0], HasSubstr("ipv4:10.0.0.7:5000: \"vera\": TuningService/SubmitJob"));
}

TEST_F(CallGuardTest, KnowsMachinesByTheirCertificates) {
  Join('1', Role::kWorker, "build-1");
  Join('2', Role::kDevice, "rpi4-01");
  constexpr const char* kSynchronize = "WorkerService/Synchronize";
  EXPECT_EQ(*guard.Admit(WithCertificate('1', Role::kWorker, "build-1"), kSynchronize),
            (Principal{Role::kWorker, "build-1"}));
  EXPECT_THAT(Refusal(WithCertificate('2', Role::kDevice, "rpi4-01"), kSynchronize).message(),
              HasSubstr("the role \"device\" may not, worker or admin may; `lathe invite worker` lets one join"));
  EXPECT_THAT(Refusal(WithCertificate('9', Role::kWorker, "build-1"), kSynchronize).message(),
              HasSubstr("this farm does not know the certificate of worker \"build-1\"; `lathe invite worker`"));
  EXPECT_EQ(Refusal(WithCertificate('1', Role::kWorker, "build-2"), kSynchronize).code(), StatusCode::kUnauthenticated);
  ASSERT_TRUE(store->RevokeCertificates(*CertificateSerial::FromBytes(std::string(16, '1')), "a test").ok());
  EXPECT_THAT(Refusal(WithCertificate('1', Role::kWorker, "build-1"), kSynchronize).message(),
              HasSubstr("the certificate of worker \"build-1\" is revoked; `lathe invite worker`"));
}

TEST_F(CallGuardTest, AMachineSpeaksForItself) {
  EXPECT_TRUE(CheckActsFor({Role::kWorker, "build-1"}, "build-1").ok());
  EXPECT_TRUE(CheckActsFor({Role::kAdmin, ""}, "build-1").ok());
  EXPECT_THAT(CheckActsFor({Role::kWorker, "build-1"}, "build-2").message(),
              HasSubstr("worker \"build-1\" speaks for \"build-2\"; a certificate acts for its own name only"));
}

TEST_F(CallGuardTest, WhoMayUseTheServersSocketIsItsAdmin) {
  EXPECT_EQ(*guard.Admit({.peer = "unix:"}, "IdentityService/CreateToken"), Principal{});
  EXPECT_FALSE(guard.Admit({.peer = "ipv4:127.0.0.1:9"}, "IdentityService/CreateToken").ok());
  CallGuard open(*store, /*requires_identity=*/false, clock);
  EXPECT_EQ(*open.Admit({.peer = "ipv4:127.0.0.1:9"}, "IdentityService/CreateToken"), Principal{});
  EXPECT_THAT(open.Admit({.peer = "unix:"}, "TuningService/Unheard").status().message(), HasSubstr("nobody may"));
}

TEST_F(CallGuardTest, RefusalsAreEventsWithoutASecretAndWithinALimit) {
  for (int i = 0; i < 200; ++i) (void)Refusal(WithToken(9));
  EXPECT_THAT(Refusals(), SizeIs(RefusalLimit::kPerMinute));
  clock.Advance(std::chrono::minutes(1));
  (void)Refusal(WithToken(9));
  EXPECT_THAT(Refusals().back(), HasSubstr("(before it, 170 refusals were left out)"));
  for (const std::string& words : Refusals())
    EXPECT_THAT(words, testing::Not(HasSubstr(FormatToken(SomeToken(9)).substr(6, 8))));
}

// Every service of lathe.v1, by the descriptors of the files that are linked here.
std::vector<std::string> EveryRpc() {
  std::vector<std::string> rpcs;
  for (const auto* file : {v1::SubmitJobRequest::descriptor()->file(), v1::QueryBestRequest::descriptor()->file(),
                           v1::GetDeviceRequest::descriptor()->file(), v1::SynchronizeRequest::descriptor()->file(),
                           v1::InviteRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i)
      for (int j = 0; j < file->service(i)->method_count(); ++j)
        rpcs.push_back(file->service(i)->name() + "/" + file->service(i)->method(j)->name());
  }
  return rpcs;
}

TEST(RpcPermissions, EveryRpcHasARow) {
  EXPECT_THAT(EveryRpc(), SizeIs(31)) << "a new file of services is to be listed in EveryRpc";
  for (const std::string& rpc : EveryRpc()) {
    EXPECT_TRUE(CheckMayCall(Role::kAdmin, rpc).ok()) << "a row for " << rpc << " in rpc/permissions.cc";
    for (const Role role : {Role::kJoining, Role::kDevice, Role::kServer})
      EXPECT_FALSE(CheckMayCall(role, rpc).ok()) << rpc;
    const bool is_of_people = !rpc.starts_with("WorkerService/") && !rpc.starts_with("IdentityService/");
    const std::set<std::string_view> changes{kSubmit, "TuningService/CancelJob", "FarmService/ReserveDevice",
                                             "FarmService/ReleaseDevice"};
    const bool is_admins = rpc == "ScheduleService/ImportRecords" || rpc == "FarmService/DrainDevice";
    const bool is_read = is_of_people && !is_admins && !changes.contains(rpc);
    EXPECT_EQ(CheckMayCall(Role::kViewer, rpc).ok(), is_read) << rpc;
    EXPECT_EQ(CheckMayCall(Role::kSubmitter, rpc).ok(), is_of_people && !is_admins) << rpc;
    EXPECT_EQ(CheckMayCall(Role::kWorker, rpc).ok(), rpc.starts_with("WorkerService/")) << rpc;
  }
}

class GuardedServerTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    auto started = ServiceServer::Start(
        {.listen = {{.host = "127.0.0.1"}}, .workers = &coordinator, .requires_identity = true}, *api);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    guarded = *std::move(started);
  }
  std::string TcpAddress() const { return guarded->endpoints().front().ToString(); }
  // As somebody with that token.
  std::unique_ptr<ServerConnection> Connect(const std::string& token = "") {
    return ConnectToServer(guarded->endpoints().front(), {.deadline = kHangGuard, .patience = {}, .token = token});
  }
  std::unique_ptr<ServerConnection> ConnectAs(uint8_t n, Role role, const std::string& user) {
    EXPECT_TRUE(store->CreateToken({SomeToken(n).SecretDigest(), user, role, hours(24)}, "a test").ok());
    return Connect(FormatToken(SomeToken(n)));
  }
  // A call of any kind with an empty message.
  grpc::Status CallRaw(const std::string& rpc) {
    const auto channel = grpc::CreateChannel(TcpAddress(), grpc::InsecureChannelCredentials());
    grpc::GenericStub stub(channel);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(kHangGuard));
    const auto call = stub.PrepareCall(&context, "/lathe.v1." + rpc, &queue);
    const auto wait = [&] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
    };
    grpc::Slice nothing("");
    call->StartCall(nullptr);
    wait();
    call->WriteLast(grpc::ByteBuffer(&nothing, 1), {}, nullptr);
    wait();
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    return status;
  }

  std::unique_ptr<ServiceServer> guarded;
};

TEST_F(GuardedServerTest, EveryRpcAsksWhoCallsByItsOwnName) {
  for (const std::string& rpc : EveryRpc()) {
    const grpc::Status status = CallRaw(rpc);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << rpc << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), testing::StartsWith(rpc + ": this server wants to know who asks"));
  }
}

TEST_F(GuardedServerTest, ASubmitterCancelsTheirOwnJobsOnly) {
  const auto ada = ConnectAs(1, Role::kSubmitter, "ada"), bob = ConnectAs(2, Role::kSubmitter, "bob"),
             root = ConnectAs(3, Role::kAdmin, "root"), vera = ConnectAs(4, Role::kViewer, "vera");
  const auto submitted = ada->tuning().SubmitJob(CopyJob());
  ASSERT_TRUE(submitted.ok()) << submitted.status().ToString();
  EXPECT_EQ(submitted->job().submitter(), "ada");
  v1::CancelJobRequest cancel;
  cancel.set_job_id(submitted->job().id());
  const Status by_bob = bob->tuning().CancelJob(cancel).status();
  EXPECT_EQ(by_bob.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(
      by_bob.message(),
      HasSubstr("cancel job 1: it is \"ada\"'s, and submitter \"bob\" may cancel their own only; ask an admin"));
  EXPECT_EQ(vera->tuning().CancelJob(cancel).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(vera->tuning().ListJobs({})->jobs(0).state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(ada->tuning().CancelJob(cancel)->job().detail(), "cancelled by ada");

  v1::SubmitJobRequest second = CopyJob();
  second.set_request_id("request-b");
  ASSERT_TRUE(connection->tuning().SubmitJob(second).ok()) << "over the server's own socket";
  cancel.set_job_id(2);
  EXPECT_THAT(ada->tuning().CancelJob(cancel).status().message(), HasSubstr("cancel job 2: it is an admin's"));
  EXPECT_TRUE(root->tuning().CancelJob(cancel).ok());
  second.set_request_id(CopyJob().request_id());
  EXPECT_EQ(bob->tuning().SubmitJob(second).code(), StatusCode::kAlreadyExists) << "ada's request id";
}

TEST_F(GuardedServerTest, ARevokedTokenIsRefusedAtTheNextCall) {
  const auto root = ConnectAs(1, Role::kAdmin, "root"), vera = ConnectAs(2, Role::kViewer, "vera");
  EXPECT_TRUE(vera->tuning().ListJobs({}).ok());
  v1::RevokeTokenRequest revoke;
  revoke.set_token_id(2);
  EXPECT_EQ(root->identity().RevokeToken(revoke)->token().standing(), v1::STANDING_REVOKED);
  const Status status = vera->tuning().ListJobs({}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(status.message(), HasSubstr("TuningService/ListJobs: the token of \"vera\" is revoked"));
}

TEST_F(GuardedServerTest, AWatcherShowsATokenToo) {
  const auto ada = ConnectAs(1, Role::kSubmitter, "ada");
  ASSERT_TRUE(ada->tuning().SubmitJob(CopyJob()).ok());
  v1::WatchJobRequest watch;
  watch.set_job_id(1);
  int updates = 0;
  const auto one_update = [&](const v1::WatchJobResponse&) { return ++updates < 1; };
  EXPECT_TRUE(ada->tuning().WatchJob(watch, one_update).ok());
  EXPECT_EQ(updates, 1);
  EXPECT_EQ(Connect()->tuning().WatchJob(watch, one_update).code(), StatusCode::kUnauthenticated);
  const Status revoked = ada->tuning().WatchJob(watch, [&](const v1::WatchJobResponse&) {
    EXPECT_TRUE(store->RevokeToken(1, "a test").ok());
    EXPECT_TRUE(store->CancelJob(1, "so that it ends, whoever watches").ok());
    return true;
  });
  EXPECT_EQ(revoked.code(), StatusCode::kUnauthenticated) << "in the middle of a watch";
}

TEST_F(GuardedServerTest, APersonHandsInNoArtifacts) {
  const auto ada = ConnectAs(1, Role::kSubmitter, "ada");
  EXPECT_EQ(ada->workers().StoreArtifact(Sha256("code"), "code").code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Connect()->workers().StoreArtifact(Sha256("code"), "code").code(), StatusCode::kUnauthenticated);
  v1::SynchronizeRequest request;
  request.mutable_worker()->set_name("worker-1");
  EXPECT_THAT(ada->workers().Synchronize(request).status().message(), HasSubstr("`lathe invite worker` lets one join"));
  EXPECT_TRUE(coordinator.artifacts.empty());
  EXPECT_TRUE(connection->workers().StoreArtifact(Sha256("code"), "code").ok()) << "over the server's own socket";
}

TEST_F(GuardedServerTest, AnAdminInvitesListsAndRevokes) {
  const auto root = ConnectAs(1, Role::kAdmin, "root");
  v1::InviteRequest invite;
  invite.set_code_digest(std::string(Sha256("code").raw()));
  invite.set_role("device");
  invite.set_valid_ns(Duration(hours(1)).count());
  ASSERT_TRUE(root->identity().Invite(invite).ok());
  EXPECT_EQ(root->identity().Invite(invite)->invitation().id(), 1) << "said again";
  EXPECT_EQ(root->identity().ListInvitations({})->invitations(0).standing(), v1::STANDING_IN_FORCE);
  const CertificateSerial serial = *CertificateSerial::FromBytes("0123456789abcdef");
  ASSERT_TRUE(store->TakeInvitation(Sha256("code"), {serial, {Role::kDevice, "rpi4-01"}, {kNow, 2 * kNow}}).ok());
  EXPECT_EQ(root->identity().ListCertificates({})->certificates(0).name(), "rpi4-01");
  v1::RevokeCertificatesRequest revoke;
  revoke.set_serial(std::string(serial.raw()));
  const auto revoked = root->identity().RevokeCertificates(revoke);
  ASSERT_TRUE(revoked.ok()) << revoked.status().ToString();
  EXPECT_EQ(revoked->certificates_size(), 1);
  EXPECT_EQ(root->identity().ListCertificates({})->certificates(0).revoked_because(), "by \"root\"");
  invite.set_role("king");
  EXPECT_THAT(root->identity().Invite(invite).status().message(), HasSubstr("role \"king\": no such role"));
  invite.set_code_digest("short");
  EXPECT_THAT(root->identity().Invite(invite).status().message(), HasSubstr("code_digest"));
}

TEST_F(GuardedServerTest, ListsComeInPages) {
  for (uint8_t n = 1; n <= 5; ++n) (void)ConnectAs(n, Role::kViewer, fmt::format("user-{}", n));
  v1::ListTokensRequest request;
  request.set_page_size(2);
  std::vector<std::string> users;
  do {
    const auto page = connection->identity().ListTokens(request);
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    EXPECT_LE(page->tokens_size(), 2);
    for (const v1::Token& token : page->tokens()) users.push_back(token.user());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(users, testing::ElementsAre("user-1", "user-2", "user-3", "user-4", "user-5"));
}

}  // namespace
}  // namespace lathe
