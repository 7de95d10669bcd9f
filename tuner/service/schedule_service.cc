#include "tuner/service/schedule_service.h"

#include "tuner/service/unary_call.h"

namespace lathe {

grpc::ServerUnaryReactor* ScheduleService::QueryBest(grpc::CallbackServerContext* context,
                                                     const v1::QueryBestRequest* request,
                                                     v1::QueryBestResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.QueryBest(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ListBest(grpc::CallbackServerContext* context,
                                                    const v1::ListBestRequest* request,
                                                    v1::ListBestResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.ListBest(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::FindWorkload(grpc::CallbackServerContext* context,
                                                        const v1::FindWorkloadRequest* request,
                                                        v1::FindWorkloadResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.FindWorkload(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ListWorkloads(grpc::CallbackServerContext* context,
                                                         const v1::ListWorkloadsRequest* request,
                                                         v1::ListWorkloadsResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.ListWorkloads(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ImportRecords(grpc::CallbackServerContext* context,
                                                         const v1::ImportRecordsRequest* request,
                                                         v1::ImportRecordsResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.ImportRecords(*request); });
}

}  // namespace lathe
