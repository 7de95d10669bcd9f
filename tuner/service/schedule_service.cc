#include "tuner/service/schedule_service.h"

namespace lathe {

grpc::ServerUnaryReactor* ScheduleService::QueryBest(grpc::CallbackServerContext* context,
                                                     const v1::QueryBestRequest* request,
                                                     v1::QueryBestResponse* response) {
  return AnswerUnary(parts_, "ScheduleService/QueryBest", context, response,
                     [request](CoreApi& api) { return api.QueryBest(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ListBest(grpc::CallbackServerContext* context,
                                                    const v1::ListBestRequest* request,
                                                    v1::ListBestResponse* response) {
  return AnswerUnary(parts_, "ScheduleService/ListBest", context, response,
                     [request](CoreApi& api) { return api.ListBest(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::FindWorkload(grpc::CallbackServerContext* context,
                                                        const v1::FindWorkloadRequest* request,
                                                        v1::FindWorkloadResponse* response) {
  return AnswerUnary(parts_, "ScheduleService/FindWorkload", context, response,
                     [request](CoreApi& api) { return api.FindWorkload(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ListWorkloads(grpc::CallbackServerContext* context,
                                                         const v1::ListWorkloadsRequest* request,
                                                         v1::ListWorkloadsResponse* response) {
  return AnswerUnary(parts_, "ScheduleService/ListWorkloads", context, response,
                     [request](CoreApi& api) { return api.ListWorkloads(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ImportRecords(grpc::CallbackServerContext* context,
                                                         const v1::ImportRecordsRequest* request,
                                                         v1::ImportRecordsResponse* response) {
  return AnswerUnary(parts_, "ScheduleService/ImportRecords", context, response,
                     [request](CoreApi& api) { return api.ImportRecords(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ReportAsked(grpc::CallbackServerContext* context,
                                                       const v1::ReportAskedRequest* request,
                                                       v1::ReportAskedResponse* response) {
  return AnswerUnary(parts_, "ScheduleService/ReportAsked", context, response,
                     [request](CoreApi& api) { return api.ReportAsked(*request); });
}

grpc::ServerUnaryReactor* ScheduleService::ListAsked(grpc::CallbackServerContext* context,
                                                     const v1::ListAskedRequest* request,
                                                     v1::ListAskedResponse* response) {
  return AnswerUnary(parts_, "ScheduleService/ListAsked", context, response,
                     [request](CoreApi& api) { return api.ListAsked(*request); });
}

}  // namespace lathe
