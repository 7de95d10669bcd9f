#include "tuner/service/worker_service.h"

#include <fmt/format.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

// Takes in one artifact. Its size is bounded by what its first message says, and that by kMaxArtifactBytes.
class ArtifactReader : public grpc::ServerReadReactor<v1::StoreArtifactChunk> {
 public:
  ArtifactReader(WorkerHost& host, const ServiceParts& parts, const grpc::CallbackServerContext& context)
      : host_(host), pool_(parts.pool) {
    WhenAdmitted(parts.guard, parts.pool, context, "WorkerService/StoreArtifact",
                 [this](const StatusOr<Principal>& principal) {
                   if (!principal.ok()) return Finish(ToGrpcStatus(principal.status()));
                   StartRead(&chunk_);
                 });
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      pool_.Run([this] { Finish(ToGrpcStatus(Store())); });
      return;
    }
    const Status status = TakeIn();
    if (!status.ok()) return Finish(ToGrpcStatus(status));
    StartRead(&chunk_);
  }
  void OnCancel() override {}  // The read under way ends with ok = false.
  void OnDone() override { delete this; }

 private:
  Status TakeIn() {
    if (!has_header_) {
      has_header_ = true;
      ASSIGN_OR_RETURN(digest_, Digest::FromBytes(chunk_.digest()));
      size_ = chunk_.size();
      if (size_ < 0 || size_ > kMaxArtifactBytes) {
        return ResourceExhausted(
            fmt::format("store artifact {}: {} bytes, at most {} allowed", digest_.ToHex(), size_, kMaxArtifactBytes));
      }
    }
    if (static_cast<int64_t>(content_.size() + chunk_.data().size()) > size_) {
      return InvalidArgument(
          fmt::format("store artifact {}: more than the announced {} bytes came", digest_.ToHex(), size_));
    }
    content_ += chunk_.data();
    return OkStatus();
  }
  Status Store() {
    if (!has_header_) return InvalidArgument("store artifact: the stream is empty");
    if (static_cast<int64_t>(content_.size()) != size_) {
      return InvalidArgument(
          fmt::format("store artifact {}: {} of {} bytes came", digest_.ToHex(), content_.size(), size_));
    }
    if (Sha256(content_) != digest_)
      return DataLoss(fmt::format("store artifact {}: the content has another digest", digest_.ToHex()));
    return host_.StoreArtifact(digest_, content_);
  }

  WorkerHost& host_;
  CallPool& pool_;
  v1::StoreArtifactChunk chunk_;
  bool has_header_ = false;
  Digest digest_;
  int64_t size_ = 0;
  std::string content_;
};

}  // namespace

grpc::ServerUnaryReactor* WorkerService::Synchronize(grpc::CallbackServerContext* context,
                                                     const v1::SynchronizeRequest* request,
                                                     v1::SynchronizeResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  WhenAdmitted(parts_.guard, parts_.pool, *context, "WorkerService/Synchronize",
               [this, context, request, response, reactor](const StatusOr<Principal>& principal) {
                 const Status may = MaySpeak(principal, *context, request->worker().name());
                 if (!may.ok()) return reactor->Finish(ToGrpcStatus(may));
                 host_.SynchronizeLater(*request, [reactor, response](StatusOr<v1::SynchronizeResponse> answer) {
                   if (answer.ok()) *response = *std::move(answer);
                   reactor->Finish(ToGrpcStatus(answer.status()));
                 });
               });
  return reactor;
}

Status WorkerService::MaySpeak(const StatusOr<Principal>& principal, const grpc::CallbackServerContext& context,
                               const std::string& name) {
  RETURN_IF_ERROR(principal.status());
  const Status status = CheckActsFor(*principal, name).WithContext("WorkerService/Synchronize");
  return status.ok() ? status : parts_.guard.Refuse(CallFactsOf(context), status);
}

grpc::ServerReadReactor<v1::StoreArtifactChunk>* WorkerService::StoreArtifact(grpc::CallbackServerContext* context,
                                                                              v1::StoreArtifactResponse*) {
  return new ArtifactReader(host_, parts_, *context);  // Deletes itself when gRPC is done with it.
}

}  // namespace lathe
