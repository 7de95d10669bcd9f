// TuningService on the wire. For the gRPC shells only.
#pragma once

#include "proto/lathe/v1/tuning.grpc.pb.h"
#include "tuner/service/unary_call.h"

namespace lathe {

class TuningService : public v1::TuningService::CallbackService {
 public:
  explicit TuningService(const ServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context, const v1::SubmitJobRequest* request,
                                      v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                   v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* ExplainTrial(grpc::CallbackServerContext* context, const v1::ExplainTrialRequest* request,
                                         v1::ExplainTrialResponse* response) override;
  grpc::ServerUnaryReactor* WhyJob(grpc::CallbackServerContext* context, const v1::WhyJobRequest* request,
                                   v1::WhyJobResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context, const v1::CancelJobRequest* request,
                                      v1::CancelJobResponse* response) override;
  grpc::ServerUnaryReactor* ListTrials(grpc::CallbackServerContext* context, const v1::ListTrialsRequest* request,
                                       v1::ListTrialsResponse* response) override;
  grpc::ServerUnaryReactor* ExplainTask(grpc::CallbackServerContext* context, const v1::ExplainTaskRequest* request,
                                        v1::ExplainTaskResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(grpc::CallbackServerContext* context,
                                                           const v1::WatchJobRequest* request) override;

 private:
  const ServiceParts& parts_;
};

}  // namespace lathe
