#include "tuner/service/authority.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/file.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

using testing::HasSubstr;

constexpr int64_t kAuthorityNow = 1'800'000'000'000'000'000;
constexpr int64_t kOneHour = 3'600'000'000'000;

class AuthorityTest : public testing::Test {
 protected:
  Authority Make(const std::vector<std::string>& hosts = {"farm.example"}) {
    const StatusOr<Authority> made = MakeAuthorityBeside(database, hosts, kAuthorityNow);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return *made;
  }
  static unsigned ModeOf(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  TemporaryFolder folder;
  const std::string database = folder / "lathe.db";
};

TEST_F(AuthorityTest, LiesBesideTheDatabaseForItsOwnerOnly) {
  EXPECT_FALSE(HasAuthority(database));
  EXPECT_THAT(ReadAuthorityBeside(database).status().message(),
              HasSubstr("there is none; make one beside the database"));
  const Authority made = Make();
  EXPECT_TRUE(HasAuthority(database));
  EXPECT_EQ(ModeOf(database + ".ca"), 0700u);
  for (const char* file : {"/authority.key", "/server.pem"}) EXPECT_EQ(ModeOf(database + ".ca" + file), 0600u) << file;
  const StatusOr<Authority> read = ReadAuthorityBeside(database);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->authority.certificate_pem, made.authority.certificate_pem);
  EXPECT_EQ(read->server.key_pem, made.server.key_pem);
  EXPECT_FALSE(std::filesystem::exists(database + ".ca.part"));
}

TEST_F(AuthorityTest, SignsForTheServerThatOthersReachByItsNames) {
  const Authority made = Make({"farm.example", "10.0.0.1"});
  const StatusOr<CertificateFacts> server =
      VerifyCertificate(made.authority.certificate_pem, made.server.certificate_pem, Role::kServer, kAuthorityNow);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  EXPECT_THAT(server->hosts,
              testing::ElementsAre("farm.example", "10.0.0.1", kServerHost, "localhost", "127.0.0.1", "::1"));
  EXPECT_EQ(server->validity.not_before_unix_ns, kAuthorityNow - kOneHour) << "for clocks that are late";
  EXPECT_EQ(server->validity.not_after_unix_ns, kAuthorityNow + 90 * 24 * kOneHour);
}

TEST_F(AuthorityTest, IsMadeOnce) {
  const Authority made = Make();
  const Status again = MakeAuthorityBeside(database, {}, kAuthorityNow).status();
  EXPECT_EQ(again.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(again.message(), HasSubstr("whoever joined would be shut out by another; `lathe ca show` says which"));
  EXPECT_EQ(ReadAuthorityBeside(database)->authority.key_pem, made.authority.key_pem);
}

TEST_F(AuthorityTest, IsMadeWholeOrNotAtAll) {
  EXPECT_THAT(MakeAuthorityBeside(folder / "none/lathe.db", {}, kAuthorityNow).status().message(),
              HasSubstr("No such file or directory; name a database in a folder that can be written"));
  EXPECT_THAT(MakeAuthorityBeside(database, {"a b"}, kAuthorityNow).status().message(),
              HasSubstr("\"a b\" is neither a host's name nor an IP address"));
  EXPECT_FALSE(HasAuthority(database));
  std::filesystem::create_directory(database + ".ca.part");
  std::ofstream(database + ".ca.part/authority.key") << "of somebody who was killed";
  (void)Make();
  EXPECT_TRUE(ReadAuthorityBeside(database).ok());
}

TEST_F(AuthorityTest, RenewsTheServersCertificateForTheSameHosts) {
  const Authority made = Make();
  const int64_t later = kAuthorityNow + 60 * 24 * kOneHour;
  const StatusOr<KeyAndCertificate> renewed = RenewServerCertificate(database, made, later);
  ASSERT_TRUE(renewed.ok()) << renewed.status().ToString();
  EXPECT_NE(renewed->key_pem, made.server.key_pem);
  const StatusOr<Authority> read = ReadAuthorityBeside(database);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->server.certificate_pem, renewed->certificate_pem);
  const CertificateFacts before = *ReadCertificate(made.server.certificate_pem);
  const CertificateFacts after = *ReadCertificate(renewed->certificate_pem);
  EXPECT_EQ(after.hosts, before.hosts);
  EXPECT_NE(after.serial, before.serial);
  EXPECT_EQ(after.validity.not_after_unix_ns, later + 90 * 24 * kOneHour);
}

TEST_F(AuthorityTest, NothingItSignsOutlivesIt) {
  const Authority made = Make();
  const int64_t end = CertificateValidity(made.authority.certificate_pem)->not_after_unix_ns;
  EXPECT_EQ(ValidityFrom(end - 24 * kOneHour, made)->not_after_unix_ns, end);
  EXPECT_THAT(ValidityFrom(end, made).status().message(),
              HasSubstr("the authority is not in force now; set the clock"));
}

TEST_F(AuthorityTest, WhatIsWrongWithItsFilesIsNamed) {
  (void)Make();
  const std::string key = database + ".ca/authority.key";
  ASSERT_EQ(chmod(key.c_str(), 0644), 0);
  EXPECT_THAT(ReadAuthorityBeside(database).status().message(), HasSubstr("read " + key + ": others may read it"));
  ASSERT_EQ(chmod(key.c_str(), 0600), 0);
  std::ofstream(database + ".ca/server.pem", std::ios::trunc) << "-----BEGIN PRIVATE KEY-----\n";
  EXPECT_THAT(ReadAuthorityBeside(database).status().message(), HasSubstr("read key: cut off or changed"));
}

}  // namespace
}  // namespace lathe
