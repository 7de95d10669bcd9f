#include "support/certificate.h"

#include <gmock/gmock.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <cstdlib>

#include "support/file.h"
#include "support/random.h"
#include "tests/property_runs.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000, kDay = 86'400 * kSecond;
constexpr int64_t kNow = 1'800'000'000 * kSecond;  // 2027-01-15 08:00:00 UTC.

CertificateSerial Serial(uint8_t last) {
  CertificateSerial serial;
  serial.bytes[15] = last;
  return serial;
}

KeyAndCertificate Authority(int64_t begin = kNow - kDay, int64_t end = kNow + 3650 * kDay) {
  return *MakeAuthority("farm", Serial(1), {begin, end});
}

CertificateOrder Order(uint8_t serial = 7) { return {Serial(serial), {kNow - kDay, kNow + 90 * kDay}, {}}; }

std::string Certify(const KeyAndCertificate& authority, const CertificateSubject& subject,
                    const CertificateOrder& order) {
  return *SignCertificate(authority, MakeSigningRequest(subject)->request_pem, order);
}
std::string DeviceCertificate(const KeyAndCertificate& authority, const CertificateOrder& order = Order()) {
  return Certify(authority, {Role::kDevice, "rpi4-01"}, order);
}

// A byte near the end of the signature becomes another one.
std::string ChangeSignature(const std::string& pem) {
  std::string changed = pem;
  size_t at = changed.rfind("\n-----END") - 1;
  for (int passed = 0; passed < 12; --at) passed += std::isalnum(static_cast<unsigned char>(changed[at])) ? 1 : 0;
  while (!std::isalnum(static_cast<unsigned char>(changed[at]))) --at;
  changed[at] = changed[at] == 'A' ? 'B' : 'A';
  return changed;
}

// What the program `openssl` says, and how it ended.
struct Said {
  int status;
  std::string text;
};
Said OpenSsl(const TemporaryFolder& folder, const std::string& arguments) {
  const std::string out = folder / "said";
  const int status = std::system(("cd " + folder.path() + " && openssl " + arguments + " >" + out + " 2>&1").c_str());
  return {status, *ReadWholeFile(out)};
}
bool HasOpenSslProgram() { return std::system("openssl version >/dev/null 2>&1") == 0; }

TEST(Certificate, SaysWhatItWasSignedFor) {
  const KeyAndCertificate authority = Authority();
  const StatusOr<KeyAndRequest> asked = MakeSigningRequest({Role::kDevice, "rpi4-01"});
  ASSERT_TRUE(asked.ok()) << asked.status().ToString();
  EXPECT_EQ(*ReadSigningRequest(asked->request_pem), (CertificateSubject{Role::kDevice, "rpi4-01"}));
  const StatusOr<std::string> pem = SignCertificate(authority, asked->request_pem, Order());
  ASSERT_TRUE(pem.ok()) << pem.status().ToString();
  const CertificateFacts expected{{Role::kDevice, "rpi4-01"}, Serial(7), {kNow - kDay, kNow + 90 * kDay}, {}};
  EXPECT_EQ(*ReadCertificate(*pem), expected);
  const StatusOr<CertificateFacts> verified = VerifyCertificate(authority.certificate_pem, *pem, Role::kDevice, kNow);
  ASSERT_TRUE(verified.ok()) << verified.status().ToString();
  EXPECT_EQ(*verified, expected);
  EXPECT_TRUE(CheckKeyPair({asked->key_pem, *pem}).ok());
  EXPECT_THAT(CheckKeyPair({authority.key_pem, *pem}).message(), HasSubstr("it is not that of the certificate"));
}

