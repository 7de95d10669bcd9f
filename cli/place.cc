#include "cli/place.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace lathe {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

void AddPlaceFlags(CLI::App& app, Place& place) {
  CLI::Option* server = app.add_option("--server", place.server, "a server: HOST:PORT (loopback) or unix:PATH");
  app.add_option("--db", place.database, "the database file; default: $LATHE_DB, else lathe/lathe.db in the user's data folder")->excludes(server);
}

std::string DatabasePath(const Place& place) {
  if (!place.database.empty()) return place.database;
  if (const std::string path = Environment("LATHE_DB"); !path.empty()) return path;
  const std::string data = Environment("XDG_DATA_HOME");
  return (data.empty() ? Environment("HOME") + "/.local/share" : data) + "/lathe/lathe.db";
}

StatusOr<Endpoint> OwnerEndpoint(const std::string& database) { return ParseEndpoint("unix:" + database + ".sock"); }

}  // namespace lathe
