// Where a verb finds the farm: a server, or a database file. The same flags on every verb.
#pragma once

#include <memory>
#include <string>

#include "rpc/endpoint.h"
#include "support/status.h"
#include "tuner/service/client.h"

namespace CLI {
class App;
}

namespace lathe {

struct Place {
  std::string server;    // --server; empty: none.
  std::string database;  // --db; empty: DefaultDatabase.
  std::string
      token_file;  // --token-file; empty: $LATHE_TOKEN, if it is set. A token, then the authority's certificate.
};

// --server HOST:PORT|unix:PATH, --token-file FILE and --db FILE.
void AddPlaceFlags(CLI::App& app, Place& place);
// To the server that is named, which is not asked yet, with the token that the user has: a token never stands on a
// command line, where others see it.
StatusOr<std::unique_ptr<ServerConnection>> ConnectTo(const Place& place);
// The certificate of the farm's authority, in PEM: beside the database, or as the user knows the server by; empty:
// none.
StatusOr<std::string> AuthorityAt(const Place& place);
// Where the owner of a database listens: FILE.sock.
StatusOr<Endpoint> OwnerEndpoint(const std::string& database);

}  // namespace lathe
