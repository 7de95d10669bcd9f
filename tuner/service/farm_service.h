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
  grpc::ServerUnaryReactor* DrainDevice(grpc::CallbackServerContext* context, const v1::DrainDeviceRequest* request,
                                        v1::DrainDeviceResponse* response) override;
  grpc::ServerUnaryReactor* ReserveDevice(grpc::CallbackServerContext* context, const v1::ReserveDeviceRequest* request,
                                          v1::ReserveDeviceResponse* response) override;
  grpc::ServerUnaryReactor* ReleaseDevice(grpc::CallbackServerContext* context, const v1::ReleaseDeviceRequest* request,
                                          v1::ReleaseDeviceResponse* response) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context, const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override;

 private:
  const ServiceParts& parts_;
};

}  // namespace lathe
