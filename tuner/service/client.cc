#include "tuner/service/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <mutex>
#include <thread>

#include "proto/lathe/v1/farm.grpc.pb.h"
#include "proto/lathe/v1/identity.grpc.pb.h"
#include "proto/lathe/v1/schedule.grpc.pb.h"
#include "proto/lathe/v1/tuning.grpc.pb.h"
#include "proto/lathe/v1/worker.grpc.pb.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/service/grpc_channel.h"
#include "tuner/service/grpc_status.h"

namespace lathe {
namespace {

constexpr size_t kArtifactChunk = 256 << 10;
constexpr auto kResumeInterval = std::chrono::milliseconds(200);

auto DeadlineAfter(Duration duration) {
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
}

// What all calls need.
class Caller {
 public:
  Caller(const Endpoint& server, ServerConnectionOptions options)
      : address_(server.ToString()),
        may_call_(options.security.authority_pem.empty() ? CheckOpenEndpoint(server) : OkStatus()),
        options_(std::move(options)) {}

  template <typename Stub, typename Request, typename Response>
  StatusOr<Response> Call(const char* what, Stub& stub,
                          grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                          const Request& request, Duration longer = {}) {
    RETURN_IF_ERROR(may_call_);
    RETURN_IF_ERROR(CheckSize(what, request.ByteSizeLong()));
    grpc::ClientContext context;
    Prepare(context, DeadlineAfter(options_.deadline + longer));
    Response response;
    RETURN_IF_ERROR(FromGrpcStatus((stub.*method)(&context, request, &response), Describe(what)));
    return response;
  }
  void Prepare(grpc::ClientContext& context, std::chrono::system_clock::time_point deadline) const {
    context.set_deadline(deadline);
    if (!options_.token.empty()) context.AddMetadata("authorization", "Bearer " + options_.token);
  }
  std::string Describe(const char* what) const { return fmt::format("{} at {}", what, address_); }
  const ServerConnectionOptions& options() const { return options_; }
  const Status& may_call() const { return may_call_; }

 private:
  Status CheckSize(const char* what, size_t bytes) const {
    if (bytes <= static_cast<size_t>(kMaxMessageBytes)) return OkStatus();
    return ResourceExhausted(fmt::format("{}: the request has {:.1f} MiB, a message at most {}; ask in smaller parts",
                                         Describe(what), static_cast<double>(bytes) / (1 << 20),
                                         kMaxMessageBytes >> 20));
  }

  const std::string address_;
  const Status may_call_;
  const ServerConnectionOptions options_;
};

class TuningClient : public TuningApi {
 public:
  TuningClient(Caller& caller, const std::shared_ptr<grpc::Channel>& channel) : caller_(caller), stub_(channel) {}

  StatusOr<v1::SubmitJobResponse> SubmitJob(const v1::SubmitJobRequest& request) override {
    return caller_.Call("submit job", stub_, &Stub::SubmitJob, request);
  }
  StatusOr<v1::GetJobResponse> GetJob(const v1::GetJobRequest& request) override {
    return caller_.Call("get job", stub_, &Stub::GetJob, request);
  }
  StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) override {
    return caller_.Call("list jobs", stub_, &Stub::ListJobs, request);
  }
  StatusOr<v1::CancelJobResponse> CancelJob(const v1::CancelJobRequest& request) override {
    return caller_.Call("cancel job", stub_, &Stub::CancelJob, request);
  }
  StatusOr<v1::WhyJobResponse> WhyJob(const v1::WhyJobRequest& request) override {
    return caller_.Call("why job", stub_, &Stub::WhyJob, request);
  }
  StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request) override {
    return caller_.Call("list trials", stub_, &Stub::ListTrials, request);
  }
  StatusOr<v1::ExplainTrialResponse> ExplainTrial(const v1::ExplainTrialRequest& request) override {
    return caller_.Call("explain trial", stub_, &Stub::ExplainTrial, request);
  }
  StatusOr<v1::ExplainTaskResponse> ExplainTask(const v1::ExplainTaskRequest& request) override {
    return caller_.Call("explain task", stub_, &Stub::ExplainTask, request);
  }

  // A lost connection, or a server that ends old ones, is followed by another stream from the last cursor.
  Status WatchJob(const v1::WatchJobRequest& request, const UpdateConsumer& consume) override {
    v1::WatchJobRequest next = request;
    TimePoint give_up = SystemClock().Now() + caller_.options().patience;
    while (true) {
      bool is_over = false;
      const Status status = WatchOnce(next, [&](const v1::WatchJobResponse& update) {
        give_up = SystemClock().Now() + caller_.options().patience;
        next.set_after_cursor(update.cursor());
        is_over = !consume(update);
        return !is_over;
      });
      if (is_over || status.code() != StatusCode::kUnavailable || SystemClock().Now() >= give_up) return status;
      std::this_thread::sleep_for(kResumeInterval);
    }
  }

