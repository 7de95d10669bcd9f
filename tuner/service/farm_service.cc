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

}  // namespace lathe
