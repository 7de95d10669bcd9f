#include "tuner/service/tuning_service.h"

#include <grpcpp/alarm.h>

#include <atomic>

namespace lathe {
namespace {

// One watcher. A single chain of steps: look for news -> write them or wait a little -> look again. Only the chain
// calls Finish.
class Watch : public grpc::ServerWriteReactor<v1::WatchJobResponse> {
 public:
  Watch(const ServiceParts& parts, const grpc::CallbackServerContext& context, const v1::WatchJobRequest& request)
      : parts_(parts), facts_(CallFactsOf(context)), request_(request) {
    Look();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    if (updates_.is_last) return Finish(grpc::Status::OK);
    request_.set_after_cursor(updates_.response.cursor());
    Look();
  }
  void OnCancel() override { is_cancelled_ = true; }  // The chain ends at its next step.
  void OnDone() override { delete this; }

 private:
  void Look() {
    parts_.pool.Run([this] { LookNow(); });
  }
  void LookNow() {
    if (is_cancelled_) return Finish(grpc::Status::CANCELLED);
    // At each look: whose token was revoked meanwhile sees no more.
    const StatusOr<Principal> principal = parts_.guard.Admit(facts_, "TuningService/WatchJob");
    if (!principal.ok()) return Finish(ToGrpcStatus(principal.status()));
    StatusOr<CoreApi::Updates> updates = parts_.api.As(*principal).NextUpdates(request_, is_first_);
    if (!updates.ok()) return Finish(ToGrpcStatus(updates.status()));
    is_first_ = false;
    updates_ = *std::move(updates);
    if (updates_.has_news) return StartWrite(&updates_.response);
    const auto next = std::chrono::system_clock::now() +
                      std::chrono::duration_cast<std::chrono::system_clock::duration>(parts_.api.poll());
    alarm_.Set(next, [this](bool) { Look(); });
  }

  const ServiceParts& parts_;
  const CallFacts facts_;
  v1::WatchJobRequest request_;
  CoreApi::Updates updates_;
  bool is_first_ = true;
  std::atomic<bool> is_cancelled_ = false;
  grpc::Alarm alarm_;
};

}  // namespace

grpc::ServerUnaryReactor* TuningService::SubmitJob(grpc::CallbackServerContext* context,
                                                   const v1::SubmitJobRequest* request,
                                                   v1::SubmitJobResponse* response) {
  return AnswerUnary(parts_, "TuningService/SubmitJob", context, response,
                     [request](CoreApi& api) { return api.SubmitJob(*request); });
}

grpc::ServerUnaryReactor* TuningService::GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                                v1::GetJobResponse* response) {
  return AnswerUnary(parts_, "TuningService/GetJob", context, response,
                     [request](CoreApi& api) { return api.GetJob(*request); });
}

grpc::ServerUnaryReactor* TuningService::ListJobs(grpc::CallbackServerContext* context,
                                                  const v1::ListJobsRequest* request, v1::ListJobsResponse* response) {
  return AnswerUnary(parts_, "TuningService/ListJobs", context, response,
                     [request](CoreApi& api) { return api.ListJobs(*request); });
}

grpc::ServerUnaryReactor* TuningService::CancelJob(grpc::CallbackServerContext* context,
                                                   const v1::CancelJobRequest* request,
                                                   v1::CancelJobResponse* response) {
  return AnswerUnary(parts_, "TuningService/CancelJob", context, response,
                     [request](CoreApi& api) { return api.CancelJob(*request); });
}

grpc::ServerUnaryReactor* TuningService::ExplainTrial(grpc::CallbackServerContext* context,
                                                      const v1::ExplainTrialRequest* request,
                                                      v1::ExplainTrialResponse* response) {
  return AnswerUnary(parts_, "TuningService/ExplainTrial", context, response,
                     [request](CoreApi& api) { return api.ExplainTrial(*request); });
}

grpc::ServerUnaryReactor* TuningService::WhyJob(grpc::CallbackServerContext* context, const v1::WhyJobRequest* request,
                                                v1::WhyJobResponse* response) {
  return AnswerUnary(parts_, "TuningService/WhyJob", context, response,
                     [request](CoreApi& api) { return api.WhyJob(*request); });
}

grpc::ServerUnaryReactor* TuningService::ListTrials(grpc::CallbackServerContext* context,
                                                    const v1::ListTrialsRequest* request,
                                                    v1::ListTrialsResponse* response) {
  return AnswerUnary(parts_, "TuningService/ListTrials", context, response,
                     [request](CoreApi& api) { return api.ListTrials(*request); });
}

grpc::ServerUnaryReactor* TuningService::ExplainTask(grpc::CallbackServerContext* context,
                                                     const v1::ExplainTaskRequest* request,
                                                     v1::ExplainTaskResponse* response) {
  return AnswerUnary(parts_, "TuningService/ExplainTask", context, response,
                     [request](CoreApi& api) { return api.ExplainTask(*request); });
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* TuningService::WatchJob(grpc::CallbackServerContext* context,
                                                                        const v1::WatchJobRequest* request) {
  return new Watch(parts_, *context, *request);  // Deletes itself when gRPC is done with it.
}

}  // namespace lathe
