#include "tuner/service/farm_service.h"

#include "tuner/service/unary_call.h"

namespace lathe {

grpc::ServerUnaryReactor* FarmService::ListDevices(grpc::CallbackServerContext* context,
                                                   const v1::ListDevicesRequest* request,
                                                   v1::ListDevicesResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.ListDevices(*request); });
}

grpc::ServerUnaryReactor* FarmService::GetDevice(grpc::CallbackServerContext* context,
                                                 const v1::GetDeviceRequest* request, v1::GetDeviceResponse* response) {
  return AnswerUnary(pool_, context, response, [this, request] { return api_.GetDevice(*request); });
}

}  // namespace lathe
