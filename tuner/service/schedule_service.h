// ScheduleService on the wire. For the gRPC shells only.
#pragma once

#include "proto/lathe/v1/schedule.grpc.pb.h"
#include "tuner/service/api.h"
#include "tuner/service/call_pool.h"

namespace lathe {

class ScheduleService : public v1::ScheduleService::CallbackService {
 public:
  ScheduleService(ScheduleApi& api, CallPool& pool) : api_(api), pool_(pool) {}

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

 private:
  ScheduleApi& api_;
  CallPool& pool_;
};

}  // namespace lathe
