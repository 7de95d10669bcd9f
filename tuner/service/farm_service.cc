#include "tuner/service/farm_service.h"

namespace lathe {

grpc::ServerUnaryReactor* FarmService::ListDevices(grpc::CallbackServerContext* context,
                                                   const v1::ListDevicesRequest* request,
                                                   v1::ListDevicesResponse* response) {
  return AnswerUnary(parts_, "FarmService/ListDevices", context, response,
                     [request](CoreApi& api) { return api.ListDevices(*request); });
}

grpc::ServerUnaryReactor* FarmService::GetDevice(grpc::CallbackServerContext* context,
                                                 const v1::GetDeviceRequest* request, v1::GetDeviceResponse* response) {
  return AnswerUnary(parts_, "FarmService/GetDevice", context, response,
                     [request](CoreApi& api) { return api.GetDevice(*request); });
}

grpc::ServerUnaryReactor* FarmService::DrainDevice(grpc::CallbackServerContext* context,
                                                   const v1::DrainDeviceRequest* request,
                                                   v1::DrainDeviceResponse* response) {
  return AnswerUnary(parts_, "FarmService/DrainDevice", context, response,
                     [request](CoreApi& api) { return api.DrainDevice(*request); });
}

grpc::ServerUnaryReactor* FarmService::ReserveDevice(grpc::CallbackServerContext* context,
                                                     const v1::ReserveDeviceRequest* request,
                                                     v1::ReserveDeviceResponse* response) {
  return AnswerUnary(parts_, "FarmService/ReserveDevice", context, response,
                     [request](CoreApi& api) { return api.ReserveDevice(*request); });
}

grpc::ServerUnaryReactor* FarmService::ReleaseDevice(grpc::CallbackServerContext* context,
                                                     const v1::ReleaseDeviceRequest* request,
                                                     v1::ReleaseDeviceResponse* response) {
  return AnswerUnary(parts_, "FarmService/ReleaseDevice", context, response,
                     [request](CoreApi& api) { return api.ReleaseDevice(*request); });
}

grpc::ServerUnaryReactor* FarmService::ListWorkers(grpc::CallbackServerContext* context,
                                                   const v1::ListWorkersRequest* request,
                                                   v1::ListWorkersResponse* response) {
  return AnswerUnary(parts_, "FarmService/ListWorkers", context, response,
                     [request](CoreApi& api) { return api.ListWorkers(*request); });
}

}  // namespace lathe
