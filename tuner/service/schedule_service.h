// ScheduleService on the wire. For the gRPC shells only.
#pragma once

#include "proto/lathe/v1/schedule.grpc.pb.h"
#include "tuner/service/unary_call.h"

namespace lathe {

class ScheduleService : public v1::ScheduleService::CallbackService {
 public:
  explicit ScheduleService(const ServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* QueryBest(grpc::CallbackServerContext* context, const v1::QueryBestRequest* request,
                                      v1::QueryBestResponse* response) override;
  grpc::ServerUnaryReactor* ListBest(grpc::CallbackServerContext* context, const v1::ListBestRequest* request,
                                     v1::ListBestResponse* response) override;
  grpc::ServerUnaryReactor* FindWorkload(grpc::CallbackServerContext* context, const v1::FindWorkloadRequest* request,
                                         v1::FindWorkloadResponse* response) override;
  grpc::ServerUnaryReactor* ListWorkloads(grpc::CallbackServerContext* context, const v1::ListWorkloadsRequest* request,
                                          v1::ListWorkloadsResponse* response) override;
  grpc::ServerUnaryReactor* ImportRecords(grpc::CallbackServerContext* context, const v1::ImportRecordsRequest* request,
                                          v1::ImportRecordsResponse* response) override;
  grpc::ServerUnaryReactor* ReportAsked(grpc::CallbackServerContext* context, const v1::ReportAskedRequest* request,
                                        v1::ReportAskedResponse* response) override;
  grpc::ServerUnaryReactor* ListAsked(grpc::CallbackServerContext* context, const v1::ListAskedRequest* request,
                                      v1::ListAskedResponse* response) override;

 private:
  const ServiceParts& parts_;
};

}  // namespace lathe
