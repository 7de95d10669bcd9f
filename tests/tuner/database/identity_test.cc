// Who may do what: invitations, certificates and tokens in every Store.
#include "store_testing.h"

namespace lathe {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int64_t kOneDay = 86'400 * kSecond;

CertificateSerial SerialOf(char c) { return *CertificateSerial::FromBytes(std::string(16, c)); }

NewCertificate CertificateFor(char serial, const std::string& name = "rpi4-01", Role role = Role::kDevice) {
  return {SerialOf(serial), {role, name}, {kNow, kNow + 90 * kOneDay}};
}

class IdentityTest : public EveryStoreTest {
 protected:
  Digest Invite(const std::string& code, const std::string& name = "", Role role = Role::kDevice) {
    const auto row = store_.Invite({Sha256(code), role, name, minutes(15)}, "a test");
    EXPECT_TRUE(row.ok()) << row.status().ToString();
    return Sha256(code);
  }
  void Join(const std::string& code, const NewCertificate& certificate) {
    const auto row =
        store_.TakeInvitation(Invite(code, certificate.subject.name, certificate.subject.role), certificate);
    ASSERT_TRUE(row.ok()) << row.status().ToString();
  }
  Standing StandingOf(char serial) { return (*store_.FindCertificate(SerialOf(serial)))->standing; }
  std::vector<std::string> Events() {
    std::vector<std::string> words;
    for (const EventRow& event : *store_.ReadEvents(0, std::nullopt, 1000))
      words.push_back(event.kind + ": " + event.detail);
    return words;
  }
};

TEST_P(IdentityTest, AnInvitationIsTakenOnce) {
  const Digest code = Invite("code");
  const auto row = store_.TakeInvitation(code, CertificateFor('1'));
  ASSERT_TRUE(row.ok()) << row.status().ToString();
  EXPECT_EQ(row->subject, (CertificateSubject{Role::kDevice, "rpi4-01"}));
  EXPECT_EQ(row->standing, Standing::kInForce);
  const auto second = store_.TakeInvitation(code, CertificateFor('2', "rpi4-02"));
  ASSERT_EQ(second.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(
      second.status().message(),
      HasSubstr("join: the invitation was taken at 2023-11-14 22:13:20 UTC; if that was not you, revoke what it "
                "gave, ask for another: `lathe invite device`"));
  EXPECT_FALSE(store_.FindCertificate(SerialOf('2'))->has_value()) << "and nothing of the second taker is there";
  EXPECT_EQ(store_.TakeInvitation(code, CertificateFor('1'))->id, row->id) << "the first one, said again";
  EXPECT_EQ(store_.ListInvitations({})->front().standing, Standing::kTaken);
}

TEST_P(IdentityTest, AnInvitationIsRefusedWithTheReason) {
  const auto refusal = [&](const Digest& code, const NewCertificate& certificate) {
    return store_.TakeInvitation(code, certificate).status();
  };
  EXPECT_THAT(refusal(Sha256("?"), CertificateFor('1')).message(), HasSubstr("this farm made no such invitation"));
  const Digest for_one = Invite("one", "rpi4-01"), for_worker = Invite("worker", "", Role::kWorker);
  EXPECT_EQ(refusal(for_one, CertificateFor('1', "rpi4-02")).code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(refusal(for_one, CertificateFor('1', "rpi4-02")).message(),
              HasSubstr("join as device \"rpi4-02\": the invitation is for \"rpi4-01\"; take that name, or ask"));
  EXPECT_EQ(refusal(for_worker, CertificateFor('1')).code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(refusal(for_worker, CertificateFor('1')).message(),
              HasSubstr("join as device: the invitation is for a worker; ask for another: `lathe invite device`"));
  EXPECT_THAT(refusal(for_one, CertificateFor('1', "rpi4-01", Role::kServer)).message(),
              HasSubstr("a server has none here"));
  clock_.Advance(minutes(15));
  EXPECT_EQ(refusal(for_one, CertificateFor('1')).code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(refusal(for_one, CertificateFor('1')).message(),
              HasSubstr("the invitation expired at 2023-11-14 22:28:20 UTC"));
  EXPECT_THAT(*store_.ListCertificates({}), IsEmpty());
}

TEST_P(IdentityTest, ItsTimeIsTheStores) {
  const Digest code = Invite("code");
  clock_.StepWallClock(-hours(24));
  clock_.Advance(minutes(14));
  EXPECT_EQ(store_.ListInvitations({})->front().standing, Standing::kInForce);
  clock_.Advance(minutes(1));
  EXPECT_EQ(store_.ListInvitations({})->front().standing, Standing::kExpired);
  EXPECT_EQ(store_.TakeInvitation(code, CertificateFor('1')).code(), StatusCode::kUnauthenticated);
}

TEST_P(IdentityTest, NobodyTakesTheNameOfAnotherUninvited) {
  Join("first", CertificateFor('1'));
  const Digest open = Invite("open");
  const auto stranger = store_.TakeInvitation(open, CertificateFor('2'));
  EXPECT_EQ(stranger.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(stranger.status().message(),
              HasSubstr("another device has a certificate of that name; choose another name, or have this machine "
                        "invited: `lathe invite device --name rpi4-01`"));
  EXPECT_TRUE(store_.TakeInvitation(open, CertificateFor('2', "rpi4-02")).ok()) << "the invitation was not spent";
  Join("the same board with a new card", CertificateFor('3'));
  EXPECT_EQ(StandingOf('1'), Standing::kRevoked);
  EXPECT_EQ((*store_.FindCertificate(SerialOf('1')))->revoked_because, "replaced by an invitation");
  EXPECT_THAT(*store_.RevokeCertificates(SerialOf('1'), "ada"), IsEmpty()) << "that was the card before";
  EXPECT_EQ(StandingOf('3'), Standing::kInForce);
  EXPECT_TRUE(store_.TakeInvitation(Invite("w", "", Role::kWorker), CertificateFor('4', "rpi4-01", Role::kWorker)).ok())
      << "a worker of the name is another machine";
}

TEST_P(IdentityTest, ACertificateIsRenewedWhileItIsInForce) {
  Join("code", CertificateFor('1'));
  NewCertificate next = CertificateFor('2');
  next.validity = {kNow + 60 * kOneDay, kNow + 150 * kOneDay};
  ASSERT_TRUE(store_.RenewCertificate(SerialOf('1'), next).ok());
  ASSERT_TRUE(store_.RenewCertificate(SerialOf('1'), next).ok()) << "said again";
  EXPECT_EQ(StandingOf('1'), Standing::kInForce);
  const auto refusal = [&](char former, const NewCertificate& certificate) {
    return store_.RenewCertificate(SerialOf(former), certificate).status().message();
  };
  EXPECT_THAT(refusal('1', CertificateFor('9', "rpi4-02")),
              HasSubstr("the present one is another machine's; join again"));
  EXPECT_THAT(refusal('8', CertificateFor('9')), HasSubstr("the present one is not known to this farm; join again"));
  clock_.Advance(hours(24 * 90));
  EXPECT_EQ(StandingOf('1'), Standing::kExpired);
  EXPECT_THAT(refusal('1', CertificateFor('9')), HasSubstr("the present one is expired; join again"));
  ASSERT_TRUE(store_.RevokeCertificates(SerialOf('2'), "ada").ok());
  EXPECT_THAT(refusal('2', CertificateFor('9')), HasSubstr("the present one is revoked; join again"));
}

TEST_P(IdentityTest, AMachineHasAFewCertificatesAtMost) {
  Join("code", CertificateFor('1'));
  for (char serial = '2'; serial <= '4'; ++serial)
    ASSERT_TRUE(store_.RenewCertificate(SerialOf('1'), CertificateFor(serial)).ok());
  const auto one_more = store_.RenewCertificate(SerialOf('1'), CertificateFor('5'));
  EXPECT_EQ(one_more.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(one_more.status().message(), HasSubstr("4 are in force, at most 4 allowed"));
}

TEST_P(IdentityTest, RevokingShutsTheWholeMachineOut) {
  Join("code", CertificateFor('1'));
  Join("other", CertificateFor('9', "rpi4-09"));
  ASSERT_TRUE(store_.RenewCertificate(SerialOf('1'), CertificateFor('2')).ok());
  EXPECT_THAT(*store_.RevokeCertificates(SerialOf('1'), "ada"), SizeIs(2));
  EXPECT_THAT(*store_.RevokeCertificates(SerialOf('1'), "ada"), IsEmpty());
  EXPECT_EQ(StandingOf('1'), Standing::kRevoked);
  EXPECT_EQ(StandingOf('2'), Standing::kRevoked) << "who stole the key may have renewed it";
  EXPECT_EQ(StandingOf('9'), Standing::kInForce);
  EXPECT_EQ((*store_.FindCertificate(SerialOf('2')))->revoked_because, "by ada");
  const auto unknown = store_.RevokeCertificates(SerialOf('7'), "ada");
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.status().message(), HasSubstr("no such serial number; `lathe certificate list` shows"));
}

TEST_P(IdentityTest, ATokenCountsUntilItsEndOrItsRevocation) {
  const auto ada = store_.CreateToken({Sha256("ada's"), "ada", Role::kSubmitter, hours(24)}, "a test");
  ASSERT_TRUE(ada.ok()) << ada.status().ToString();
  ASSERT_TRUE(store_.CreateToken({Sha256("bob's"), "bob", Role::kAdmin, hours(48)}, "a test").ok());
  EXPECT_EQ(store_.CreateToken({Sha256("ada's"), "ada", Role::kSubmitter, hours(24)}, "a test")->id, ada->id);
  const std::optional<TokenRow> found = *store_.FindToken(Sha256("ada's"));
  EXPECT_EQ(found->user, "ada");
  EXPECT_EQ(found->role, Role::kSubmitter);
  EXPECT_EQ(found->standing, Standing::kInForce);
  EXPECT_FALSE(store_.FindToken(Sha256("?"))->has_value());
  clock_.Advance(hours(24));
  EXPECT_EQ((*store_.FindToken(Sha256("ada's")))->standing, Standing::kExpired);
  EXPECT_EQ((*store_.FindToken(Sha256("bob's")))->standing, Standing::kInForce);
  EXPECT_EQ(store_.RevokeToken(2, "ada")->standing, Standing::kRevoked);
  EXPECT_EQ(store_.RevokeToken(2, "ada")->standing, Standing::kRevoked);
  EXPECT_EQ((*store_.FindToken(Sha256("bob's")))->standing, Standing::kRevoked);
  EXPECT_THAT(*store_.ListTokens({}), SizeIs(2));
  EXPECT_THAT(*store_.ListTokens({1, 100}), SizeIs(1));
  EXPECT_THAT(store_.RevokeToken(77, "ada").status().message(),
              HasSubstr("token 77: no such token; `lathe token list`"));
}

TEST_P(IdentityTest, WhatIsGivenOutHasItsLimits) {
  const auto invite = [&](Role role, const std::string& name, Duration valid) {
    return store_.Invite({Sha256("c"), role, name, valid}, "a test").status().message();
  };
  EXPECT_THAT(invite(Role::kAdmin, "", hours(1)),
              HasSubstr("invite: a admin does not join; a device or a worker does"));
  EXPECT_THAT(invite(Role::kDevice, "A", hours(1)), HasSubstr("invite: the name \"A\" is not [a-z0-9._-]{1,64}"));
  EXPECT_THAT(invite(Role::kDevice, "", Duration(0)), HasSubstr("invite: valid for 0 s, 1 to 604800 required"));
  EXPECT_THAT(invite(Role::kDevice, "", hours(24 * 8)), HasSubstr("valid for 691200 s, 1 to 604800 required"));
  const auto token = [&](Role role, const std::string& user, Duration valid) {
    return store_.CreateToken({Sha256("t"), user, role, valid}, "a test").status().message();
  };
  EXPECT_THAT(token(Role::kDevice, "a", hours(1)),
              HasSubstr("the role \"device\" has none; viewer, submitter and admin"));
  EXPECT_THAT(token(Role::kViewer, "", hours(1)), HasSubstr("create token: the name \"\" is not"));
  EXPECT_THAT(token(Role::kViewer, "a", hours(24 * 367)), HasSubstr("1 to 31622400 required"));
  (void)Invite("c");
  EXPECT_THAT(invite(Role::kWorker, "", hours(1)), HasSubstr("the code is that of another invitation; draw another"));
  EXPECT_THAT(Events(), SizeIs(1)) << "what is refused leaves nothing behind";
}

TEST_P(IdentityTest, EveryChangeIsAnEventWithoutASecret) {
  Join("code", CertificateFor('1'));
  ASSERT_TRUE(store_.RevokeCertificates(SerialOf('1'), "ada").ok());
  ASSERT_TRUE(store_.CreateToken({Sha256("t"), "bob", Role::kViewer, hours(1)}, "ada").ok());
  ASSERT_TRUE(store_.RevokeToken(1, "ada").ok());
  ASSERT_TRUE(store_.RecordRefusal("SubmitJob from 10.0.0.1: no token").ok());
  const std::string serial = SerialOf('1').ToHex();
  EXPECT_THAT(Events(),
              testing::ElementsAre(
                  "invitation: a device \"rpi4-01\" is invited until 2023-11-14 22:28:20 UTC, by a test",
                  "certificate: device \"rpi4-01\" joined: serial " + serial + ", until 2024-02-12 22:13:20 UTC",
                  "invitation: taken by device \"rpi4-01\"",
                  "certificate: device \"rpi4-01\" revoked, by ada: serial " + serial,
                  "token: viewer \"bob\" has a token until 2023-11-14 23:13:20 UTC, by ada",
                  "token: viewer \"bob\": revoked by ada", "refusal: SubmitJob from 10.0.0.1: no token"));
  for (const std::string& words : Events()) {
    EXPECT_THAT(words, Not(HasSubstr(Sha256("code").ToHex())));
    EXPECT_THAT(words, Not(HasSubstr(Sha256("t").ToHex())));
  }
}

TEST_P(IdentityTest, AJobKeepsItsSubmitter) {
  (void)store_.PutWorkload(MakeWorkload());
  const NewJob ours{"request-1", "net", kJobSpec, {{MakeKey(), "conv", 2, 64}}, "ada"};
  NewJob theirs = ours;
  theirs.submitter = "bob";
  const auto job = store_.CreateJob(ours);
  EXPECT_EQ(job->job.submitter, "ada");
  EXPECT_EQ(store_.GetJob(job->job.id)->submitter, "ada");
  EXPECT_FALSE(store_.CreateJob(ours)->created);
  EXPECT_EQ(store_.CreateJob(theirs).code(), StatusCode::kAlreadyExists) << "a request id is its submitter's";
}

INSTANTIATE_TEST_SUITE_P(Stores, IdentityTest, testing::ValuesIn(kStoreKinds),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
