#include "cli/place.h"

#include <CLI/CLI.hpp>

namespace lathe {

void AddPlaceFlags(CLI::App& app, Place& place) {
  CLI::Option* server = app.add_option("--server", place.server, "a server: HOST:PORT (loopback) or unix:PATH");
  app.add_option("--db", place.database,
                 "the database file; default: $LATHE_DB, else lathe/lathe.db in the user's data folder")
      ->excludes(server);
}

StatusOr<Endpoint> OwnerEndpoint(const std::string& database) { return ParseEndpoint("unix:" + database + ".sock"); }

}  // namespace lathe
