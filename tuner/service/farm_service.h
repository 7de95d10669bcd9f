// FarmService on the wire. For the gRPC shells only.
#pragma once

#include "proto/lathe/v1/farm.grpc.pb.h"
#include "tuner/service/unary_call.h"

namespace lathe {

class FarmService : public v1::FarmService::CallbackService {
 public:
  explicit FarmService(const ServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context, const v1::ListDevicesRequest* request,
                                        v1::ListDevicesResponse* response) override;
  grpc::ServerUnaryReactor* GetDevice(grpc::CallbackServerContext* context, const v1::GetDeviceRequest* request,
                                      v1::GetDeviceResponse* response) override;

 private:
  const ServiceParts& parts_;
};

}  // namespace lathe
