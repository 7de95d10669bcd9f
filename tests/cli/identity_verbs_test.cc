// ca, invite, certificate and token: who belongs to a farm.
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/credential.h"
#include "support/file.h"
#include "tests/cli/cli_testing.h"
#include "tuner/service/authority.h"
#include "tuner/service/server.h"
#include "tuner/service/store_core.h"

namespace lathe {
namespace {

using testing::HasSubstr;

class IdentityVerbsTest : public DatabaseFileTest {
 protected:
  // What a machine does with a code: the certificate is in the database.
  void Join(const std::string& printed, const std::string& name) {
    const StatusOr<InvitationCode> code = ParseInvitationCode(printed);
    ASSERT_TRUE(code.ok()) << code.status().ToString();
    const auto store = *SqliteStore::Open(path);
    const int64_t now = SystemClock().UnixNanos();
    const NewCertificate certificate{*CertificateSerial::FromBytes("0123456789abcdef"),
                                     {Role::kDevice, name},
                                     {now, now + Duration(kCertificateLife).count()}};
    const auto joined = store->TakeInvitation(code->SecretDigest(), certificate);
    ASSERT_TRUE(joined.ok()) << joined.status().ToString();
  }
  std::string WriteToken(const std::string& text, mode_t mode = 0600) {
    const std::string file = folder / "token";
    EXPECT_TRUE(WriteSecretFile(file, text).ok());
    EXPECT_EQ(chmod(file.c_str(), mode), 0);
    return file;
  }
};

TEST_F(IdentityVerbsTest, CaIsMadeOnceAndShown) {
  const VerbRun init = Verb({"ca", "init", "--host", "farm.example", "--host", "10.0.0.1"});
  EXPECT_EQ(init.code, 0) << init.err;
  EXPECT_EQ(init.out, "");
  EXPECT_THAT(init.err, HasSubstr("lathe: made " + path + ".ca: whoever has its authority.key is the farm"));
  EXPECT_THAT(init.err, HasSubstr("the server is known as farm.example, 10.0.0.1, server.lathe, localhost"));
  EXPECT_THAT(init.err, HasSubstr("next: start `lathe up` anew"));
  const VerbRun show = Verb({"ca", "show"});
  EXPECT_EQ(show.code, 0) << show.err;
  const std::string pem = Verb({"ca", "show", "--pem"}).out;
  EXPECT_THAT(show.out, HasSubstr("authority\n  sha256 " + CertificateDigest(pem)->ToHex() + "\n"));
  EXPECT_THAT(show.out, HasSubstr("hosts  farm.example, 10.0.0.1"));
  const VerbRun again = Verb({"ca", "init"});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("there is one, and whoever joined would be shut out by another"));
  EXPECT_EQ(Verb({"ca", "show", "--pem"}).out, pem);
}

TEST_F(IdentityVerbsTest, WithoutAnAuthorityNobodyIsInvited) {
  Fill();
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"ca", "show"}, {"invite", "device"}}) {
    const VerbRun run = Verb(verb);
    EXPECT_EQ(run.code, 3);
    EXPECT_THAT(run.err, HasSubstr("there is none; make one beside the database: `lathe ca init --host NAME`"));
  }
}

TEST_F(IdentityVerbsTest, ACodeLetsOneMachineInUntilItIsShutOut) {
  Fill();
  ASSERT_EQ(Verb({"ca", "init"}).code, 0);
  EXPECT_THAT(Verb({"certificate", "list"}).err, HasSubstr("no machine has joined; `lathe invite device`"));
  const VerbRun invited = Verb({"invite", "device", "--name", "rpi4-01"});
  EXPECT_EQ(invited.code, 0) << invited.err;
  EXPECT_THAT(invited.err, HasSubstr("lathe: with this code a device \"rpi4-01\" may join once, until "));
  EXPECT_EQ(ParseInvitationCode(invited.out)->authority, *CertificateDigest(Verb({"ca", "show", "--pem"}).out));
  Join(invited.out, "rpi4-01");
  const std::string serial = CertificateSerial::FromBytes("0123456789abcdef")->ToHex();
  EXPECT_THAT(Verb({"certificate", "list"}).out, testing::ContainsRegex(serial + " +device +rpi4-01 +in force"));
  const auto json = nlohmann::json::parse(Verb({"certificate", "list", "--json"}).out);
  EXPECT_EQ(json["certificates"][0]["serial"], serial);
  EXPECT_EQ(json["certificates"][0]["standing"], "in force");
  EXPECT_EQ(Verb({"certificate", "revoke", serial}).err,
            "lathe: device \"rpi4-01\" is shut out: 1 of its certificates revoked\n");
  EXPECT_EQ(Verb({"certificate", "revoke", serial}).err, "lathe: nothing of that machine is in force any more\n");
  EXPECT_THAT(Verb({"certificate", "list"}).out, testing::ContainsRegex("revoked +[-0-9]+ [:0-9]+ +by who may use"));
}

