// Where a verb finds the farm: a server, or a database file. The same flags on every verb.
#pragma once

#include <string>

#include "rpc/endpoint.h"
#include "support/status.h"

namespace CLI {
class App;
}

namespace lathe {

struct Place {
  std::string server;    // --server; empty: none.
  std::string database;  // --db; empty: DefaultDatabase.
};

// --server HOST:PORT|unix:PATH and --db FILE.
void AddPlaceFlags(CLI::App& app, Place& place);
// Where the owner of a database listens: FILE.sock.
StatusOr<Endpoint> OwnerEndpoint(const std::string& database);

}  // namespace lathe