TEST(Certificate, KeepsEverySerialNumberAndNameAtItsLimits) {
  const KeyAndCertificate authority = Authority();
  CertificateSerial highest, low;
  highest.bytes.fill(0xff);
  low.bytes[15] = 1;
  for (const CertificateSerial& serial : {highest, low, Serial(0x80)}) {
    for (const std::string& name : {std::string("a"), std::string(64, 'z'), std::string("0._-")}) {
      CertificateOrder order = Order();
      order.serial = serial;
      const StatusOr<CertificateFacts> facts = ReadCertificate(Certify(authority, {Role::kWorker, name}, order));
      ASSERT_TRUE(facts.ok()) << facts.status().ToString();
      EXPECT_EQ(facts->serial, serial);
      EXPECT_EQ(facts->subject, (CertificateSubject{Role::kWorker, name}));
    }
  }
  EXPECT_EQ(*CertificateSerial::FromHex(highest.ToHex()), highest);
  EXPECT_THAT(CertificateSerial::FromHex("12").status().message(), HasSubstr("2 characters, 32 hex digits required"));
  EXPECT_THAT(CertificateSerial::FromHex(std::string(32, 'g')).status().message(), HasSubstr("32 hex digits required"));
  CertificateOrder order = Order();
  order.serial = {};
  const std::string request = MakeSigningRequest({Role::kDevice, "a"})->request_pem;
  EXPECT_THAT(SignCertificate(authority, request, order).status().message(), HasSubstr("the serial number is zero"));
}

TEST(Certificate, IsGoodForOpenSslTooAndForItsPurposeOnly) {
  if (!HasOpenSslProgram()) GTEST_SKIP() << "the program openssl is not installed";
  const TemporaryFolder folder;
  const KeyAndCertificate authority = Authority();
  CertificateOrder for_hosts = Order();
  for_hosts.hosts = {"farm.example", "10.1.2.3", "::1"};
  ASSERT_TRUE(WriteSecretFile(folder / "ca.pem", authority.certificate_pem).ok());
  ASSERT_TRUE(WriteSecretFile(folder / "device.pem", DeviceCertificate(authority)).ok());
  ASSERT_TRUE(WriteSecretFile(folder / "server.pem", Certify(authority, {Role::kServer, "farm"}, for_hosts)).ok());
  const std::string verify = "verify -x509_strict -CAfile ca.pem -attime 1800000000 ";
  EXPECT_EQ(OpenSsl(folder, verify + "-purpose sslclient device.pem").text, "device.pem: OK\n");
  EXPECT_NE(OpenSsl(folder, verify + "-purpose sslserver device.pem").status, 0);
  EXPECT_NE(OpenSsl(folder, verify + "-purpose sslclient server.pem").status, 0);
  for (const char* host : {"-verify_hostname farm.example", "-verify_ip 10.1.2.3", "-verify_ip ::1"})
    EXPECT_EQ(OpenSsl(folder, verify + "-purpose sslserver " + host + " server.pem").text, "server.pem: OK\n") << host;
  EXPECT_NE(OpenSsl(folder, verify + "-verify_ip 10.1.2.4 server.pem").status, 0);
  EXPECT_THAT(OpenSsl(folder, "x509 -in device.pem -noout -subject").text,
              HasSubstr("O = Lathe, OU = device, CN = rpi4-01"));
  const Said der = OpenSsl(folder, "x509 -in ca.pem -outform DER | openssl dgst -sha256");
  EXPECT_THAT(der.text, HasSubstr(CertificateDigest(authority.certificate_pem)->ToHex()));
}

TEST(Certificate, MadeByOpenSslIsReadLikewise) {
  if (!HasOpenSslProgram()) GTEST_SKIP() << "the program openssl is not installed";
  const TemporaryFolder folder;
  const std::string key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem ";
  ASSERT_EQ(OpenSsl(folder, "req -new " + key + "-subj /O=Lathe/OU=worker/CN=build-3 -out asked.pem").status, 0);
  const std::string request = *ReadWholeFile(folder / "asked.pem");
  EXPECT_EQ(*ReadSigningRequest(request), (CertificateSubject{Role::kWorker, "build-3"}));
  const KeyAndCertificate authority = Authority();
  const std::string pem = *SignCertificate(authority, request, Order());
  EXPECT_TRUE(CheckKeyPair({*ReadWholeFile(folder / "key.pem"), pem}).ok());
  EXPECT_TRUE(VerifyCertificate(authority.certificate_pem, pem, Role::kWorker, kNow).ok());
}

