#include "tuner/service/authority.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/credential.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kOwnHosts[] = {kServerHost, "localhost", "127.0.0.1", "::1"};
constexpr std::string_view kCertificateBegin = "-----BEGIN CERTIFICATE-----";

std::string CertificatePath(const std::string& folder) { return folder + "/authority.pem"; }
std::string KeyPath(const std::string& folder) { return folder + "/authority.key"; }
std::string ServerPath(const std::string& folder) { return folder + "/server.pem"; }

// Key and certificate in one file, so that they change together.
StatusOr<KeyAndCertificate> ReadServer(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(ServerPath(folder)));
  const size_t at = std::min(text.find(kCertificateBegin), text.size());
  return KeyAndCertificate{text.substr(0, at), text.substr(at)};
}

Status WriteServer(const std::string& folder, const KeyAndCertificate& server) {
  return WriteSecretFile(ServerPath(folder), server.key_pem + server.certificate_pem);
}

StatusOr<Validity> ValidityWithin(const Validity& outer, int64_t now_unix_ns) {
  const Validity validity{std::max(now_unix_ns - Duration(kClockSlack).count(), outer.not_before_unix_ns),
                          std::min(now_unix_ns + Duration(kCertificateLife).count(), outer.not_after_unix_ns)};
  if (validity.not_before_unix_ns < validity.not_after_unix_ns && now_unix_ns < outer.not_after_unix_ns)
    return validity;
  return FailedPrecondition(
      "sign certificate: the authority is not in force now; set the clock, or make a new authority with `lathe ca "
      "init`");
}

StatusOr<KeyAndCertificate> MakeServer(const KeyAndCertificate& authority, const std::vector<std::string>& hosts,
                                       const Validity& validity) {
  ASSIGN_OR_RETURN(const KeyAndRequest asked, MakeSigningRequest({Role::kServer, "server"}));
  ASSIGN_OR_RETURN(std::string certificate,
                   SignCertificate(authority, asked.request_pem, {DrawSerial(), validity, hosts}));
  return KeyAndCertificate{asked.key_pem, std::move(certificate)};
}

std::vector<std::string> WithOwnHosts(std::vector<std::string> hosts) {
  for (const char* host : kOwnHosts)
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.emplace_back(host);
  return hosts;
}

Status WriteAll(const std::string& folder, const Authority& made) {
  RETURN_IF_ERROR(WriteSecretFile(CertificatePath(folder), made.authority.certificate_pem));
  RETURN_IF_ERROR(WriteSecretFile(KeyPath(folder), made.authority.key_pem));
  return WriteServer(folder, made.server);
}

Status AlreadyThere(const std::string& folder) {
  return AlreadyExists(fmt::format(
      "make authority {}: there is one, and whoever joined would be shut out by another; `lathe ca show` says which, "
      "and removing the folder by hand starts anew",
      folder));
}

// Whole under its name, or not there: it is written aside, and rename refuses a folder that is there and not empty.
Status WriteFolder(const std::string& folder, const Authority& made) {
  const std::string part = folder + ".part";
  std::error_code ignored;
  std::filesystem::remove_all(part, ignored);  // Of somebody who was killed.
  if (mkdir(part.c_str(), 0700) != 0)
    return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kPermissionDenied,
                  fmt::format("make authority {}: {}; name a database in a folder that can be written", folder,
                              std::strerror(errno)));
  Status status = WriteAll(part, made);
  if (status.ok() && std::rename(part.c_str(), folder.c_str()) != 0) status = AlreadyThere(folder);
  if (!status.ok()) std::filesystem::remove_all(part, ignored);
  if (!status.ok() || SyncFolderOf(folder)) return status;
  return Unavailable(fmt::format("make authority {}: it is made, and may be lost with the power: {}; `sync` keeps it",
                                 folder, std::strerror(errno)));
}

}  // namespace

CertificateSerial DrawSerial() {
  CertificateSerial serial{DrawSecret<16>()};
  serial.bytes[0] |= 1;  // Not zero.
  return serial;
}

std::string AuthorityFolder(const std::string& database) { return database + ".ca"; }

bool HasAuthority(const std::string& database) {
  std::error_code ignored;
  return std::filesystem::exists(AuthorityFolder(database), ignored);
}

StatusOr<Authority> MakeAuthorityBeside(const std::string& database, const std::vector<std::string>& hosts,
                                        int64_t now_unix_ns) {
  const std::string folder = AuthorityFolder(database);
  if (HasAuthority(database)) return AlreadyThere(folder);
  const Validity life{now_unix_ns - Duration(kClockSlack).count(), now_unix_ns + Duration(kAuthorityLife).count()};
  Authority made;
  ASSIGN_OR_RETURN(made.authority, MakeAuthority("farm", DrawSerial(), life));
  ASSIGN_OR_RETURN(const Validity validity, ValidityWithin(life, now_unix_ns));
  ASSIGN_OR_RETURN(made.server, MakeServer(made.authority, WithOwnHosts(hosts), validity));
  RETURN_IF_ERROR(WriteFolder(folder, made));
  return made;
}

StatusOr<Authority> ReadAuthorityBeside(const std::string& database) {
  const std::string folder = AuthorityFolder(database);
  if (!HasAuthority(database)) {
    return NotFound(fmt::format(
        "read authority {}: there is none; make one beside the database: `lathe ca init --host NAME`", folder));
  }
  Authority read;
  ASSIGN_OR_RETURN(read.authority.certificate_pem, ReadWholeFile(CertificatePath(folder)));
  ASSIGN_OR_RETURN(read.authority.key_pem, ReadSecretFile(KeyPath(folder)));
  ASSIGN_OR_RETURN(read.server, ReadServer(folder));
  RETURN_IF_ERROR(CheckKeyPair(read.authority).WithContext("read authority " + folder));
  RETURN_IF_ERROR(CheckKeyPair(read.server).WithContext("read authority " + folder));
  return read;
}

StatusOr<KeyAndCertificate> RenewServerCertificate(const std::string& database, const Authority& authority,
                                                   int64_t now_unix_ns) {
  ASSIGN_OR_RETURN(const CertificateFacts present, ReadCertificate(authority.server.certificate_pem));
  ASSIGN_OR_RETURN(const Validity validity, ValidityFrom(now_unix_ns, authority));
  ASSIGN_OR_RETURN(KeyAndCertificate server, MakeServer(authority.authority, present.hosts, validity));
  RETURN_IF_ERROR(WriteServer(AuthorityFolder(database), server));
  return server;
}

StatusOr<Validity> ValidityFrom(int64_t now_unix_ns, const Authority& authority) {
  ASSIGN_OR_RETURN(const Validity life, CertificateValidity(authority.authority.certificate_pem));
  return ValidityWithin(life, now_unix_ns);
}

}  // namespace lathe
