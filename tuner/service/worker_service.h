// WorkerService on the wire: how remote workers reach a WorkerHost. For the gRPC shells only.
#pragma once

#include "proto/lathe/v1/worker.grpc.pb.h"
#include "tuner/service/unary_call.h"
#include "tuner/service/worker_host.h"

namespace lathe {

inline constexpr int64_t kMaxArtifactBytes = int64_t{256} << 20;

class WorkerService : public v1::WorkerService::CallbackService {
 public:
  WorkerService(WorkerHost& host, const ServiceParts& parts) : host_(host), parts_(parts) {}

  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context, const v1::SynchronizeRequest* request,
                                        v1::SynchronizeResponse* response) override;
  grpc::ServerReadReactor<v1::StoreArtifactChunk>* StoreArtifact(grpc::CallbackServerContext* context,
                                                                 v1::StoreArtifactResponse* response) override;

 private:
  Status MaySpeak(const StatusOr<Principal>& principal, const grpc::CallbackServerContext& context,
                  const std::string& name);

  WorkerHost& host_;
  const ServiceParts& parts_;
};

}  // namespace lathe