 private:
  using Stub = v1::TuningService::Stub;

  Status WatchOnce(const v1::WatchJobRequest& request, const UpdateConsumer& consume) {
    RETURN_IF_ERROR(caller_.may_call());
    grpc::ClientContext context;
    caller_.Prepare(context, DeadlineAfter(std::chrono::hours(24)));
    const auto reader = stub_.WatchJob(&context, request);
    v1::WatchJobResponse update;
    while (reader->Read(&update)) {
      if (consume(update)) continue;
      context.TryCancel();
      while (reader->Read(&update)) {
      }
      reader->Finish();
      return OkStatus();
    }
    return FromGrpcStatus(reader->Finish(), caller_.Describe("watch job"));
  }

  Caller& caller_;
  Stub stub_;
};

class ScheduleClient : public ScheduleApi {
 public:
  ScheduleClient(Caller& caller, const std::shared_ptr<grpc::Channel>& channel) : caller_(caller), stub_(channel) {}

  StatusOr<v1::QueryBestResponse> QueryBest(const v1::QueryBestRequest& request) override {
    return caller_.Call("query best", stub_, &Stub::QueryBest, request);
  }
  StatusOr<v1::ListBestResponse> ListBest(const v1::ListBestRequest& request) override {
    return caller_.Call("list best", stub_, &Stub::ListBest, request);
  }
  StatusOr<v1::FindWorkloadResponse> FindWorkload(const v1::FindWorkloadRequest& request) override {
    return caller_.Call("find workload", stub_, &Stub::FindWorkload, request);
  }
  StatusOr<v1::ListWorkloadsResponse> ListWorkloads(const v1::ListWorkloadsRequest& request) override {
    return caller_.Call("list workloads", stub_, &Stub::ListWorkloads, request);
  }
  StatusOr<v1::ImportRecordsResponse> ImportRecords(const v1::ImportRecordsRequest& request) override {
    return caller_.Call("import records", stub_, &Stub::ImportRecords, request);
  }
  StatusOr<v1::ReportAskedResponse> ReportAsked(const v1::ReportAskedRequest& request) override {
    return caller_.Call("report asked", stub_, &Stub::ReportAsked, request);
  }
  StatusOr<v1::ListAskedResponse> ListAsked(const v1::ListAskedRequest& request) override {
    return caller_.Call("list asked", stub_, &Stub::ListAsked, request);
  }

 private:
  using Stub = v1::ScheduleService::Stub;
  Caller& caller_;
  Stub stub_;
};

class FarmClient : public FarmApi {
 public:
  FarmClient(Caller& caller, const std::shared_ptr<grpc::Channel>& channel) : caller_(caller), stub_(channel) {}

  StatusOr<v1::ListDevicesResponse> ListDevices(const v1::ListDevicesRequest& request) override {
    return caller_.Call("list devices", stub_, &Stub::ListDevices, request);
  }
  StatusOr<v1::GetDeviceResponse> GetDevice(const v1::GetDeviceRequest& request) override {
    return caller_.Call("get device", stub_, &Stub::GetDevice, request);
  }
  StatusOr<v1::DrainDeviceResponse> DrainDevice(const v1::DrainDeviceRequest& request) override {
    return caller_.Call("drain device", stub_, &Stub::DrainDevice, request);
  }
  StatusOr<v1::ReserveDeviceResponse> ReserveDevice(const v1::ReserveDeviceRequest& request) override {
    return caller_.Call("reserve device", stub_, &Stub::ReserveDevice, request);
  }
  StatusOr<v1::ReleaseDeviceResponse> ReleaseDevice(const v1::ReleaseDeviceRequest& request) override {
    return caller_.Call("release device", stub_, &Stub::ReleaseDevice, request);
  }
  StatusOr<v1::ListWorkersResponse> ListWorkers(const v1::ListWorkersRequest& request) override {
    return caller_.Call("list workers", stub_, &Stub::ListWorkers, request);
  }

 private:
  using Stub = v1::FarmService::Stub;
  Caller& caller_;
  Stub stub_;
};

class IdentityClient : public IdentityApi {
 public:
  IdentityClient(Caller& caller, const std::shared_ptr<grpc::Channel>& channel) : caller_(caller), stub_(channel) {}

