// Listens at one place and hands over whoever connects. gRPC's own listeners end for good, without a word, at the first
// connection for which the process has no descriptor left (1.51); this one waits until there is one again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rpc/endpoint.h"
#include "support/status.h"

namespace lathe {

class Listener {
 public:
  // Both on the listener's own thread. The socket is the callee's.
  using TakeSocket = std::function<void(int socket)>;
  using Log = std::function<void(std::string)>;

  // Bound and listening; whoever connects waits for Start. A socket file at which nobody listens is replaced.
  // Unavailable if the place is taken or may not be had.
  static StatusOr<std::unique_ptr<Listener>> Open(const Endpoint& endpoint);
  // Hands over nobody any more, and removes its socket file.
  virtual ~Listener() = default;

  // Once only. `log` hears when connections have to wait, and why.
  virtual void Start(TakeSocket take, Log log) = 0;
  virtual const Endpoint& endpoint() const = 0;  // With the real port.
};

}  // namespace lathe
