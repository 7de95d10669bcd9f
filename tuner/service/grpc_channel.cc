#include "tuner/service/grpc_channel.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>

#include "tuner/service/api.h"
#include "tuner/service/authority.h"
#include "tuner/service/tls_credentials.h"

namespace lathe {

void QuietGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
}

std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& server, const ConnectionSecurity& security) {
  QuietGrpc();
  const auto milliseconds = [](auto duration) { return static_cast<int>(std::chrono::milliseconds(duration).count()); };
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(kKeepaliveInterval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(kKeepaliveTimeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);  // A restarted server is found soon.
  // gRPC gives up an attempt to connect after this time, however short: a server on a busy machine is there, but slow
  // to shake hands.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // Farms are not on the other side of one.
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  if (security.authority_pem.empty() || !server.unix_path.empty())
    return grpc::CreateCustomChannel(server.ToString(), grpc::InsecureChannelCredentials(), arguments);
  arguments.SetSslTargetNameOverride(kServerHost);
  return grpc::CreateCustomChannel(server.ToString(), ChannelCredentials(security), arguments);
}

}  // namespace lathe
