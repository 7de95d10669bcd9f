// The certificates of a farm: one authority, and what it signs for its server, devices and workers. X.509 version 3,
// ECDSA on P-256 with SHA-256; texts are PEM.
//
// Functions of their arguments, but for the keys that are drawn: time and serial numbers come from the caller. Times
// are Unix nanoseconds; certificates keep whole seconds, so they are rounded down. Any thread. A text from a stranger
// may be anything: it is refused with kInvalidArgument, and never costs more than a few signatures.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest.h"
#include "support/role.h"
#include "support/status.h"

namespace lathe {

// Names one certificate of an authority. Drawn at random; not zero.
struct CertificateSerial {
  std::array<uint8_t, 16> bytes{};
  std::string ToHex() const;  // 32 lower-case digits.
  static StatusOr<CertificateSerial> FromHex(std::string_view hex);
  static StatusOr<CertificateSerial> FromBytes(std::string_view raw);  // Exactly 16.
  std::string_view raw() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  auto operator<=>(const CertificateSerial&) const = default;
};

struct CertificateSubject {
  Role role = Role::kDevice;  // kDevice, kWorker or kServer.
  std::string name;           // IsFarmName.
  bool operator==(const CertificateSubject&) const = default;
};

// From the first of its seconds on; over with the last.
struct Validity {
  int64_t not_before_unix_ns = 0, not_after_unix_ns = 0;
  bool operator==(const Validity&) const = default;
};

// The key (PKCS #8, not encrypted) is a secret: it is written by WriteSecretFile (file.h) and sent to nobody.
struct KeyAndCertificate {
  std::string key_pem, certificate_pem;
};
struct KeyAndRequest {
  std::string key_pem, request_pem;
};

// A new authority, which may sign for machines and for no further authority. `name` is for people; IsFarmName.
StatusOr<KeyAndCertificate> MakeAuthority(std::string_view name, const CertificateSerial& serial,
                                          const Validity& validity);

// A new key, and the request to sign it for `subject`.
StatusOr<KeyAndRequest> MakeSigningRequest(const CertificateSubject& subject);
// What a request asks for, once its signature and its key (P-256) were found good. Nothing else in it is of use.
StatusOr<CertificateSubject> ReadSigningRequest(std::string_view request_pem);

struct CertificateOrder {
  CertificateSerial serial;
  Validity validity;
  std::vector<std::string> hosts;  // Of a server, at least one: DNS names and IP addresses. Of others, none.
};
// The certificate for what the request asks for: whether it may be asked for is the caller's to know.
StatusOr<std::string> SignCertificate(const KeyAndCertificate& authority, std::string_view request_pem,
                                      const CertificateOrder& order);

struct CertificateFacts {
  CertificateSubject subject;
  CertificateSerial serial;
  Validity validity;
  std::vector<std::string> hosts;  // Of a server: as they were ordered.
  bool operator==(const CertificateFacts&) const = default;
};
// What a certificate says, believed by nobody yet.
StatusOr<CertificateFacts> ReadCertificate(std::string_view certificate_pem);

// The same, where the authority has signed it, it is in force at `now` and is one of `role`. kUnauthenticated says what
// is wrong and what to do. Whether it was revoked says the Store.
StatusOr<CertificateFacts> VerifyCertificate(std::string_view authority_pem, std::string_view certificate_pem,
                                             Role role, int64_t now_unix_ns);

// From when to when any certificate is in force, an authority's too.
StatusOr<Validity> CertificateValidity(std::string_view certificate_pem);

// kInvalidArgument unless the key is that of the certificate.
Status CheckKeyPair(const KeyAndCertificate& pair);

// SHA-256 of a certificate (of its DER form): what an invitation's code says of the authority.
StatusOr<Digest> CertificateDigest(std::string_view certificate_pem);

}  // namespace lathe
