#include "tuner/service/server.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>

#include "tuner/service/farm_service.h"
#include "tuner/service/grpc_channel.h"
#include "tuner/service/identity_service.h"
#include "tuner/service/listener.h"
#include "tuner/service/schedule_service.h"
#include "tuner/service/tls_credentials.h"
#include "tuner/service/tuning_service.h"
#include "tuner/service/worker_service.h"

namespace lathe {
namespace {

constexpr size_t kCallThreads = 8;
constexpr auto kHandshakeLimit = std::chrono::seconds(10);  // Whoever connects and says nothing.
constexpr int kMaxStreams = 100;
constexpr size_t kMaxBufferedBytes = 512 << 20;  // Whoever asks, known or not.
constexpr auto kMaxConnectionAge = std::chrono::hours(1);

void SetArguments(grpc::ServerBuilder& builder) {
  const auto milliseconds = [](auto duration) { return static_cast<int>(std::chrono::milliseconds(duration).count()); };
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(kKeepaliveInterval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             milliseconds(kKeepaliveInterval / 2));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, milliseconds(kMaxConnectionAge));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, milliseconds(kMaxConnectionAge));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);  // Of one connection.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds(kHandshakeLimit));
  builder.SetResourceQuota(grpc::ResourceQuota("lathe").Resize(kMaxBufferedBytes));
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
}

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const Endpoint& endpoint, const std::string& folder) {
  const bool is_open = folder.empty() || !endpoint.unix_path.empty();
  return is_open ? grpc::InsecureServerCredentials() : ServerCredentials(folder);
}

void EnableHealthAndReflection() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

}  // namespace

struct ServiceServer::Shell {
  Shell(CoreApi& api, const ServiceServerOptions& options)
      : guard(api.store(), options.requires_identity),
        parts{api, guard, calls},
        tuning(parts),
        schedules(parts),
        farm(parts),
        identity(parts),
        workers(options.workers == nullptr ? nullptr : std::make_unique<WorkerService>(*options.workers, parts)) {}
  CallGuard guard;
  CallPool calls{kCallThreads};
  const ServiceParts parts;
  TuningService tuning;
  ScheduleService schedules;
  FarmService farm;
  IdentityService identity;
  std::unique_ptr<WorkerService> workers;
  std::unique_ptr<grpc::Server> server;
  // Each hands its connections to the acceptor of its place; they end before the server does.
  std::vector<std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>> acceptors;
  std::vector<std::unique_ptr<Listener>> listeners;

  void Accept(const Listener::Log& log) {
    for (size_t i = 0; i < listeners.size(); ++i) {
      listeners[i]->Start(
          [acceptor = acceptors[i].get()](int socket) {
            grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
            connection.fd = socket;
            acceptor->HandleNewConnection(&connection);
          },
          log);
    }
  }
};

ServiceServer::ServiceServer() = default;

StatusOr<std::unique_ptr<ServiceServer>> ServiceServer::Start(ServiceServerOptions options, CoreApi& api) {
  QuietGrpc();
  EnableHealthAndReflection();
  std::unique_ptr<ServiceServer> result(new ServiceServer);
  result->shell_ = std::make_unique<Shell>(api, options);
  Shell& shell = *result->shell_;
  grpc::ServerBuilder builder;
  SetArguments(builder);
  for (const Endpoint& endpoint : options.listen) {
    if (options.authority_folder.empty()) RETURN_IF_ERROR(CheckOpenEndpoint(endpoint));
    ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, Listener::Open(endpoint));
    result->endpoints_.push_back(listener->endpoint());
    shell.listeners.push_back(std::move(listener));
    shell.acceptors.push_back(builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        CredentialsOf(endpoint, options.authority_folder)));
  }
  builder.RegisterService(&shell.tuning);
  builder.RegisterService(&shell.schedules);
  builder.RegisterService(&shell.farm);
  builder.RegisterService(&shell.identity);
  if (shell.workers != nullptr) builder.RegisterService(shell.workers.get());
  shell.server = builder.BuildAndStart();
  if (shell.server == nullptr) return InternalError("start server: gRPC gave no reason");
  shell.Accept(options.log);
  shell.server->GetHealthCheckService()->SetServingStatus(true);
  return result;
}

void ServiceServer::Stop(Duration grace) {
  if (shell_ == nullptr || shell_->server == nullptr) return;
  shell_->listeners.clear();
  shell_->server->GetHealthCheckService()->SetServingStatus(false);
  shell_->server->Shutdown(std::chrono::system_clock::now() +
                           std::chrono::duration_cast<std::chrono::system_clock::duration>(grace));
  shell_->server->Wait();
  shell_.reset();
}

ServiceServer::~ServiceServer() { Stop(std::chrono::seconds(1)); }

}  // namespace lathe
