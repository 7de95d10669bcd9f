// Where to listen or to dial: "HOST:PORT" or "unix:PATH".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/status.h"

namespace lathe {

struct Endpoint {
  std::string unix_path;         // Absolute or relative; empty for TCP.
  std::string host;              // An address in numbers or a name; empty for a Unix socket.
  uint16_t port = 0;             // 0: any free one, for listening only.
  std::string ToString() const;  // In the form that ParseEndpoint reads.
  bool operator==(const Endpoint&) const = default;
};

// "localhost" becomes 127.0.0.1; an IPv6 address stands in brackets. InvalidArgument says what is wrong and what to
// use.
StatusOr<Endpoint> ParseEndpoint(std::string_view text);

// That what goes there stays on this machine: a Unix socket, 127.x.y.z or ::1. Else neither who is there nor what is
// said would be known without TLS, and a device runs the code it is sent: InvalidArgument, with how to set it up.
Status CheckOpenEndpoint(const Endpoint& endpoint);

}  // namespace lathe
