// A connection to a server. No gRPC type here: whoever includes this compiles fast.
#pragma once

#include <memory>
#include <string>

#include "rpc/endpoint.h"
#include "support/clock.h"
#include "tuner/service/api.h"
#include "tuner/worker/worker_channel.h"

namespace lathe {

// How what is said beyond this machine is kept from others.
struct ConnectionSecurity {
  std::string authority_pem;  // Of the farm; empty: nothing is encrypted, so the server must be on this machine.
  std::string identity_path;  // Of a machine that has joined (rpc/machine_identity.h), which is looked at every ten
                              // seconds, since it is renewed; people have tokens.
};

struct ServerConnectionOptions {
  Duration deadline = std::chrono::seconds(30);  // Of each call; a worker's waiting comes on top.
  Duration patience = std::chrono::seconds(60);  // So long WatchJob tries to resume after the connection was lost.
  std::string token;                             // Says who calls, in the text form of credential.h; empty: nobody.
  ConnectionSecurity security = {};              // For TCP; Unix sockets are as they are.
};

// Thread-safe. Every call has a deadline; kUnavailable says that nobody answers, kDeadlineExceeded that somebody was
// too slow.
class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  virtual TuningApi& tuning() = 0;
  virtual ScheduleApi& schedules() = 0;
  virtual FarmApi& farm() = 0;
  virtual IdentityApi& identity() = 0;
  virtual WorkerChannel& workers() = 0;
  // Waits until the server has answered, at most `limit`.
  virtual Status Connect(Duration limit) = 0;
};

// Connects when first used. Every call to a server beyond this machine fails, with what to do, where `security` names
// no authority.
std::unique_ptr<ServerConnection> ConnectToServer(const Endpoint& server, ServerConnectionOptions options = {});

}  // namespace lathe