struct RefusedCase {
  const char* name;
  std::string authority_pem, certificate_pem;
  Role role;
  int64_t now;
  const char* message;
};
std::vector<RefusedCase> RefusedCases() {
  const KeyAndCertificate ours = Authority(), other = Authority(), short_lived = Authority(kNow - kDay, kNow + kDay);
  const std::string device = DeviceCertificate(ours), ca = ours.certificate_pem;
  CertificateOrder with_host = Order();
  with_host.hosts = {"farm.example"};
  return {
      {"Expired", ca, device, Role::kDevice, kNow + 91 * kDay,
       "it expired at 2027-04-15 08:00:00 UTC, it is 2027-04-16 08:00:00 UTC here; join again, or set the clock"},
      {"NotYetValid", ca, device, Role::kDevice, kNow - 2 * kDay + kDay / 2,
       "is not valid before 2027-01-14 08:00:00 UTC, it is 2027-01-13 20:00:00 UTC here; set the clock"},
      {"WrongAuthority", other.certificate_pem, device, Role::kDevice, kNow,
       "another authority than this farm's signed it; join this farm"},
      {"TheAuthorityHasExpired", short_lived.certificate_pem, DeviceCertificate(short_lived), Role::kDevice,
       kNow + 2 * kDay, "the authority's own certificate expired at 2027-01-16"},
      {"ADeviceIsNoWorker", ca, device, Role::kWorker, kNow,
       "it is one of a device (\"rpi4-01\"), a worker's is required"},
      {"AServerIsNoDevice", ca, Certify(ours, {Role::kServer, "farm"}, with_host), Role::kDevice, kNow,
       "it is one of a server (\"farm\"), a device's is required"},
      {"ChangedSignature", ca, ChangeSignature(device), Role::kDevice, kNow, "it was changed after it was signed"},
      {"TheAuthorityItself", ca, ca, Role::kDevice, kNow, "its subject has no role (OU), one required"},
      {"SignedByADevice", device, DeviceCertificate(ours, Order(9)), Role::kDevice, kNow,
       "another authority than this farm's signed it"},
  };
}
TEST(Certificate, IsRefusedWithTheReason) {
  for (const RefusedCase& it : RefusedCases()) {
    SCOPED_TRACE(it.name);
    const Status status = VerifyCertificate(it.authority_pem, it.certificate_pem, it.role, it.now).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr(it.message));
  }
}

TEST(Certificate, IsInForceFromItsFirstSecondAndNoMoreAtItsEnd) {
  const KeyAndCertificate authority = Authority(kNow - 10 * kDay);
  const std::string pem = DeviceCertificate(authority);
  const auto verify = [&](int64_t now) {
    return VerifyCertificate(authority.certificate_pem, pem, Role::kDevice, now).ok();
  };
  EXPECT_FALSE(verify(kNow - kDay - kSecond));
  EXPECT_TRUE(verify(kNow - kDay));
  EXPECT_TRUE(verify(kNow + 90 * kDay - kSecond));
  EXPECT_FALSE(verify(kNow + 90 * kDay));
}

TEST(Certificate, OfAChangedByteIsNeverGood) {
  const KeyAndCertificate authority = Authority();
  const std::string pem = DeviceCertificate(authority);
  const size_t begin = pem.find('\n') + 1, end = pem.rfind("\n-----END");
  const SeedRange seeds = SeedsToTry(300);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    SCOPED_TRACE("LATHE_SEED=" + std::to_string(seed));
    Random random(seed);
    std::string changed = pem;
    const size_t at = begin + random.Below(end - begin);
    if (changed[at] == '\n' || changed[at] == '=') continue;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    const Status status = VerifyCertificate(authority.certificate_pem, changed, Role::kDevice, kNow).status();
    // Base 64 has bits at its end that say nothing.
    if (status.ok()) {
      EXPECT_EQ(*CertificateDigest(changed), *CertificateDigest(pem)) << changed;
    }
  }
}

