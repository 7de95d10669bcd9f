#include "tuner/service/tuning_service.h"

#include <grpcpp/alarm.h>

#include <atomic>

#include "tuner/service/unary_call.h"

namespace lathe {
namespace {

// One watcher. A single chain of steps: look for news -> write them or wait a little -> look again. Only the chain
// calls Finish.
class Watch : public grpc::ServerWriteReactor<v1::WatchJobResponse> {
 public:
  Watch(CoreApi& api, CallPool& pool, const v1::WatchJobRequest& request) : api_(api), pool_(pool), request_(request) {
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
    pool_.Run([this] { LookNow(); });
  }
  void LookNow() {
    if (is_cancelled_) return Finish(grpc::Status::CANCELLED);
    StatusOr<CoreApi::Updates> updates = api_.NextUpdates(request_, is_first_);
    if (!updates.ok()) return Finish(ToGrpcStatus(updates.status()));
    is_first_ = false;
    updates_ = *std::move(updates);
    if (updates_.has_news) return StartWrite(&updates_.response);
    const auto next =
        std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(api_.poll());
    alarm_.Set(next, [this](bool) { Look(); });
  }

  CoreApi& api_;
  CallPool& pool_;
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
  return AnswerUnary(pool_, context, response, [this, request] { return api_.SubmitJob(*request); });
}

grpc::ServerUnaryReactor* TuningService::GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                                v1::GetJobResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.GetJob(*request); });
}

grpc::ServerUnaryReactor* TuningService::ListJobs(grpc::CallbackServerContext* context,
                                                  const v1::ListJobsRequest* request, v1::ListJobsResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.ListJobs(*request); });
}

grpc::ServerUnaryReactor* TuningService::CancelJob(grpc::CallbackServerContext* context,
                                                   const v1::CancelJobRequest* request,
                                                   v1::CancelJobResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.CancelJob(*request); });
}

grpc::ServerUnaryReactor* TuningService::ListTrials(grpc::CallbackServerContext* context,
                                                    const v1::ListTrialsRequest* request,
                                                    v1::ListTrialsResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.ListTrials(*request); });
}

grpc::ServerUnaryReactor* TuningService::ExplainTask(grpc::CallbackServerContext* context,
                                                     const v1::ExplainTaskRequest* request,
                                                     v1::ExplainTaskResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.ExplainTask(*request); });
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* TuningService::WatchJob(grpc::CallbackServerContext*,
                                                                        const v1::WatchJobRequest* request) {
  return new Watch(api_, pool_, *request);  // Deletes itself when gRPC is done with it.
}

}  // namespace lathe
