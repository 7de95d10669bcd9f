#include "cli/place.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/database_path.h"
#include "support/credential.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/service/authority.h"

namespace lathe {

void AddPlaceFlags(CLI::App& app, Place& place) {
  CLI::Option* server = app.add_option("--server", place.server, "a server: HOST:PORT or unix:PATH");
  app.add_option("--token-file", place.token_file,
                 "says to the server who you are: what `lathe token create` printed, in a file of mode 0600; default: "
                 "$LATHE_TOKEN")
      ->needs(server);
  app.add_option("--db", place.database,
                 "the database file; default: $LATHE_DB, else lathe/lathe.db in the user's data folder")
      ->excludes(server);
}

namespace {

// What `lathe token create` printed.
struct UserCredentials {
  std::string token, authority_pem;
};

// Empty: the user has none.
StatusOr<UserCredentials> CredentialsOf(const Place& place) {
  const char* variable = std::getenv("LATHE_TOKEN");
  if (place.token_file.empty() && variable == nullptr) return UserCredentials{};
  std::string text = place.token_file.empty() ? variable : "";
  if (!place.token_file.empty()) {
    ASSIGN_OR_RETURN(text, ReadSecretFile(place.token_file));
  }
  const size_t certificate = std::min(text.find("-----BEGIN CERTIFICATE-----"), text.size());
  const StatusOr<AccessToken> token = ParseToken(text.substr(0, certificate));
  if (!token.ok()) return token.status().WithContext(place.token_file.empty() ? "$LATHE_TOKEN" : place.token_file);
  UserCredentials user{FormatToken(*token), text.substr(certificate)};
  const Status status = user.authority_pem.empty() ? OkStatus() : CertificateDigest(user.authority_pem).status();
  if (!status.ok()) return status.WithContext("the certificate behind the token, which is to be copied whole");
  return user;
}

}  // namespace

StatusOr<std::unique_ptr<ServerConnection>> ConnectTo(const Place& place) {
  ASSIGN_OR_RETURN(const Endpoint server, ParseEndpoint(place.server));
  ASSIGN_OR_RETURN(UserCredentials user, CredentialsOf(place));
  if (user.authority_pem.empty() && !CheckOpenEndpoint(server).ok())
    return Unauthenticated(
        fmt::format("connect to {}: a server on another machine wants to know who asks, and is known by its farm's "
                    "certificate; give "
                    "both by --token-file or $LATHE_TOKEN: `lathe token create` beside the server prints them",
                    server.ToString()));
  return ConnectToServer(server, {.token = std::move(user.token), .security = {std::move(user.authority_pem), ""}});
}

StatusOr<std::string> AuthorityAt(const Place& place) {
  if (!place.server.empty()) {
    ASSIGN_OR_RETURN(UserCredentials user, CredentialsOf(place));
    return std::move(user.authority_pem);
  }
  const std::string database = AbsolutePath(DatabasePath(place.database));
  if (!HasAuthority(database)) return std::string();
  ASSIGN_OR_RETURN(const Authority authority, ReadAuthorityBeside(database));
  return authority.authority.certificate_pem;
}

StatusOr<Endpoint> OwnerEndpoint(const std::string& database) { return ParseEndpoint("unix:" + database + ".sock"); }

}  // namespace lathe