struct HostileCase {
  const char* name;
  std::string text;
  const char* message;
};
std::vector<HostileCase> HostileTexts(const std::string& good, const std::string& kind) {
  const std::string encrypted =
      "-----BEGIN " + kind +
      "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n";
  return {{"Empty", "", "0 blocks of PEM, one required"},
          {"Huge", good + std::string(1 << 20, 'x'), "at most 16384 allowed"},
          {"Truncated", good.substr(0, good.size() / 2), "cut off or changed"},
          {"Two", good + good, "2 blocks of PEM, one required"},
          {"Zeros", std::string(100, '\0'), "0 blocks of PEM"},
          {"NotBase64", "-----BEGIN " + kind + "-----\n!!!!\n-----END " + kind + "-----\n", "cut off or changed"},
          {"NotDer", "-----BEGIN " + kind + "-----\nAAAA\n-----END " + kind + "-----\n", "cut off or changed"},
          {"Encrypted", encrypted + good.substr(good.find('\n') + 1), "cut off or changed"},
          {"AnotherKind", "-----BEGIN DH PARAMETERS-----\nAAAA\n-----END DH PARAMETERS-----\n",
           "another kind of PEM block"}};
}
TEST(Certificate, HostileTextsAreRefused) {
  const std::string certificate = DeviceCertificate(Authority());
  for (const HostileCase& it : HostileTexts(certificate, "CERTIFICATE")) {
    SCOPED_TRACE(it.name);
    EXPECT_EQ(ReadCertificate(it.text).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(ReadCertificate(it.text).status().message(), HasSubstr(it.message));
  }
  const std::string request = MakeSigningRequest({Role::kDevice, "a"})->request_pem;
  for (const HostileCase& it : HostileTexts(request, "CERTIFICATE REQUEST")) {
    SCOPED_TRACE(it.name);
    EXPECT_EQ(ReadSigningRequest(it.text).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(ReadSigningRequest(it.text).status().message(), HasSubstr(it.message));
  }
}

// A request that nothing of ours would make.
std::string ForeignRequest(EVP_PKEY* key, EVP_PKEY* signer,
                           std::initializer_list<std::pair<const char*, std::string>> subject) {
  X509_REQ* request = X509_REQ_new();
  for (const auto& [field, text] : subject) {
    X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()), -1,
                               0);
  }
  X509_REQ_set_pubkey(request, key);
  X509_REQ_sign(request, signer, EVP_sha256());
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509_REQ(bio, request);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  const std::string pem(bytes, static_cast<size_t>(size));
  BIO_free(bio);
  X509_REQ_free(request);
  return pem;
}

struct ForeignKeys {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  EVP_PKEY* other = EVP_EC_gen("P-256");
  EVP_PKEY* rsa = EVP_RSA_gen(2048);
  EVP_PKEY* wide = EVP_EC_gen("P-384");
  ~ForeignKeys() {
    for (EVP_PKEY* each : {key, other, rsa, wide}) EVP_PKEY_free(each);
  }
};

