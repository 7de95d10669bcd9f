// Settings that both ends of a connection share. For the gRPC shells only.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tuner/service/client.h"

namespace grpc {
class Channel;
}

namespace lathe {

inline constexpr auto kKeepaliveInterval =
    std::chrono::seconds(20);  // Both ends ping; a server accepts pings twice as often.
inline constexpr auto kKeepaliveTimeout = std::chrono::seconds(10);

// gRPC's own log lines go nowhere: whatever matters comes back as a status. GRPC_VERBOSITY brings them back.
void QuietGrpc();
// Connects when first used. Over TCP with an authority: encrypted, to a server of that authority under whatever
// address.
std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& server, const ConnectionSecurity& security);

}  // namespace lathe