TEST_F(IdentityVerbsTest, ATokenIsShownOnceAndTakenBack) {
  Fill();
  EXPECT_THAT(Verb({"token", "list"}).err, HasSubstr("no tokens; `lathe token create"));
  const VerbRun made = Verb({"token", "create", "--user", "ada", "--role", "viewer", "--valid", "2d"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(ParseToken(made.out).ok()) << made.out;
  EXPECT_THAT(made.err, HasSubstr("token 1 makes its holder the viewer \"ada\" until "));
  const VerbRun list = Verb({"token", "list"});
  EXPECT_THAT(list.out, testing::ContainsRegex("1 +ada +viewer +in force"));
  EXPECT_THAT(list.out, testing::Not(HasSubstr(made.out.substr(6, 10))));
  EXPECT_EQ(Verb({"token", "revoke", "1"}).err, "lathe: token 1 of viewer \"ada\" is revoked\n");
  const auto json = nlohmann::json::parse(Verb({"token", "list", "--json"}).out);
  EXPECT_EQ(json["tokens"][0]["standing"], "revoked");
}

TEST_F(IdentityVerbsTest, AVerbShowsItsTokenToAServerThatAsks) {
  Fill();
  const VerbRun made = Verb({"token", "create", "--user", "vera", "--role", "viewer"});
  const auto store = *SqliteStore::Open(path);
  StoreCore core(*store);
  CoreApi api(core);
  const auto server = *ServiceServer::Start(
      {.listen = {{.host = "127.0.0.1"}, {.unix_path = path + ".sock"}}, .requires_identity = true}, api);
  const std::string address = server->endpoints().front().ToString();
  const VerbRun stranger = RunVerb({"jobs", "--server", address});
  EXPECT_EQ(stranger.code, 5);
  EXPECT_THAT(stranger.err, HasSubstr("TuningService/ListJobs: this server wants to know who asks; set LATHE_TOKEN"));
  const std::string file = WriteToken(made.out);
  const VerbRun jobs = RunVerb({"jobs", "--server", address, "--token-file", file});
  EXPECT_EQ(jobs.code, 0) << jobs.err;
  const VerbRun cancel = RunVerb({"cancel", "1", "--server", address, "--token-file", file});
  EXPECT_EQ(cancel.code, 5);
  EXPECT_THAT(cancel.err, HasSubstr("\"vera\": TuningService/CancelJob: the role \"viewer\" may not"));
  EXPECT_EQ(Verb({"token", "revoke", "1"}).code, 0) << "beside the server, through its socket";
  EXPECT_THAT(RunVerb({"jobs", "--server", address, "--token-file", file}).err,
              HasSubstr("token of \"vera\" is revoked"));
  ASSERT_EQ(setenv("LATHE_TOKEN", made.out.c_str(), 1), 0);
  EXPECT_THAT(RunVerb({"jobs", "--server", address}).err, HasSubstr("token of \"vera\" is revoked"));
  ASSERT_EQ(setenv("LATHE_TOKEN", "something", 1), 0);
  EXPECT_THAT(RunVerb({"jobs", "--server", address}).err,
              HasSubstr("$LATHE_TOKEN: read token: it does not begin with"));
  unsetenv("LATHE_TOKEN");
}

TEST_F(IdentityVerbsTest, AuditShowsChangesAndRefusalsAndNothingElse) {
  Fill();
  EXPECT_EQ(Verb({"audit"}).err, "lathe: nobody was invited, given a token or refused\n");
  const VerbRun made = Verb({"token", "create", "--user", "vera", "--role", "viewer"});
  {
    const auto store = *SqliteStore::Open(path);
    ASSERT_TRUE(store->RecordRefusal("ipv4:10.0.0.7:5000: no token").ok());
  }
  const VerbRun audit = Verb({"audit"});
  EXPECT_EQ(audit.code, 0) << audit.err;
  EXPECT_THAT(audit.out, testing::ContainsRegex("token +viewer \"vera\" has a token until .*, by who may use"));
  EXPECT_THAT(audit.out, testing::ContainsRegex("refusal +ipv4:10.0.0.7:5000: no token\n"));
  EXPECT_THAT(audit.out, testing::Not(HasSubstr("trial"))) << "of other events, none";
  EXPECT_THAT(audit.out, testing::Not(HasSubstr(made.out.substr(6, 10))));
  const auto json = nlohmann::json::parse(Verb({"audit", "--json"}).out);
  EXPECT_EQ(json["events"].size(), 2u);
  EXPECT_EQ(json["events"][1]["kind"], "refusal");
}

TEST_F(IdentityVerbsTest, ATokenThatOthersCanReadIsNotSent) {
  const std::string file = WriteToken("lathe_x", 0644);
  const VerbRun run = RunVerb({"jobs", "--server", "127.0.0.1:1", "--token-file", file});
  EXPECT_EQ(run.code, 5);
  EXPECT_THAT(run.err, HasSubstr("read " + file + ": others may read it (mode 0644), 0600 required"));
}

struct BadIdentityUse {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  const char* message;
};
class BadIdentityUseTest : public DatabaseFileTest, public testing::WithParamInterface<BadIdentityUse> {};

TEST_P(BadIdentityUseTest, SaysWhatIsWrongWithItsExitCode) {
  Fill();
  ASSERT_TRUE(MakeAuthorityBeside(path, {}, SystemClock().UnixNanos()).ok());
  const VerbRun run = Verb(GetParam().arguments);
  EXPECT_EQ(run.code, GetParam().code) << run.err;
  EXPECT_THAT(run.err, HasSubstr(GetParam().message));
  EXPECT_EQ(run.out, "") << "no secret is shown that does not count";
}
INSTANTIATE_TEST_SUITE_P(
    Verbs, BadIdentityUseTest,
    testing::Values(
        BadIdentityUse{"NobodyInvited", {"invite"}, 2, "subcommand is required"},
        BadIdentityUse{"InvitedForEver", {"invite", "device", "--valid", "8d"}, 2, "valid for 691200 s, 1 to 604800"},
        BadIdentityUse{"InvitedForNoTime", {"invite", "worker", "--valid", "0"}, 2, "invite: valid for 0 s"},
        BadIdentityUse{
            "NoDuration", {"invite", "worker", "--valid", "soon"}, 2, "duration \"soon\": write a number and"},
        BadIdentityUse{
            "BadName", {"invite", "device", "--name", "Pi 4"}, 2, "the name \"Pi 4\" is not [a-z0-9._-]{1,64}"},
        BadIdentityUse{"NoUser", {"token", "create"}, 2, "--user is required"},
        BadIdentityUse{"BadUser", {"token", "create", "--user", "a/b"}, 2, "the name \"a/b\" is not"},
        BadIdentityUse{
            "NoSuchRole", {"token", "create", "--user", "a", "--role", "king"}, 2, "role \"king\": no such role"},
        BadIdentityUse{"MachinesRole",
                       {"token", "create", "--user", "a", "--role", "device"},
                       2,
                       "the role \"device\" has none; viewer, submitter and admin have"},
        BadIdentityUse{"UnknownToken", {"token", "revoke", "77"}, 3, "token 77: no such token; `lathe token list`"},
        BadIdentityUse{"NoSerial", {"certificate", "revoke", "12"}, 2, "\"12\": 2 characters, 32 hex digits required"},
        BadIdentityUse{"UnknownSerial",
                       {"certificate", "revoke", "00112233445566778899aabbccddeeff"},
                       3,
                       "no such serial number; `lathe certificate list`"},
        BadIdentityUse{"SecondAuthority", {"ca", "init"}, 1, "there is one"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