TEST(SigningRequest, IsRefusedWithTheReason) {
  const ForeignKeys keys;
  const auto refusal = [](const std::string& pem) { return ReadSigningRequest(pem).status().message(); };
  EXPECT_THAT(refusal(ForeignRequest(keys.key, keys.other, {{"OU", "device"}, {"CN", "a"}})),
              HasSubstr("its signature is not that of its key"));
  for (EVP_PKEY* key : {keys.rsa, keys.wide})
    EXPECT_THAT(refusal(ForeignRequest(key, key, {{"OU", "device"}, {"CN", "a"}})),
                HasSubstr("its key is not one of P-256"));
  const auto of = [&](std::initializer_list<std::pair<const char*, std::string>> subject) {
    return refusal(ForeignRequest(keys.key, keys.key, subject));
  };
  EXPECT_THAT(of({{"CN", "a"}}), HasSubstr("its subject has no role (OU), one required"));
  EXPECT_THAT(of({{"OU", "device"}}), HasSubstr("its subject has no name (CN), one required"));
  EXPECT_THAT(of({{"OU", "device"}, {"CN", "a"}, {"CN", "b"}}), HasSubstr("more than one name (CN), one required"));
  EXPECT_THAT(of({{"OU", "device"}, {"OU", "worker"}, {"CN", "a"}}), HasSubstr("more than one role (OU)"));
  EXPECT_THAT(of({{"OU", "admin"}, {"CN", "a"}}), HasSubstr("the role \"admin\" has no certificates"));
  EXPECT_THAT(of({{"OU", "root\n"}, {"CN", "a"}}), HasSubstr("the role \"root?\" has no certificates"));
  for (const std::string& name :
       {std::string("Rpi"), std::string("a/b"), std::string("a\0b", 3), std::string("\xc3\xa9")})
    EXPECT_THAT(of({{"OU", "device"}, {"CN", name}}), HasSubstr("is not [a-z0-9._-]{1,64}; choose another")) << name;
  EXPECT_EQ(of({{"OU", "device"}, {"CN", "a"}}), "");
}

TEST(SigningRequest, IsMadeForMachinesWithProperNamesOnly) {
  const auto refusal = [](Role role, const std::string& name) {
    return MakeSigningRequest({role, name}).status().message();
  };
  EXPECT_THAT(refusal(Role::kAdmin, "a"),
              HasSubstr("the role \"admin\" has no certificates; device, worker and server"));
  EXPECT_THAT(refusal(Role::kDevice, ""), HasSubstr("the name \"\" is not [a-z0-9._-]{1,64}; choose another"));
  EXPECT_THAT(refusal(Role::kDevice, std::string(65, 'a')), HasSubstr("is not [a-z0-9._-]{1,64}"));
}

TEST(Certificate, OfAServerNamesItsHosts) {
  const KeyAndCertificate authority = Authority();
  const auto refusal = [&](Role role, std::vector<std::string> hosts) {
    CertificateOrder order = Order();
    order.hosts = std::move(hosts);
    return SignCertificate(authority, MakeSigningRequest({role, "a"})->request_pem, order).status().message();
  };
  CertificateOrder good = Order();
  good.hosts = {"farm.example", "10.0.0.1", "fe80::1"};
  EXPECT_EQ(ReadCertificate(Certify(authority, {Role::kServer, "a"}, good))->hosts, good.hosts);
  EXPECT_THAT(refusal(Role::kServer, {}), HasSubstr("0 host names for a server; give at least one"));
  EXPECT_THAT(refusal(Role::kDevice, {"a"}), HasSubstr("1 host names for a device; only a server has some"));
  for (const std::string& host : {std::string(""), std::string("a:80"), std::string("a..b"), std::string("*.a"),
                                  std::string(".a"), std::string("a."), std::string("a,IP:1"), std::string(64, 'a')})
    EXPECT_THAT(refusal(Role::kServer, {host}), HasSubstr("neither a host's name nor an IP address")) << host;
}

TEST(Certificate, IsNotSignedWithTheKeyOfAnother) {
  const KeyAndCertificate authority = Authority(), other = Authority();
  const std::string request = MakeSigningRequest({Role::kDevice, "a"})->request_pem;
  EXPECT_THAT(SignCertificate({other.key_pem, authority.certificate_pem}, request, Order()).status().message(),
              HasSubstr("it is not that of the certificate; use the two of one folder"));
  CertificateOrder backwards = Order();
  std::swap(backwards.validity.not_before_unix_ns, backwards.validity.not_after_unix_ns);
  EXPECT_THAT(SignCertificate(authority, request, backwards).status().message(),
              HasSubstr("an end after the begin required"));
}

}  // namespace
}  // namespace lathe
