#include "cli/place.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "support/credential.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {

void AddPlaceFlags(CLI::App& app, Place& place) {
  CLI::Option* server = app.add_option("--server", place.server, "a server: HOST:PORT (loopback) or unix:PATH");
  app.add_option("--token-file", place.token_file,
                 "says to the server who you are: what `lathe token create` printed, in a file of mode 0600; default: "
                 "$LATHE_TOKEN")
      ->needs(server);
  app.add_option("--db", place.database,
                 "the database file; default: $LATHE_DB, else lathe/lathe.db in the user's data folder")
      ->excludes(server);
}

namespace {

// In its text form; empty: the user has none.
StatusOr<std::string> UserToken(const Place& place) {
  const char* variable = std::getenv("LATHE_TOKEN");
  if (place.token_file.empty() && variable == nullptr) return std::string();
  std::string text = place.token_file.empty() ? variable : "";
  if (!place.token_file.empty()) {
    ASSIGN_OR_RETURN(text, ReadSecretFile(place.token_file));
  }
  const StatusOr<AccessToken> token = ParseToken(text);
  if (!token.ok()) return token.status().WithContext(place.token_file.empty() ? "$LATHE_TOKEN" : place.token_file);
  return FormatToken(*token);
}

}  // namespace

StatusOr<std::unique_ptr<ServerConnection>> ConnectTo(const Place& place) {
  ASSIGN_OR_RETURN(const Endpoint server, ParseEndpoint(place.server));
  ASSIGN_OR_RETURN(std::string token, UserToken(place));
  return ConnectToServer(server, {.token = std::move(token)});
}

StatusOr<Endpoint> OwnerEndpoint(const std::string& database) { return ParseEndpoint("unix:" + database + ".sock"); }

}  // namespace lathe