  StatusOr<v1::InviteResponse> Invite(const v1::InviteRequest& request) override {
    return caller_.Call("invite", stub_, &Stub::Invite, request);
  }
  StatusOr<v1::ListInvitationsResponse> ListInvitations(const v1::ListInvitationsRequest& request) override {
    return caller_.Call("list invitations", stub_, &Stub::ListInvitations, request);
  }
  StatusOr<v1::ListCertificatesResponse> ListCertificates(const v1::ListCertificatesRequest& request) override {
    return caller_.Call("list certificates", stub_, &Stub::ListCertificates, request);
  }
  StatusOr<v1::RevokeCertificatesResponse> RevokeCertificates(const v1::RevokeCertificatesRequest& request) override {
    return caller_.Call("revoke certificate", stub_, &Stub::RevokeCertificates, request);
  }
  StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request) override {
    return caller_.Call("create token", stub_, &Stub::CreateToken, request);
  }
  StatusOr<v1::ListTokensResponse> ListTokens(const v1::ListTokensRequest& request) override {
    return caller_.Call("list tokens", stub_, &Stub::ListTokens, request);
  }
  StatusOr<v1::RevokeTokenResponse> RevokeToken(const v1::RevokeTokenRequest& request) override {
    return caller_.Call("revoke token", stub_, &Stub::RevokeToken, request);
  }

 private:
  using Stub = v1::IdentityService::Stub;
  Caller& caller_;
  Stub stub_;
};

class WorkerClient : public WorkerChannel {
 public:
  WorkerClient(Caller& caller, const Endpoint& server, const std::shared_ptr<grpc::Channel>& channel)
      : caller_(caller), server_(server), identity_(Identity()), stub_(std::make_shared<Stub>(channel)) {}

  StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request) override {
    const std::shared_ptr<Stub> stub = CurrentStub();
    StatusOr<v1::SynchronizeResponse> response =
        caller_.Call("synchronize", *stub, &Stub::Synchronize, request, Duration(request.wait_ns()));
    if (response.code() == StatusCode::kUnauthenticated) ShowNewIdentity();
    return response;
  }

  Status StoreArtifact(const Digest& digest, const std::string& content) override {
    RETURN_IF_ERROR(caller_.may_call());
    grpc::ClientContext context;
    caller_.Prepare(context, DeadlineAfter(caller_.options().deadline));
    v1::StoreArtifactResponse response;
    const std::shared_ptr<Stub> stub = CurrentStub();
    const auto writer = stub->StoreArtifact(&context, &response);
    v1::StoreArtifactChunk chunk;
    chunk.set_digest(std::string(digest.raw()));
    chunk.set_size(static_cast<int64_t>(content.size()));
    size_t sent = 0;
    do {  // At least one message, also for no content.
      chunk.set_data(content.substr(sent, kArtifactChunk));
      if (!writer->Write(chunk)) break;  // Finish says why.
      sent += chunk.data().size();
      chunk.Clear();
    } while (sent < content.size());
    writer->WritesDone();
    return FromGrpcStatus(writer->Finish(), caller_.Describe("store artifact"));
  }

 private:
  using Stub = v1::WorkerService::Stub;

  std::shared_ptr<Stub> CurrentStub() {
    const std::lock_guard lock(mutex_);
    return stub_;
  }
  std::string Identity() const {
    const std::string& path = caller_.options().security.identity_path;
    const StatusOr<std::string> text = path.empty() ? std::string() : ReadSecretFile(path);
    return text.ok() ? *text : "";
  }
  // A connection goes on with the certificate that it began with. Whoever joined anew has another one, and begins
  // again.
  void ShowNewIdentity() {
    const std::lock_guard lock(mutex_);
    if (std::string identity = Identity(); identity != identity_) {
      identity_ = std::move(identity);
      stub_ = std::make_shared<Stub>(MakeChannel(server_, caller_.options().security));
    }
  }

  Caller& caller_;
  const Endpoint server_;
  std::mutex mutex_;
  std::string identity_;  // The file that stub_ began with.
  std::shared_ptr<Stub> stub_;
};

class GrpcConnection : public ServerConnection {
 public:
  GrpcConnection(const Endpoint& server, ServerConnectionOptions options)
      : caller_(server, std::move(options)),
        channel_(MakeChannel(server, caller_.options().security)),
        tuning_(caller_, channel_),
        schedules_(caller_, channel_),
        farm_(caller_, channel_),
        identity_(caller_, channel_),
        workers_(caller_, server, channel_) {}
  TuningApi& tuning() override { return tuning_; }
  ScheduleApi& schedules() override { return schedules_; }
  FarmApi& farm() override { return farm_; }
  IdentityApi& identity() override { return identity_; }
  WorkerChannel& workers() override { return workers_; }

  Status Connect(Duration limit) override {
    RETURN_IF_ERROR(caller_.may_call());
    if (channel_->WaitForConnected(DeadlineAfter(limit))) return OkStatus();
    return NobodyAnswers(caller_.Describe("connect"));
  }

 private:
  Caller caller_;
  std::shared_ptr<grpc::Channel> channel_;
  TuningClient tuning_;
  ScheduleClient schedules_;
  FarmClient farm_;
  IdentityClient identity_;
  WorkerClient workers_;
};

}  // namespace

std::unique_ptr<ServerConnection> ConnectToServer(const Endpoint& server, ServerConnectionOptions options) {
  return std::make_unique<GrpcConnection>(server, std::move(options));
}

}  // namespace lathe
