// A farm's authority, and the server's own certificate, as they lie beside its database (docs/formats/files.md):
//   FILE.ca/authority.pem   the authority's certificate, for everybody
//   FILE.ca/authority.key   its key: whoever has it is the farm. Mode 0600, as the folder is 0700
//   FILE.ca/server.pem      the server's key and certificate. Mode 0600
#pragma once

#include <string>
#include <vector>

#include "support/certificate.h"
#include "support/clock.h"

namespace lathe {

inline constexpr Duration kAuthorityLife = std::chrono::hours(24 * 3650);
inline constexpr Duration kCertificateLife = std::chrono::hours(24 * 90);  // Of a server, device or worker.
// Certificates begin so long before they are signed: clocks of boards differ.
inline constexpr Duration kClockSlack = std::chrono::hours(1);

// By this name clients know a server, wherever they find it: the authority signs it for nobody else.
inline constexpr char kServerHost[] = "server.lathe";

struct Authority {
  KeyAndCertificate authority, server;
};

CertificateSerial DrawSerial();  // For the next certificate.

std::string AuthorityFolder(const std::string& database);
bool HasAuthority(const std::string& database);

// Makes all three files, or none. `hosts`: what clients, workers and devices call the server by, DNS names and IP
// addresses; this machine's loopback addresses and kServerHost are added. kAlreadyExists: a second authority would shut
// out everybody whom the first one let in.
StatusOr<Authority> MakeAuthorityBeside(const std::string& database, const std::vector<std::string>& hosts,
                                        int64_t now_unix_ns);
// kNotFound says how to make one; kPermissionDenied if others can read its keys.
StatusOr<Authority> ReadAuthorityBeside(const std::string& database);

// A new key and certificate for the server, for the hosts that the present one has, in force from now on; written over
// that one, whole.
StatusOr<KeyAndCertificate> RenewServerCertificate(const std::string& database, const Authority& authority,
                                                   int64_t now_unix_ns);

// The validity of what is signed at a time. No certificate outlives its authority.
StatusOr<Validity> ValidityFrom(int64_t now_unix_ns, const Authority& authority);

}  // namespace lathe
